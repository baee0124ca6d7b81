"""XLNet's objective: words guessed in a random order, each from the text around and the words before it in that order.

Shapes: B batch, S sequence, P words to guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from pocketbert.data.corpus import Tokens
from pocketbert.data.objectives.batches import NOT_GUESSED, padded
from pocketbert.data.objectives.examples import Array, Example, Examples, Plan
from pocketbert.data.objectives.packing import packed_builder, packed_lengths, packed_rows
from pocketbert.model import HeadKind
from pocketbert.text import Tokenizer


@dataclass(frozen=True, eq=False)
class Permutation:
    """One token in six is guessed, in stretches of one to five (arXiv 1906.08237, sections 2.3 and 3.1).

    Only the last words of an order are guessed: they are hard enough, and the others are the text around. So the order
    of those before does not matter, and none is drawn.
    """

    head: ClassVar[HeadKind] = "permutation-lm"
    tokenizer: Tokenizer
    length: int = 128
    share: float = 1 / 6
    longest: int = 5

    def examples(self, tokens: Tokens, *, seed: int, passes: int = 1, rows: Plan | None = None) -> Examples:
        """The examples of so many passes over the corpus; they differ in their orders alone."""
        if rows is None:
            room = self.length - self.tokenizer.layout.special_tokens(1)
            rows = np.concatenate([packed_rows(tokens, room=room, cross=False)] * passes)
        lengths = packed_lengths(tokens, self.tokenizer)
        return Examples(rows, lengths(rows), packed_builder(tokens, self.tokenizer), seed)

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """XLNet's `perm_mask` (B, S, S) and `target_mapping` (B, P, S), and `labels` (B, P); -100 fills up."""
        batch = padded([example.input_ids for example in examples], examples, self.tokenizer)
        size, width = batch["input_ids"].shape
        orders = [self.order(example) for example in examples]
        most = max(map(len, orders))
        hidden = torch.zeros(size, width, width)
        mapping = torch.zeros(size, most, width)
        labels = torch.full((size, most), NOT_GUESSED)
        for row, (example, order) in enumerate(zip(examples, orders, strict=True)):
            shift = self.tokenizer.layout.place(len(example.input_ids), width).start
            places = torch.from_numpy(order) + shift
            rank = torch.full((width,), -1)  # the text around comes before all that is guessed
            rank[places] = torch.arange(len(order))
            hidden[row] = ((rank >= 0) & (rank.unsqueeze(1) <= rank)).float()
            mapping[row, torch.arange(len(order)), places] = 1.0
            labels[row, : len(order)] = batch["input_ids"][row, places]
        return batch | {"perm_mask": hidden, "target_mapping": mapping, "labels": labels}

    def order(self, example: Example) -> Array:
        """The places to guess, in the order in which they are guessed."""
        random = example.random()
        frame = [self.tokenizer.cls_id, self.tokenizer.sep_id]
        places = np.flatnonzero(~np.isin(example.input_ids, frame))
        chosen = np.zeros(len(places), dtype=bool)
        start = 0
        while start < len(places):
            stretch = int(random.integers(1, self.longest + 1))
            around = round(stretch / self.share)
            first = start + int(random.integers(0, around - stretch + 1))
            chosen[first : first + stretch] = True
            start += around
        if not chosen.any():
            chosen[int(random.integers(0, len(places)))] = True
        return np.asarray(random.permutation(places[chosen]))
