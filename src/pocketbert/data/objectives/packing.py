"""Sequences that are filled with full sentences, of one document or on into the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pocketbert.data.corpus import Tokens
from pocketbert.data.objectives.examples import Array, Build, Plan, Rows
from pocketbert.text import Tokenizer

LEAST = 2  # tokens; of one alone nothing can be learnt


def packed_rows(tokens: Tokens, *, room: int, cross: bool) -> Plan:
    """The corpus as rows (first document, start in it, last document, end in it).

    Sentences stay whole unless one alone is longer than the room. With `cross` a sequence goes on into the next
    documents, with one separator before each.
    """
    rows = Rows(columns=4)
    begin, used = (0, 0), 0
    last = (0, 0)

    def flush() -> None:
        nonlocal used
        if used >= LEAST:
            rows.add(*begin, *last)
        used = 0

    for document in range(len(tokens)):
        ends, start = tokens.ends(document), 0
        if not cross:
            flush()
        while start < ends[-1]:
            separator = int(used > 0 and start == 0)
            left = room - used - separator
            fitting = int(np.searchsorted(ends, start + left, side="right")) - 1
            end = int(ends[fitting]) if fitting >= 0 else 0
            if left <= 0 or end <= start:
                if used:  # the next sentence begins the next sequence
                    flush()
                    continue
                end = start + room
            if not used:
                begin = (document, start)
            used += separator + end - start
            last, start = (document, end), end
            if start < ends[-1]:
                flush()
    flush()
    return rows.array()


def packed_builder(tokens: Tokens, tokenizer: Tokenizer) -> Build:
    """Rows to ids with the tokenizer's own frame round one text, and separators between documents."""
    layout = tokenizer.layout
    before, after = (
        np.asarray(tokenizer.marks(marks), dtype=np.int64) for marks in (layout.before, layout.after_one)
    )
    separator = np.asarray([tokenizer.sep_id])

    def build(row: Plan) -> tuple[Array, Array, int | None]:
        first, start, last, end = map(int, row)
        parts = [
            tokens.span(number, start if number == first else 0, end if number == last else None)
            for number in range(first, last + 1)
        ]
        inner = parts[:1] + [piece for part in parts[1:] for piece in (separator, part)]
        ids = np.concatenate([before, *inner, after]).astype(np.int64)
        types = layout.types(len(ids) - len(before) - len(after))
        return ids, np.asarray(types, dtype=np.int64), None

    return build


def packed_lengths(tokens: Tokens, tokenizer: Tokenizer) -> Callable[[Plan], Array]:
    """Rows to the lengths of their examples."""
    frame = tokenizer.layout.special_tokens(1)
    starts = np.concatenate([[0], np.cumsum(tokens.lengths)])

    def lengths(rows: Plan) -> Array:
        inside = starts[rows[:, 2]] + rows[:, 3] - starts[rows[:, 0]] - rows[:, 1]
        found: Array = inside + rows[:, 2] - rows[:, 0] + frame
        return found

    return lengths
