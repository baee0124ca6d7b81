"""`pocketbert cluster`: groups of texts that mean the same, each with a headline, and a page that is a map of them."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.cli.sentences import encoded, given_texts, sentence_options
from pocketbert.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 20_000  # texts of a map: beyond that no browser draws it smoothly
LETTERS = 400  # of a text that the map shows


@dataclass(frozen=True)
class Group:
    """Texts that are alike, by their numbers, and the one that stands for them."""

    headline: int
    members: tuple[int, ...]


@click.command("cluster")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--model", metavar="MODEL", help="Folder or hub name of an embedder [default: the embedded one]."
)
@click.option("--threshold", default=0.75, show_default=True, type=click.FloatRange(-1, 1),
              help="How alike, as a cosine, texts of a group are to its centre.")  # fmt: skip
@click.option("--min_size", default=2, show_default=True, type=click.IntRange(min=1), help="Of a group.")
@click.option(
    "--top", default=20, show_default=True, type=click.IntRange(min=1), help="How many groups to show."
)
@click.option("--members", is_flag=True, help="Show every text of a group, not its headline alone.")
@click.option(
    "--html", "page", type=click.Path(path_type=Path), help="Write a map of all texts, as one HTML file."
)
@sentence_options
def command(
    files: tuple[Path, ...],
    model: str | None,
    threshold: float,
    min_size: int,
    top: int,
    members: bool,
    page: Path | None,
    column: str | None,
    columns: str | None,
    precision: Any,
    threads: int | None,
    as_json: bool,
) -> None:
    """Group texts that mean the same.

    FILE is a text file with a text a line, "-" for the standard input, or a table whose column --text names. The
    headline of a group is the text that is nearest to its centre. The map needs no network and no server.
    """
    from pocketbert.cli.texts import shown
    from pocketbert.runtime.embed import Embedder
    from pocketbert.vectors.communities import community_detection, headline

    embedder = Embedder.load(model, precision=precision, threads=threads)
    texts = [entry.text for entry in given_texts(files, column=column, columns=columns)]
    if page is not None and len(texts) > MOST:
        raise InputError(f"there are {len(texts)} texts; a map shows up to {MOST}: give fewer")
    vectors = encoded(embedder, texts)
    groups = [
        Group(headline(found, vectors), tuple(found))
        for found in community_detection(vectors, threshold, min_size)
    ]
    alone = len(texts) - sum(len(group.members) for group in groups)
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(map_page(texts, vectors, groups), encoding="utf-8", errors="backslashreplace")
    if as_json:
        rows = [
            {"size": len(group.members), "headline": texts[group.headline], "members": list(group.members)}
            for group in groups
        ]
        told = {"texts": len(texts), "alone": alone, "groups": rows} | ({"html": str(page)} if page else {})
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    for group in groups[:top]:
        click.echo(f"{len(group.members):5d}  {shown(texts[group.headline])}")
        for member in group.members if members else ():
            if member != group.headline:
                click.echo(f"         {shown(texts[member])}")
    more = f" ({top} shown, --top)" if len(groups) > top else ""
    click.echo(f"{len(texts)} texts: {len(groups)} groups{more}, {alone} texts in none")
    if page is not None:
        click.echo(f"{page}: a map of {len(texts)} texts")


def map_page(texts: list[str], vectors: NDArray[np.float32], groups: list[Group]) -> str:
    """The page: every text a dot, near to those that mean the same, in the colour of its group."""
    from pocketbert.vectors.plane import on_a_plane

    places = on_a_plane(vectors)
    data = {
        "texts": [text if len(text) <= LETTERS else text[: LETTERS - 1] + "…" for text in texts],
        "places": [[round(float(x), 4), round(float(y), 4)] for x, y in places],
        "groups": [{"headline": group.headline, "members": list(group.members)} for group in groups],
    }
    template = package_files("pocketbert.cli").joinpath("cluster.html").read_text(encoding="utf-8")
    title = html.escape(f"{len(texts)} texts in {len(groups)} groups")
    # Inside a script element only "<" could end it early.
    return template.replace("{{title}}", title).replace("{{data}}", json.dumps(data).replace("<", "\\u003c"))
