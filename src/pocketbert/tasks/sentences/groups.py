"""Rows of texts that belong together, from tables: pairs with a score, triplets, questions with their answers.

Every text is held once, however many rows it stands in; its number tells whether two are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tables import Row, read_rows

Kind = Literal["none", "class", "number", "score", "binary"]
YES, NO = ("1", "true", "yes", "1.0"), ("0", "false", "no", "0.0")


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows of C texts each, with a label where there is one. N rows."""

    texts: tuple[str, ...]
    numbers: NDArray[np.int64]  # (N, C): which text stands where
    labels: NDArray[Any] | None = None  # (N,)
    names: tuple[str, ...] = ()
    """Of the classes, where labels are classes."""

    def __len__(self) -> int:
        return len(self.numbers)

    def vectors(self, encode: Callable[[list[str]], NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """The vectors (N, D) of each column; a text that stands in several places is read once."""
        used, places = np.unique(self.numbers, return_inverse=True)
        found = encode([self.texts[number] for number in used])
        return [found[column] for column in places.reshape(self.numbers.shape).T]

    def take(self, rows: NDArray[Any] | slice) -> Groups:
        """Some of the rows; the texts stay, and so do their numbers."""
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, numbers=self.numbers[rows], labels=labels)


def read_groups(
    sources: Iterable[str],
    columns: Sequence[str],
    *,
    label: str | None = None,
    kind: Kind = "none",
    scale: float = 1.0,
    names: Sequence[str] = (),
    split: str = "train",
) -> Groups:
    """Rows of tables with some columns of texts, and a label if its column is named.

    A `number` is any; a `score` is divided by `scale` and then lies in -1 … 1; a `binary` label is 0 or 1; a `class` is
    one of `names`, or of those that are found.
    """
    wanted = [*columns, *([] if label is None else [label])]
    places: dict[str, int] = {}
    numbers: list[list[int]] = []
    found: list[Any] = []
    for source in sources:
        before = len(numbers)
        for row in read_rows(source, columns=wanted, split=split):
            numbers.append([places.setdefault(row.text(column), len(places)) for column in columns])
            if label is not None:
                found.append(_label(row, label, kind, scale))
        if len(numbers) == before:
            raise InputError(f"{source} holds no rows; a header alone is not enough")
    classes = tuple(names) or (tuple(sorted(set(found))) if kind == "class" else ())
    if kind == "class":
        found = _numbered(found, classes, label or "")
    dtype = np.int64 if kind == "class" else np.float32
    return Groups(
        tuple(places),
        np.array(numbers, dtype=np.int64).reshape(len(numbers), len(columns)),
        None if label is None else np.array(found, dtype=dtype),
        classes,
    )


def hold_out(
    groups: Groups, *, fraction: float, seed: int = 0, most: int | None = None
) -> tuple[Groups, Groups]:
    """Split into (kept, held out) by the first text of a row, so that it is never on both sides.

    Which side it is on depends on its words and the seed, not on its place. At most `most` rows are held out, but those
    of one text at least.
    """
    if not 0.0 < fraction < 1.0:
        raise InputError(f"validation_split = {fraction}: must lie between 0 and 1")
    firsts = np.unique(groups.numbers[:, 0])
    order = sorted(firsts.tolist(), key=lambda number: text_hash(groups.texts[number], seed))
    counts = np.bincount(groups.numbers[:, 0], minlength=len(groups.texts))
    limit = min(fraction * len(groups), most or len(groups))
    taken = np.cumsum(counts[order]) <= limit
    taken[:1] = True  # one at least
    if len(order) < 2:
        raise InputError(
            f"{len(groups)} rows about {len(order)} text are too few to hold some out; give more, or a "
            "--validation_file"
        )
    taken[-1] = False
    side = np.zeros(len(groups.texts), dtype=bool)
    side[np.array(order)[taken]] = True
    held = side[groups.numbers[:, 0]]
    return groups.take(~held), groups.take(held)


def text_hash(text: str, seed: int) -> bytes:
    """Eight bytes that depend on a text and a seed, and on nothing else."""
    salt = seed.to_bytes(8, "little")
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest()


def _label(row: Row, column: str, kind: Kind, scale: float) -> float | str:
    if kind == "class":
        return row.label(column)
    if kind == "binary":
        label = row.label(column).lower()
        if label not in YES + NO:
            raise InputError(f"{row.place}: {column!r} is {label!r}; allowed are 1 (alike) and 0 (not)")
        return float(label in YES)
    if kind == "number":
        return row.number(column)
    score = row.number(column) / scale
    if not -1 <= score <= 1:
        raise InputError(
            f"{row.place}: {column!r} is {score:g} after division by {scale:g}; scores must then lie in -1 … 1: give "
            "what they are to be divided by, such as --score_scale 5 for scores up to 5"
        )
    return score


def _numbered(labels: Sequence[str], names: Sequence[str], column: str) -> list[int]:
    if len(names) < 2:
        raise InputError(
            f"the column {column!r} holds {len(names)} different labels; at least two are needed"
        )
    places = {name: number for number, name in enumerate(names)}
    unknown = sorted(set(labels) - set(places))
    if unknown:
        raise InputError(f"the label {unknown[0]!r} is unknown; allowed are {', '.join(names)}")
    return [places[label] for label in labels]
