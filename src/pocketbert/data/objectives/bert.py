"""BERT's objective: masked words, and whether the second segment is the text that follows the first."""

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
from pocketbert.errors import InputError
from pocketbert.model import HeadKind
from pocketbert.text import Tokenizer

FOLLOWS, RANDOM = 0, 1


@dataclass(frozen=True, eq=False)
class Bert:
    """Pairs of segments, one in two of them random, with masked words (arXiv 1810.04805, section 3.1).

    The random second segment is always of another document. Label 0: it follows; 1: it is random.
    """

    head: ClassVar[HeadKind] = "pretraining"
    tokenizer: Tokenizer
    masker: Masker
    length: int = 128
    short: float = 0.1

    def examples(self, tokens: Tokens, *, seed: int, passes: int = 1, rows: Plan | None = None) -> Examples:
        """The examples of so many passes over the corpus, each with segments and partners of its own."""
        if len(tokens) < 2:
            raise InputError(
                f"the corpus has {len(tokens)} document(s); next-sentence pairs need another document to draw from: "
                "check the format of the corpus, or choose objective=masked"
            )
        if rows is None:
            rows = np.concatenate([self._pass(tokens, generator(seed, number)) for number in range(passes)])
        return pair_examples(rows, tokens, self.tokenizer, seed)

    def _pass(self, tokens: Tokens, random: np.random.Generator) -> Plan:
        room = self.length - self.tokenizer.layout.special_tokens(2)

        def make(document: int, chunk: Array, target: int, random: np.random.Generator) -> Pair:
            sentences = len(chunk) - 1
            count = 1 if sentences == 1 else int(random.integers(1, sentences))
            first = (document, int(chunk[0]), int(chunk[count]))
            if sentences > 1 and random.random() < 0.5:
                return first, (document, int(chunk[count]), int(chunk[-1])), FOLLOWS, sentences
            other = (document + int(random.integers(1, len(tokens)))) % len(tokens)
            bounds = np.concatenate([[0], tokens.ends(other)])
            start = int(random.integers(0, len(bounds) - 1))
            wanted = bounds[start] + max(1, target - (first[2] - first[1]))
            end = min(int(np.searchsorted(bounds, wanted)), len(bounds) - 1)
            return first, (other, int(bounds[start]), int(bounds[end])), RANDOM, count

        return pair_rows(tokens, make, room=room, short=self.short, least=1, random=random)

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Masked words, and `sentence_labels` (B)."""
        return masked_batch(examples, self.tokenizer, self.masker)
