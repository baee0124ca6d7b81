"""Rows of tokens through a model: in batches of like length, as many at once as the session has lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.runtime.batches import TOKENS, batches
from pocketbert.runtime.lanes import side_by_side
from pocketbert.runtime.session import Session
from pocketbert.text.encoding import pad
from pocketbert.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from pocketbert.runtime.session import Arrays

Given: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Row:
    """One text, or two, or a window over one, with the special tokens around."""

    ids: Sequence[int]
    types: Sequence[int]

    @classmethod
    def of(cls, ids: Sequence[int], tokenizer: Tokenizer) -> Row:
        """Tokens of one text with the special ones around them."""
        return cls(tokenizer.frame(ids), tokenizer.layout.types(len(ids)))

    def __len__(self) -> int:
        return len(self.ids)


def per_text(
    rows: Sequence[Row], session: Session, tokenizer: Tokenizer, output: str
) -> Iterator[tuple[int, Given]]:
    """The number of a row and what the model says of it as a whole (labels,), in any order."""
    for places, found, _ in per_batch(rows, session, tokenizer, output, rank=2):
        yield from zip(places, found, strict=True)


def per_token(
    rows: Sequence[Row], session: Session, tokenizer: Tokenizer, output: str
) -> Iterator[tuple[int, Given]]:
    """The number of a row and what the model says of each of its tokens (S, …), padding left out, in any order."""
    for places, found, width in per_batch(rows, session, tokenizer, output, rank=3):
        for place, values in zip(places, found, strict=True):
            yield place, values[tokenizer.layout.place(len(rows[place]), width)]


def per_batch(
    rows: Sequence[Row],
    session: Session,
    tokenizer: Tokenizer,
    output: str,
    *,
    rank: Literal[2, 3],
    tokens: int = TOKENS,
) -> Iterator[tuple[list[int], Given, int]]:
    """The numbers of some rows, what the model says of them, (B, …) or (B, S, …), and S, the longest, in any order."""
    lengths = [len(row) for row in rows]
    tokens = max(1, min(tokens, -(-sum(lengths) // session.lanes)))  # no lane stays empty

    def run(places: list[int]) -> Arrays:
        chosen = [rows[place] for place in places]
        batch = pad(
            [row.ids for row in chosen],
            [row.types for row in chosen],
            pad_id=tokenizer.pad_id,
            layout=tokenizer.layout,
        )
        return session.run(**batch.arrays())

    parts = batches(lengths, tokens=tokens)
    for places, outputs in side_by_side(parts, run, session.lanes if len(parts) > 1 else 1):
        found = outputs[output]
        width = max(lengths[place] for place in places)
        expected = (len(places),) if rank == 2 else (len(places), width)
        if found.ndim != rank or found.shape[:-1] != expected:
            each = "text" if rank == 2 else "token"
            raise InputError(
                f"{session.path} gave {output} of {found.shape} for {len(places)} rows of {width} tokens; "
                f"a row of numbers for each {each} was expected: the model was made for something else"
            )
        yield places, found, width
