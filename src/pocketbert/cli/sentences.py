"""What the verbs about sentence vectors share: their options, and the texts of the files that they are given."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pocketbert.cli.texts import Given, texts_given
from pocketbert.runtime.session import FILES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pocketbert.runtime.embed import Embedder

Function = TypeVar("Function", bound=Callable[..., object])
STDIN = Path("-")


def sentence_options(function: Function) -> Function:
    """The options of every verb that reads texts from files and runs an exported model."""
    options = [
        click.option("--text", "column", metavar="COLUMN", help="Of tables: the column with the text."),
        click.option("--columns", help="Names of the columns (a,b,c) of a table that does not say them."),
        click.option("--precision", type=click.Choice(list(FILES)), help="Which ONNX file to run."),
        click.option(
            "--threads",
            type=int,
            metavar="N",
            help="Processor threads [default: OMP_NUM_THREADS, or all].",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def given_texts(files: tuple[Path, ...], *, column: str | None, columns: str | None) -> Iterator[Given]:
    """The texts of files: lines of text files, "-" for the standard input, or rows of tables by their column."""
    for file in files:
        for given in texts_given(
            ("-",) if file == STDIN else (),
            file=None if file == STDIN else file,
            column=column,
            header=columns,
            lines=True,
        ):
            yield replace(given, file=str(file))


@contextmanager
def warnings_told() -> Iterator[None]:
    """Say on the error stream, in the words of the command line, what the runtime warns of: texts that were cut."""

    def tell(message: Warning | str, *_place: object, **_more: object) -> None:
        click.echo(f"pocketbert: {str(message).replace(long, option)}", err=True)

    long, option = "long='windows'", "--long windows"
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=".* are longer than ", category=UserWarning)
        warnings.showwarning = tell
        yield


def encoded(embedder: Embedder, texts: list[str], **options: Any) -> NDArray[np.float32]:
    """The vectors of texts, with a word about progress where somebody can see it."""
    vectors: NDArray[np.float32] = embedder.encode(texts, show_progress_bar=sys.stderr.isatty(), **options)
    return vectors
