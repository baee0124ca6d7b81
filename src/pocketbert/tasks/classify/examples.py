"""Texts with labels from tables: one label, several, or a number; one text or a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tables import Row, read_rows
from pocketbert.tables.rows import spelled

Problem = Literal["single", "multi", "regression"]
Label: TypeAlias = NDArray[np.int64] | NDArray[np.float32]
"""A class number (), zeros and ones (labels,), or a number ()."""
SLIPS = 0.1  # a column of which no more than this share is no number was meant to hold scores


@dataclass(frozen=True, slots=True)
class Example:
    """A text, perhaps a second one, and what is true of them if that is known."""

    text: str
    pair: str | None = None
    label: Label | None = None


@dataclass(frozen=True)
class Columns:
    """Which columns of a table hold what."""

    text: str
    pair: str | None = None
    label: str | None = None
    header: tuple[str, ...] | None = None
    """The names of a CSV or TSV file's columns where the file does not say them itself."""

    def named(self) -> list[str]:
        return [name for name in (self.text, self.pair, self.label) if name is not None]


@dataclass(frozen=True)
class Scheme:
    """What labels are: the kind of problem and their names, in the order of the model's outputs."""

    problem: Problem
    names: tuple[str, ...]
    separator: str = ","

    @property
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


def read_table(sources: Iterable[str], columns: Columns, *, split: str = "train") -> list[Row]:
    """All rows of one or several tables; one without rows is refused."""
    rows: list[Row] = []
    for source in sources:
        before = len(rows)
        rows += read_rows(source, columns=columns.named(), header=columns.header, split=split)
        if len(rows) == before:
            raise InputError(f"{source} holds no rows; a header alone is not enough")
    return rows


def scheme_of(
    rows: Sequence[Row],
    column: str,
    *,
    problem: Problem | Literal["auto"] = "auto",
    names: Sequence[str] = (),
    separator: str = ",",
) -> Scheme:
    """What the labels of some rows are; `names` are the allowed ones if they are known already.

    By themselves lists are several labels, numbers of which some are no whole ones are scores, and all else is one
    label; a few other cells among scores are an error that names the first of them.
    """
    kind: Problem = _guess(rows, column) if problem == "auto" else problem
    if kind == "regression":
        return Scheme(kind, (column,))
    if names:
        return Scheme(kind, tuple(names), separator)
    found: set[str] = set()
    for row in rows:
        if kind == "multi":
            found.update(row.labels(column, separator=separator))
        else:
            found.add(row.label(column))
    if len(found) < (1 if kind == "multi" else 2):
        raise InputError(
            f"the column {column!r} holds {len(found)} different labels ({', '.join(found)}); to tell texts apart at "
            "least two are needed: name another column by --label, or give --problem regression for a score"
        )
    return Scheme(kind, tuple(sorted(found, key=_order)), separator)


def examples_of(rows: Iterable[Row], columns: Columns, scheme: Scheme) -> list[Example]:
    """The rows as examples; the first that cannot be one is an error that names it."""
    numbers = scheme.numbers
    return [
        Example(
            row.text(columns.text),
            None if columns.pair is None else row.text(columns.pair),
            None if columns.label is None else label_of(row, columns.label, scheme, numbers),
        )
        for row in rows
    ]


def label_of(row: Row, column: str, scheme: Scheme, numbers: Mapping[str, int]) -> Label:
    """The label of a row as the model's outputs are compared with it."""
    if scheme.problem == "regression":
        return np.array(row.number(column), dtype=np.float32)
    if scheme.problem == "single":
        return np.array(numbers[row.label(column, numbers)], dtype=np.int64)
    present = np.zeros(len(numbers), dtype=np.float32)
    present[[numbers[name] for name in row.labels(column, numbers, separator=scheme.separator)]] = 1
    return present


def _guess(rows: Sequence[Row], column: str) -> Problem:
    if any(isinstance(row.cells[column], list | tuple) for row in rows):
        return "multi"
    found = [_number(row.cells[column]) for row in rows]
    numbers = [number for number in found if number is not None]
    others = [row for row, number in zip(rows, found, strict=True) if number is None]
    if all(number.is_integer() for number in numbers) or len(others) > SLIPS * len(rows):
        return "single"
    if others:
        raise InputError(
            f"{others[0].place}: {column!r} is {others[0].cells[column]!r}, while {len(numbers)} of {len(rows)} rows "
            f"have a number there, such as {next(number for number in numbers if not number.is_integer())}; for "
            "scores every row needs one: mend it, or delete the row; for labels give --problem single"
        )
    return "regression"


def _number(value: Any) -> float | None:
    """A cell as a number, if it is one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _order(name: str) -> tuple[int, str]:
    """Labels that are numbers in their order, before those that are words in theirs."""
    return (int(name), "") if name.isdecimal() else (1 << 62, spelled(name))
