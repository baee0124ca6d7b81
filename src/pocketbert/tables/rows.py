"""One row of a table, and what may go wrong with one of its cells: said with the file, the row and what is allowed."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pocketbert.errors import InputError


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by the names of their columns, and where the row stands."""

    place: str
    """File and line, or set and row, as an error names it."""
    cells: Mapping[str, Any]

    def text(self, column: str) -> str:
        """A cell that holds a text, and not an empty one."""
        value = self.cells[column]
        if value is None or (isinstance(value, str) and not value.strip()):
            raise InputError(
                f"{self.place}: {column!r} is empty; every row needs a text there: fill it in, or delete the row"
            )
        if not isinstance(value, str):
            raise InputError(f"{self.place}: {column!r} is {_shown(value)}; a text is needed")
        return value

    def number(self, column: str, *, least: float = -math.inf, most: float = math.inf) -> float:
        """A cell that holds a number between two others."""
        value = self.cells[column]
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise InputError(f"{self.place}: {column!r} is {_shown(value)}; a number such as 3.5 is needed")
        if not least <= number <= most:
            raise InputError(f"{self.place}: {column!r} is {number:g}; it must lie in {least:g} … {most:g}")
        return number

    def label(self, column: str, known: Mapping[str, int] | None = None) -> str:
        """A cell that holds a label, one of those that are known if any are."""
        value = self.cells[column]
        label = "" if value is None else spelled(value)
        if not label:
            raise InputError(
                f"{self.place}: {column!r} is empty; every row needs a label: fill it in, or delete the row"
            )
        if known is not None and label not in known:
            raise InputError(f"{self.place}: {unknown_label(label, list(known))}")
        return label

    def labels(
        self, column: str, known: Mapping[str, int] | None = None, *, separator: str = ","
    ) -> list[str]:
        """A cell that holds any number of labels: a list, or a text with separators between them."""
        value = self.cells[column]
        if value is None:
            return []
        parts = value if isinstance(value, list | tuple) else str(value).split(separator)
        labels = [label for label in map(spelled, parts) if label]
        for label in labels:
            if known is not None and label not in known:
                raise InputError(f"{self.place}: {unknown_label(label, list(known))}")
        return labels


def check_columns(place: str, wanted: Iterable[str], names: Sequence[str]) -> None:
    """Refuse a table that lacks a column; the nearest of its own is named."""
    for column in wanted:
        if column not in names:
            raise InputError(
                f"{place} has no column {column!r}; it has {', '.join(map(repr, names)) or 'none'}"
                f"{near(column, names)}"
            )


def check_names(place: str, names: Sequence[str]) -> None:
    """Refuse a table with two columns of one name; columns without a name, as spreadsheets leave them, may be many."""
    for number, name in enumerate(names):
        if name and name in names[:number]:
            raise InputError(
                f"{place} has two columns {name!r}, the {names.index(name) + 1}. and the {number + 1}.; "
                "rename or delete one of them"
            )


def near(word: str, known: Sequence[str]) -> str:
    """`: did you mean …?` where a known word is like the given one, and nothing where none is."""
    found = difflib.get_close_matches(word.lower(), [name.lower() for name in known], n=1, cutoff=0.6)
    if not found:
        return ""
    return f": did you mean {next(name for name in known if name.lower() == found[0])!r}?"


def spelled(value: object) -> str:
    """A label as one writes it: 1 and 1.0 are the same, for tables that lost their whole numbers."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def unknown_label(label: str, known: Sequence[str]) -> str:
    shown = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return f"the label {label!r} is unknown; allowed are {shown}{near(label, known)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
