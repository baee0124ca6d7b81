"""Examples of pre-training: a plan of which tokens make each of them, and the tokens when they are asked for.

A plan is a row of numbers an example, so that a corpus of any size is planned in little memory; its tokens stay in the
mapped files. What is random about an example later on, its masks, follows from (seed, epoch, number of the example):
a run that resumes, or that has more processes, draws the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError

Array = NDArray[np.int64]
Plan = NDArray[np.int32]
"""A row of numbers an example; 32 bits are enough for a document and for a place in it."""


@dataclass(frozen=True, eq=False)
class Example:
    """Tokens with their special tokens and segments; `label` is what is to be said about a pair of sentences."""

    input_ids: Array  # (S,)
    token_type_ids: Array  # (S,)
    label: int | None
    draw: tuple[int, int, int]
    """Seed, epoch and number: what its masks follow from."""

    def random(self) -> np.random.Generator:
        """The generator of this example in this epoch."""
        return np.random.default_rng(self.draw)


Build = Callable[[Plan], tuple[Array, Array, int | None]]
"""A row of a plan to ids, segments and label."""


@dataclass(frozen=True, eq=False)
class Examples(Sequence[Example]):
    """The examples of one epoch; `at` gives the same ones as another epoch sees them."""

    rows: Plan  # (examples, columns)
    lengths: Array  # (examples,), special tokens included
    build: Build
    seed: int
    epoch: int = 0
    numbers: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """What the examples are called; a part of them keeps its names."""

    def __post_init__(self) -> None:
        if not len(self.rows):
            raise InputError(
                "the corpus gives no example: its documents are too short for this objective; "
                "see what each objective needs, and whether the format of the corpus is the right one"
            )
        if not len(self.numbers):
            object.__setattr__(self, "numbers", np.arange(len(self.rows)))

    def at(self, epoch: int) -> Examples:
        """The examples as they are in an epoch: the same tokens under other masks."""
        return replace(self, epoch=epoch)

    def spread(self, most: int) -> Examples:
        """So many of them at most, at equal distances, and numbered anew: a cache of their views has no gaps."""
        if most >= len(self):
            return self
        chosen = np.arange(most) * len(self) // most
        return replace(self, rows=self.rows[chosen], lengths=self.lengths[chosen], numbers=np.arange(most))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, number: int) -> Example: ...

    @overload
    def __getitem__(self, number: slice) -> Examples: ...

    def __getitem__(self, number: int | slice) -> Example | Examples:
        if isinstance(number, slice):
            parts = {name: getattr(self, name)[number] for name in ("rows", "lengths", "numbers")}
            return replace(self, **parts)
        ids, types, label = self.build(self.rows[number])
        return Example(ids, types, label, (self.seed, self.epoch, int(self.numbers[number])))


class Rows:
    """A plan while it grows: millions of rows without an object for each."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._numbers = array("i")

    def add(self, *row: int) -> None:
        self._numbers.extend(row)

    def array(self) -> Plan:
        return np.array(self._numbers, dtype=np.int32).reshape(-1, self._columns)


def generator(seed: int, number: int) -> np.random.Generator:
    """The generator that plans one pass over a corpus."""
    return np.random.default_rng([seed, number])
