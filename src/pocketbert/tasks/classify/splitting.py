"""Hold out a part of the examples with the same mixture of labels, where no file to evaluate on is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from pocketbert.errors import InputError
from pocketbert.tasks.classify.examples import Example, Problem

_BINS = 10  # of scores: the held-out part has as many of each tenth


def stratified(
    examples: Sequence[Example], *, problem: Problem, fraction: float, seed: int = 0
) -> tuple[list[Example], list[Example]]:
    """Split into (kept, held out), each label in the same share.

    The same text is never on both sides. Which side it is on depends on its words and the seed, not on its place. Every
    label keeps at least one text to learn from, and has one to be measured on if it has two. Of several labels the
    rarest counts; scores are taken by tenths.
    """
    if not 0.0 < fraction < 1.0:
        raise InputError(f"validation_split = {fraction}: must lie between 0 and 1")
    groups: dict[int, dict[str, int]] = {}  # label -> texts, in the order of their hashes
    for example, group in zip(examples, _groups(examples, problem), strict=True):
        groups.setdefault(group, {})[_key(example)] = 0
    held: dict[str, bool] = {}
    for _, texts in sorted(groups.items()):
        order = sorted(texts, key=lambda text: _hash(text, seed))
        taken = min(max(round(fraction * len(order)), 1), len(order) - 1)
        for place, text in enumerate(order):
            held.setdefault(text, place < taken)
    sides = [held[_key(example)] for example in examples]
    kept = [example for example, side in zip(examples, sides, strict=True) if not side]
    measured = [example for example, side in zip(examples, sides, strict=True) if side]
    if not kept or not measured:
        raise InputError(
            f"{len(examples)} rows are too few to hold some out; give more, or a --validation_file to measure on"
        )
    return kept, measured


def _groups(examples: Sequence[Example], problem: Problem) -> list[int]:
    labels = [example.label for example in examples if example.label is not None]
    if len(labels) != len(examples):
        raise InputError("some examples have no label; only labelled ones can be split")
    if problem == "single":
        return [int(label) for label in labels]
    if problem == "regression":
        values = np.array(labels, dtype=np.float64)
        edges = np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1])
        return [int(group) for group in np.searchsorted(edges, values, side="right")]
    counts = Counter(int(number) for label in labels for number in np.flatnonzero(label))
    return [
        min(map(int, np.flatnonzero(label)), key=lambda number: (counts[number], number), default=-1)
        for label in labels
    ]


def _key(example: Example) -> str:
    return f"{example.text}\0{example.pair or ''}"


def _hash(text: str, seed: int) -> bytes:
    salt = seed.to_bytes(8, "little")
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest()
