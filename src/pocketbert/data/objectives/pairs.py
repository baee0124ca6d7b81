"""Pairs of segments from a corpus, as BERT makes them: which tokens of which documents, and what is true of the two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pocketbert.data.corpus import Tokens
from pocketbert.data.objectives.examples import Array, Build, Examples, Plan, Rows
from pocketbert.text import Tokenizer

Segment = tuple[int, int, int]
"""A document, and where in it the tokens begin and end."""
Pair = tuple[Segment, Segment, int, int]
"""First, second, label, and how many sentences of the chunk were used up."""
MakePair = Callable[[int, Array, int, np.random.Generator], Pair]
"""(document, bounds of the chunk's sentences, wanted tokens, generator) -> a pair."""


def pair_rows(
    tokens: Tokens,
    make: MakePair,
    *,
    room: int,
    short: float,
    least: int,
    random: np.random.Generator,
) -> Plan:
    """One pass over the corpus as rows (document, start, end, document, start, end, label).

    A chunk is as many sentences as fill a target length, `least` at the fewest: the `room`, or with probability
    `short` a random length of 2 and more, as in BERT's own create_pretraining_data.py. There the short length holds
    for a whole document, which would cut a novel into pieces of two words; here it is drawn for every chunk.
    """
    rows = Rows(columns=7)
    for document in range(len(tokens)):
        bounds = np.concatenate([[0], tokens.ends(document)])  # of the sentences
        start, last = 0, len(bounds) - 1
        while last - start >= least:
            target = int(random.integers(2, room + 1)) if random.random() < short else room
            end = int(np.searchsorted(bounds, bounds[start] + target))
            chunk = bounds[start : min(max(end, start + least), last) + 1]
            first, second, label, used = make(document, chunk, target, random)
            first, second = truncated(first, second, room, random)
            rows.add(*first, *second, label)
            start += used  # what was not used is put back
    return rows.array()


def truncated(
    first: Segment, second: Segment, room: int, random: np.random.Generator
) -> tuple[Segment, Segment]:
    """Both segments, cut to the room: a token of the longer one goes at a time, at either end by chance.

    Of two equally long ones the second loses first.
    """
    lengths = first[2] - first[1], second[2] - second[1]
    if sum(lengths) <= room:
        return first, second
    half = room // 2
    if min(lengths) > half:
        kept = room - half, half
    else:
        longest = room - min(lengths)
        kept = (lengths[0], longest) if lengths[0] <= lengths[1] else (longest, lengths[1])
    cut = []
    for (document, start, end), length, left in zip((first, second), lengths, kept, strict=True):
        front = int(random.binomial(length - left, 0.5))
        cut.append((document, start + front, end - (length - left - front)))
    return cut[0], cut[1]


def pair_examples(rows: Plan, tokens: Tokens, tokenizer: Tokenizer, seed: int) -> Examples:
    """Rows as examples, in the tokenizer's own frame round two texts."""
    lengths = rows[:, 2] - rows[:, 1] + rows[:, 5] - rows[:, 4] + tokenizer.layout.special_tokens(2)
    return Examples(rows, lengths.astype(np.int64), _builder(tokens, tokenizer), seed)


def _builder(tokens: Tokens, tokenizer: Tokenizer) -> Build:
    """Rows to ids with the tokenizer's own frame round two texts."""
    layout = tokenizer.layout
    before, between, after = (
        np.asarray(tokenizer.marks(marks), dtype=np.int64)
        for marks in (layout.before, layout.between, layout.after_two)
    )

    def build(row: Plan) -> tuple[Array, Array, int | None]:
        first, second = tokens.span(*map(int, row[:3])), tokens.span(*map(int, row[3:6]))
        ids = np.concatenate([before, first, between, second, after]).astype(np.int64)
        types = np.asarray(layout.types(len(first), len(second)), dtype=np.int64)
        return ids, types, int(row[6])

    return build
