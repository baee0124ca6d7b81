"""Texts for verbs that label them, from arguments, text files, tables or the standard input; and results out again."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.errors import InputError

if TYPE_CHECKING:
    from pocketbert.tables import TableWriter

SHOWN = 80  # characters of a text beside what was said of it
EVERY = 16  # texts between two words about progress


@dataclass(frozen=True)
class Given:
    """A text, perhaps a second one, and the row of the table, or the line of the file, that they stand in."""

    text: str
    pair: str | None = None
    cells: Mapping[str, Any] | None = None
    file: str | None = None
    line: int | None = None
    """Of a file with a text a line, from 1."""

    def texts(self) -> dict[str, str]:
        """The text, or both, by name."""
        return {"text": self.text} | ({} if self.pair is None else {"text_pair": self.pair})


def texts_given(
    texts: tuple[str, ...],
    *,
    file: Path | None,
    column: str | None,
    pair: str | None = None,
    pair_column: str | None = None,
    header: str | None = None,
    lines: bool,
    empty_rows: bool = False,
) -> Iterator[Given]:
    """The texts of a command line, one by one. A text file, or the standard input, is one text, or one a line.

    With `empty_rows` a row of a table may lack its text, which is "" then; else that is an error.
    """
    from pocketbert.tables import Row, check_columns, read_rows
    from pocketbert.tables.reading import FORMS

    if texts and file is not None:
        raise click.UsageError("Give texts or --file, not both.")
    is_table = file is not None and file.suffix.lower() in FORMS
    if not is_table and (column or pair_column or header):
        raise InputError(
            f"a column is named, but {'no table is given' if file is None else f'{file} is no table'}; "
            f"tables end with {', '.join(FORMS)}"
        )
    if file is not None and is_table:
        if column is None:
            raise InputError(f"which column of {file} holds the text? Name it by --text")
        if pair is not None:
            raise InputError("the second text of a table's rows is a column too; name it by --text_pair")
        wanted = [column] if pair_column is None else [column, pair_column]
        empty = True

        def text_of(row: Row, name: str) -> str:
            lacks = str("" if row.cells[name] is None else row.cells[name]).strip() == ""
            return "" if lacks and empty_rows else row.text(name)

        # All columns, for those that are not read go back out.
        for row in read_rows(file, header=header.split(",") if header else None):
            check_columns(str(file), wanted, list(row.cells))
            second = None if pair_column is None else text_of(row, pair_column)
            yield Given(text_of(row, column), second, row.cells)
            empty = False
        if empty:
            raise InputError(f"{file} holds no rows; a header alone is not enough")
        return
    if texts and texts != ("-",):
        yield from (Given(text, pair) for text in texts)
        return
    if not texts and file is None and sys.stdin.isatty():
        raise click.UsageError("Give a text, --file, or texts on the standard input.")
    yield from (Given(text, pair, line=number) for number, text in _plain(file, lines))


def _plain(file: Path | None, lines: bool) -> Iterator[tuple[int | None, str]]:
    """The text of a file, or its lines with their numbers; blank ones are left out, which is said."""
    from pocketbert.cli.tokens import read_text

    text, name = read_text(None if file is not None else "-", file), file or "the standard input"
    if not text.strip():
        raise InputError(f"{name} holds no text; give some words")
    if not lines:
        yield None, text
        return
    every = lines_of(text)
    found = [(number, line) for number, line in enumerate(every, start=1) if line.strip()]
    if len(found) < len(every):
        blank = len(every) - len(found)
        are = "is" if blank == 1 else "are"
        click.echo(f"pocketbert: {name}: {blank} of {len(every)} lines {are} blank and left out", err=True)
    yield from found


def lines_of(text: str) -> list[str]:
    """The lines of a text as editors count them; str.splitlines would also part them at U+2028 or a form feed."""
    lines = re.split("\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


@contextmanager
def table_for(out: Path | None) -> Iterator[TableWriter | None]:
    """The table that results go to, if there is to be one."""
    if out is None:
        yield None
        return
    from pocketbert.tables import TableWriter

    with TableWriter(out) as table:
        yield table


def predicted(given: Given, said: Mapping[str, Any]) -> dict[str, Any]:
    """A row with what was said of it; a column that is there already is not written over."""
    row = dict(given.texts() if given.cells is None else given.cells)
    taken = [name for name in said if name in row]
    if taken:
        raise InputError(
            f"the table has a column {taken[0]!r} already, which is where the prediction would go; rename it first"
        )
    return row | dict(said)


def told(results: Iterable[Any], *, what: str = "texts", every: int = EVERY) -> Iterator[Any]:
    """The same, with a word on the terminal about how many there were so far."""
    if not sys.stderr.isatty():
        yield from results
        return
    for count, result in enumerate(results, start=1):
        if count % every == 0:
            click.echo(f"\r\033[K{count} {what}", nl=False, err=True)
        yield result
    click.echo("\r\033[K", nl=False, err=True)


def windows_told() -> Callable[[int, int], None] | None:
    """How far the reading of a long text is, for a terminal."""
    from pocketbert.cli.ask_output import progress

    return progress if sys.stderr.isatty() else None


def shown(text: str) -> str:
    """The beginning of a text, on one line that cannot steer a terminal."""
    from pocketbert.cli.tokens import visible

    line = " ".join(text.split())
    return visible(line if len(line) <= SHOWN else line[: SHOWN - 1] + "…")
