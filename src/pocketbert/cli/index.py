"""`pocketbert index`: the documents of folders into an index, to be searched and asked."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from pocketbert.cli.tokens import visible

if TYPE_CHECKING:
    from pocketbert.search.folder import Place
    from pocketbert.search.index import Indexer, Report
    from pocketbert.search.store import Store
    from pocketbert.search.walk import Skipped

SKIPPED = {
    "hidden": "hidden",
    "binary": "without text",
    "special": "no ordinary files",
    "failed": "that could not be read",
}
READABLE = "text, Markdown, HTML and PDF files can be read"


@click.command("index")
@click.argument("folders", metavar="DIR...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--index", "written", metavar="FILE|ADDRESS",
              help="Where the index is: a file, or postgresql://USER@HOST/DATABASE#NAME "
                   "[default: .pocketbert.db in DIR; without a DIR as for search].")  # fmt: skip
@click.option("--model", metavar="MODEL",
              help="Folder or hub name of an embedder [default: that of the index, or the embedded one].")  # fmt: skip
@click.option("--no-vectors", is_flag=True, help="Index words alone; no model is needed.")
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the documents in the index, with the days they were last changed.",
)
@click.option("--remove", "removed", multiple=True, metavar="PATH",
              help="Take a document, or all of a folder, out of the index; as --list shows it.")  # fmt: skip
@click.option("--verify", is_flag=True, help="Look whether the index is whole.")
@click.option("--watch", is_flag=True, help="Go on, and index again whenever a file changes.")
@click.option("--every", type=click.FloatRange(min=0.05), default=2.0, show_default=True, metavar="SECONDS",
              help="How often --watch looks.")  # fmt: skip
@click.option("--threads", type=int, metavar="N",
              help="Processor threads [default: OMP_NUM_THREADS, or all].")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    folders: tuple[Path, ...],
    written: str | None,
    model: str | None,
    no_vectors: bool,
    listing: bool,
    removed: tuple[str, ...],
    verify: bool,
    watch: bool,
    every: float,
    threads: int | None,
    as_json: bool,
) -> None:
    """Index the documents of folders, to be searched and asked.

    All text, Markdown, HTML and PDF files below DIR are read; hidden ones and those without text are passed over. A
    second run reads only what has changed, and takes out what is gone. It may be stopped, or killed, at any time.
    """
    from pocketbert.search.folder import open_index
    from pocketbert.search.index import Indexer

    place = index_place(written, folders)
    if listing or removed or verify:
        if watch or listing + bool(removed) + verify > 1:
            raise click.UsageError("Give one of --list, --remove, --verify and --watch.")
        with place.open() as there:
            manage(there, listing, removed, verify, as_json=as_json)
        return
    if not folders:
        raise click.UsageError("Give the folder whose documents are to be indexed.")
    if no_vectors and model is not None:
        raise click.UsageError("Give --model or --no-vectors, not both.")
    check_folders(folders)
    store, embedder = open_index(place, model=model, vectors="no" if no_vectors else "yes", threads=threads)
    with store:
        indexer = Indexer(store, place.base, embedder)
        report = update(indexer, folders, place.files)
        tell(indexer.store, report, report.failed, as_json=as_json)
        if not store.statistics().documents:
            names = ", ".join(visible(str(folder)) for folder in folders)
            click.echo(f"pocketbert: {names} holds no documents; {READABLE}", err=True)
        if watch:
            keep_fresh(indexer, folders, place.files, set(report.failed), every=every, as_json=as_json)


def index_place(written: str | None, folders: tuple[Path, ...]) -> Place:
    """Where the index is, by what was said."""
    from pocketbert.search.folder import FILE_NAME, Place, nearest_index

    if written is not None:
        return Place.of(written)
    if len(folders) > 1:
        raise click.UsageError("Several folders need a place for their index: give --index FILE.")
    return Place(folders[0] / FILE_NAME if folders else nearest_index(Path()))


def check_folders(folders: tuple[Path, ...]) -> None:
    """Refuse what is no folder before anything is made."""
    from pocketbert.errors import InputError

    for folder in folders:
        if not folder.is_dir():
            what = "is a file; give the folder it is in" if folder.exists() else "is not there; give a folder"
            raise InputError(f"{folder} {what}")


def update(indexer: Indexer, folders: tuple[Path, ...], without: list[Path]) -> Report:
    """Index folders, with a word on the terminal about how far it is."""
    telling = progress if sys.stderr.isatty() else None
    try:
        return indexer.update(folders, without=without, progress=telling)
    finally:
        if telling is not None:
            click.echo("\r\033[K", nl=False, err=True)


def tell(store: Store, report: Report, failed: Iterable[Skipped], *, as_json: bool) -> None:
    """Say what became of files, and which of them could not be read."""
    for skipped in failed:
        click.echo(f"pocketbert: {visible(skipped.path)} {visible(skipped.reason)}", err=True)
    click.echo(json.dumps(as_report(store, report)) if as_json else in_words(store, report))


def keep_fresh(
    indexer: Indexer,
    folders: tuple[Path, ...],
    without: list[Path],
    known: set[Skipped],
    *,
    every: float,
    as_json: bool,
) -> NoReturn:
    """Index again and again, and tell what is new, failures too; what goes wrong is told once, and tried again."""
    from pocketbert.errors import InputError, SearchError

    trouble = ""
    while True:
        time.sleep(every)
        try:
            report = update(indexer, folders, without)
        except (InputError, SearchError) as error:
            if str(error) != trouble:
                click.echo(f"pocketbert: {visible(str(error))}; trying again every {every:g} s", err=True)
            trouble = str(error)
            continue
        failed = [skipped for skipped in report.failed if skipped not in known]
        if report.changed or failed or trouble:
            tell(indexer.store, report, failed, as_json=as_json)
        known, trouble = set(report.failed), ""


def progress(number: int, of: int, path: str) -> None:
    """How far it is, for a terminal."""
    click.echo(f"\r\033[K{number} of {of}  {visible(path)[-60:]}", nl=False, err=True)


def as_report(store: Store, report: Report) -> dict[str, Any]:
    """What became of files, as JSON."""
    there = store.statistics()
    return {
        "index": store.name,
        "documents": there.documents,
        "passages": there.passages,
        "vectors": there.vectors,
        "bytes": there.bytes,
        "added": report.added,
        "updated": report.updated,
        "removed": report.removed,
        "unchanged": len(report.unchanged),
        "skipped": [{"file": row.path, "why": row.kind, "reason": row.reason} for row in report.skipped],
    }


def in_words(store: Store, report: Report) -> str:
    """What became of files, in two lines."""
    there = store.statistics()
    with_vectors = "with vectors" if there.vectors or store.settings.dimensions else "without vectors"
    changes = (
        f"{len(report.added)} added, {len(report.updated)} updated, {len(report.removed)} removed, "
        f"{len(report.unchanged)} unchanged"
    )
    lines = [
        f"{visible(store.name)}: {there.documents} documents, {there.passages} passages, {with_vectors}",
        changes,
    ]
    kinds = Counter(row.kind for row in report.skipped)
    if kinds:
        lines.append(
            "skipped: " + ", ".join(f"{count} {SKIPPED[kind]}" for kind, count in sorted(kinds.items()))
        )
    return "\n".join(lines)


def manage(store: Store, listing: bool, removed: tuple[str, ...], verify: bool, *, as_json: bool) -> None:
    """List, remove or verify."""
    if listing:
        for document in store.documents():
            changed = datetime.fromtimestamp(document.modified // 10**9).astimezone()
            row = {
                "file": document.path,
                "kind": document.kind,
                "title": document.title,
                "bytes": document.size,
                "modified": changed.isoformat(),
                "passages": document.passages,
                "notes": list(document.notes),
            }
            line = f"{document.passages:6}  {document.kind:8}  {changed:%Y-%m-%d}  {visible(document.path)}"
            click.echo(json.dumps(row) if as_json else line)
    elif removed:
        wanted = {path.rstrip("/") for path in removed}
        there = [document.path for document in store.documents()]
        gone = [path for path in there if any(path == one or path.startswith(f"{one}/") for one in wanted)]
        missing = [
            one for one in wanted if not any(path == one or path.startswith(f"{one}/") for path in there)
        ]
        if missing:
            from pocketbert.errors import InputError

            raise InputError(
                f"{store.name} holds no {', '.join(sorted(missing))}; --list shows what it holds"
            )
        store.remove(gone)
        click.echo(json.dumps({"removed": gone}) if as_json else f"{len(gone)} documents removed")
    elif verify:
        problems = store.verify()
        if as_json:
            click.echo(json.dumps({"index": store.name, "problems": problems}))
        else:
            click.echo("\n".join(map(visible, problems)) or f"{visible(store.name)} is whole")
        if problems:
            raise click.exceptions.Exit(1)
