"""ALBERT's objective: masked words, and whether two segments stand as in the text or were swapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from pocketbert.data.corpus import Tokens
from pocketbert.data.objectives.batches import masked_batch
from pocketbert.data.objectives.examples import Array, Example, Examples, Plan, generator
from pocketbert.data.objectives.masking import Masker
from pocketbert.data.objectives.pairs import Pair, pair_examples, pair_rows
from pocketbert.model import HeadKind
from pocketbert.text import Tokenizer

IN_ORDER, SWAPPED = 0, 1


@dataclass(frozen=True, eq=False)
class SentenceOrder:
    """Two neighbouring segments of a document, swapped one time in two (arXiv 1909.11942, section 3.1).

    A document of one sentence has no order and gives no example. Label 0: as in the text; 1: swapped.
    """

    head: ClassVar[HeadKind] = "pretraining"
    tokenizer: Tokenizer
    masker: Masker
    length: int = 128
    short: float = 0.1

    def examples(self, tokens: Tokens, *, seed: int, passes: int = 1, rows: Plan | None = None) -> Examples:
        """The examples of so many passes over the corpus, each with segments of its own."""
        if rows is None:
            room = self.length - self.tokenizer.layout.special_tokens(2)
            generators = [generator(seed, number) for number in range(passes)]
            rows = np.concatenate(
                [
                    pair_rows(tokens, _make, room=room, short=self.short, least=2, random=random)
                    for random in generators
                ]
            )
        return pair_examples(rows, tokens, self.tokenizer, seed)

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Masked words, and `sentence_labels` (B)."""
        return masked_batch(examples, self.tokenizer, self.masker)


def _make(document: int, chunk: Array, _target: int, random: np.random.Generator) -> Pair:
    sentences = len(chunk) - 1
    count = int(random.integers(1, sentences))
    first = (document, int(chunk[0]), int(chunk[count]))
    second = (document, int(chunk[count]), int(chunk[-1]))
    if random.random() < 0.5:
        return second, first, SWAPPED, sentences
    return first, second, IN_ORDER, sentences
