"""The texts of the benchmark: distinct lines of files, ragged as they are, in an order that a seed fixes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path


def distinct_lines(files: Sequence[str], seed: int) -> list[str]:
    """All lines that hold something, each once, shuffled."""
    found = dict.fromkeys(
        line.strip()
        for file in files
        for line in Path(file).read_text(encoding="utf-8").splitlines()
        if line.strip()
    )
    lines = list(found)
    random.Random(seed).shuffle(lines)
    return lines


def some_pairs(texts: Sequence[str], count: int, seed: int) -> list[tuple[str, str]]:
    """Pairs of two different texts."""
    draw = random.Random(seed)
    return [(left, right) for left, right in (draw.sample(list(texts), 2) for _ in range(count))]


def pairs_among(texts: int) -> int:
    """How many pairs so many texts make.

    >>> pairs_among(10_000)
    49995000
    """
    return texts * (texts - 1) // 2
