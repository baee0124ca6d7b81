"""Batches of windows of like length: what is padded is computed too, and thrown away."""

from __future__ import annotations

from collections.abc import Sequence

# Tokens in a batch, padding included. From that size on a token of a MobileBERT gets no cheaper on a CPU; four windows
# of 384 at once take 7 % longer than one after the other, and more memory.
TOKENS = 512
WASTE = 0.04  # the share of a batch that may be padding


def batches(lengths: Sequence[int], *, tokens: int = TOKENS, waste: float = WASTE) -> list[list[int]]:
    """The places of windows of these lengths, batch by batch, the longest first.

    >>> batches([12, 200, 12, 12, 198])
    [[1, 4], [0, 2, 3]]
    """
    found: list[list[int]] = []
    held = 0  # tokens in the last batch, without padding
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if found:
            rows = len(found[-1]) + 1
            size = lengths[found[-1][0]] * rows
            if size <= tokens and size - held - lengths[place] <= waste * size:
                found[-1].append(place)
                held += lengths[place]
                continue
        found.append([place])
        held = lengths[place]
    return found
