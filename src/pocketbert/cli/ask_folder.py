"""How `pocketbert ask` asks a folder: its index is brought up to date first, and answers name their files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pocketbert.cli.ask_output import marked
from pocketbert.cli.index import READABLE, update
from pocketbert.cli.tokens import visible

if TYPE_CHECKING:
    from pocketbert.runtime.questions import QuestionAnswerer
    from pocketbert.search.ask import Asked, Library
    from pocketbert.search.index import Indexer


@contextmanager
def open_library(
    folder: Path, index: str | None, reader: QuestionAnswerer, *, reranker: str | None, threads: int | None
) -> Iterator[Library]:
    """A folder with its index, made or brought up to date, and a reader; `reranker` is the name of a model."""
    from pocketbert.errors import InputError
    from pocketbert.runtime.rerank import Reranker
    from pocketbert.search.ask import Library
    from pocketbert.search.folder import FILE_NAME, Place, open_index
    from pocketbert.search.index import Indexer
    from pocketbert.search.rank import Searcher

    again = None if reranker is None else Reranker.load(reranker, threads=threads)
    place = Place.of(folder / FILE_NAME if index is None else index)
    store, embedder = open_index(place, vectors="as it is", threads=threads)
    with store:
        bring_up_to_date(Indexer(store, place.base, embedder), folder, place.files)
        if not store.statistics().documents:
            raise InputError(f"{folder} holds no documents; {READABLE}")
        yield Library(Searcher(store, embedder, reranker=again), reader)


def bring_up_to_date(indexer: Indexer, folder: Path, without: list[Path]) -> None:
    """Index a folder again, and name what cannot be read; an index that may not be written to is left as it is."""
    from pocketbert.search.store import ReadOnlyIndexError

    try:
        said = [f"{skipped.path} {skipped.reason}" for skipped in update(indexer, (folder,), without).failed]
    except ReadOnlyIndexError as error:
        said = [f"the index could not be brought up to date, and is asked as it is: {error}"]
    for line in said:
        click.echo(f"pocketbert: {visible(line)}", err=True)


class FolderOutput:
    """Prints answers from a folder."""

    def __init__(self, *, as_json: bool, why: bool) -> None:
        self._as_json = as_json
        self._why = why
        self._coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def show(self, asked: Asked) -> bool:
        """Print what became of one question; whether there was an answer."""
        if sys.stderr.isatty():
            click.echo("\r\033[K", nl=False, err=True)  # where the progress stood
        if self._as_json:
            report = asked.to_json()
            if self._why:
                report["stretches"] = [
                    {"file": part.path, "start": part.start, "end": part.end} for part in asked.stretches
                ]
            click.echo(json.dumps(report))
            return asked.found
        for answer in asked.answers:
            start = answer.start - answer.sentence_start
            sentence = marked(answer.sentence, start, answer.text, coloured=self._coloured)
            click.echo(f"{answer.score:.2f}  {visible(answer.path)}, {answer.where}  {sentence}")
        if not asked.found:
            click.echo(_silence(asked))
        if self._why:
            click.echo(
                f"read {asked.read.windows} of {asked.read.of} windows of {len(asked.stretches)} stretches"
            )
            for part in asked.stretches:
                click.echo(f"{visible(part.path)}, characters {part.start} to {part.end}")
        return asked.found


def _silence(asked: Asked) -> str:
    if not asked.of:
        return "no document is of the path and the time that were asked for"
    if not asked.read.complete:
        return f"no answer in the {asked.read.windows} windows read of {asked.read.of}"
    scope = "" if asked.complete else f"; the best {asked.passages} of {asked.of} passages were read"
    return f"not in these documents (probability {asked.no_answer:.2f}{scope})"
