"""Masked words and nothing else: DistilBERT's objective, and RoBERTa's, whose sequences go on into the next text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from pocketbert.data.corpus import Tokens
from pocketbert.data.objectives.batches import masked_batch
from pocketbert.data.objectives.examples import Example, Examples, Plan
from pocketbert.data.objectives.masking import Masker
from pocketbert.data.objectives.packing import packed_builder, packed_lengths, packed_rows
from pocketbert.model import HeadKind
from pocketbert.text import Tokenizer


@dataclass(frozen=True, eq=False)
class Masked:
    """Full sentences with masked words.

    Within one document (DistilBERT, arXiv 1910.01108; DOC-SENTENCES of RoBERTa), or with `cross` on into the next
    (FULL-SENTENCES, arXiv 1907.11692, section 4.2).
    """

    head: ClassVar[HeadKind] = "masked-lm"
    tokenizer: Tokenizer
    masker: Masker
    length: int = 128
    cross: bool = False

    def examples(self, tokens: Tokens, *, seed: int, passes: int = 1, rows: Plan | None = None) -> Examples:
        """The examples of so many passes over the corpus; they differ in their masks alone."""
        if rows is None:
            room = self.length - self.tokenizer.layout.special_tokens(1)
            rows = np.concatenate([packed_rows(tokens, room=room, cross=self.cross)] * passes)
        lengths = packed_lengths(tokens, self.tokenizer)
        return Examples(rows, lengths(rows), packed_builder(tokens, self.tokenizer), seed)

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Masked words."""
        return masked_batch(examples, self.tokenizer, self.masker)
