"""Many texts as tokens, packed into flat arrays: a million sentences are three of them, and no list of anything."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tables import read_rows
from pocketbert.tables.reading import open_lines
from pocketbert.tasks.classify.features import Feature, Integers
from pocketbert.text import Tokenizer
from pocketbert.text.layout import Layout

logger = logging.getLogger("pocketbert")


@dataclass(frozen=True)
class TextSource:
    """Texts that can be read again and again, and are never held: lines of `.txt` files, or a column of tables."""

    files: tuple[str, ...]
    column: str = "text"
    split: str = "train"
    limit: int | None = None

    def __iter__(self) -> Iterator[str]:
        for number, text in enumerate(text for file in self.files for text in self._texts(file)):
            if number == self.limit:
                return
            yield text

    def _texts(self, file: str) -> Iterator[str]:
        if Path(file).suffix.lower() != ".txt":
            for row in read_rows(file, columns=[self.column], split=self.split):
                yield row.text(self.column)
            return
        if not Path(file).is_file():
            raise InputError(f"{file}: there is no such file; give a text with a sentence a line, or a table")
        for line in open_lines(Path(file)):
            if line.strip():
                yield line.strip()


@dataclass(frozen=True, eq=False)
class Texts(Sequence[Feature]):
    """Rows of tokens one after the other. T tokens in all, N texts."""

    ids: Integers  # (T,)
    types: NDArray[np.uint8]  # (T,)
    bounds: NDArray[np.int64]  # (N + 1,)
    layout: Layout
    cut: int = 0
    """How many texts did not fit, and lost their end."""

    @classmethod
    def pack(
        cls, texts: Iterable[str], tokenizer: Tokenizer, *, max_length: int, lower_case: bool = False
    ) -> Texts:
        """Tokenise texts as they come; of one that is too long the end is cut, and how many were is logged."""
        ids, types, bounds, cut = array("i"), array("B"), array("q", [0]), 0
        for text in texts:
            encoding = tokenizer.encode(text.lower() if lower_case else text, max_length=max_length)
            ids.extend(encoding.ids)
            types.extend(encoding.type_ids)
            bounds.append(len(ids))
            cut += encoding.truncated > 0
        if cut:
            logger.warning(
                "%d of %d texts have more than %d tokens: their ends are not read (max_seq_length)",
                cut,
                len(bounds) - 1,
                max_length,
            )
        return cls(
            np.frombuffer(ids, dtype=np.int32) if ids else np.empty(0, dtype=np.int32),
            np.frombuffer(types, dtype=np.uint8) if types else np.empty(0, dtype=np.uint8),
            np.frombuffer(bounds, dtype=np.int64),
            tokenizer.layout,
            cut,
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, number: int) -> Feature:  # type: ignore[override]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        place = slice(self.bounds[number % len(self)], self.bounds[number % len(self) + 1])
        return Feature(self.ids[place], self.types[place], layout=self.layout)
