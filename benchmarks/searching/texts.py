"""As many documents as are wanted: first those of real paragraphs, then others whose sentences are drawn from them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pocketbert.search.passages import Passage, passages
from pocketbert.text.sentences import sentence_spans

PARAGRAPHS = 6  # in a document
NOISE = 0.3  # of the length of a mixed vector


@dataclass(frozen=True)
class Text:
    """A document's passages."""

    text: str
    passages: list[Passage]
    real: bool
    """Whether its paragraphs are those of the data."""


def documents(paragraphs: Sequence[str], seed: int) -> Iterator[Text]:
    """Documents without end, the same for the same seed."""
    generator = random.Random(seed)
    order = list(paragraphs)
    generator.shuffle(order)
    for start in range(0, len(order), PARAGRAPHS):
        yield _text(order[start : start + PARAGRAPHS], real=True)
    sentences = [
        part
        for paragraph in order
        for first, last in sentence_spans(paragraph)
        if (part := paragraph[first:last].strip())
    ]
    while True:
        lengths = [len(list(sentence_spans(generator.choice(order)))) for _ in range(PARAGRAPHS)]
        yield _text([" ".join(generator.choices(sentences, k=length)) for length in lengths], real=False)


def until(sizes: Sequence[int], paragraphs: Sequence[str], seed: int) -> Iterator[Text]:
    """Documents up to the largest number of passages; where one of the sizes is reached, a document is cut short."""
    wanted, done = sorted(sizes), 0
    for text in documents(paragraphs, seed):
        kept = text.passages[: wanted[0] - done]
        if not kept:
            continue
        yield Text(text.text[: kept[-1].end], kept, text.real)
        done += len(kept)
        if done == wanted[0]:
            wanted.pop(0)
        if not wanted:
            return


def mixed(real: NDArray[np.float32], count: int, generator: np.random.Generator) -> NDArray[np.float32]:
    """Unit vectors between two real ones each, with some noise: as near to each other as real ones, or nearly."""
    first, second = (real[generator.integers(len(real), size=count)] for _ in range(2))
    share = generator.uniform(0.2, 0.8, size=(count, 1))
    noise = generator.normal(size=first.shape) * NOISE / np.sqrt(first.shape[1])
    found = share * first + (1 - share) * second + noise
    unit: NDArray[np.float32] = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _text(parts: Sequence[str], *, real: bool) -> Text:
    text = "\n\n".join(parts)
    return Text(text, passages(text), real)
