"""A label for every token: entities, parts of speech."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.model import EncoderOutput


@dataclass(frozen=True)
class TagOutput:
    logits: Tensor  # (B, S, labels)
    encoder: EncoderOutput
    loss: Tensor | None = None


class TagHead(nn.Module):
    """A linear layer over every token. Labels of -100 (padding, later pieces of a word) do not count."""

    needs_pooler = False

    def __init__(self, width: int, labels: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, labels)

    def forward(self, output: EncoderOutput, _words: Tensor, *, labels: Tensor | None = None) -> TagOutput:
        logits = self.linear(self.dropout(output.last))
        return TagOutput(
            logits,
            output,
            None if labels is None else F.cross_entropy(logits.flatten(0, 1), labels.flatten()),
        )
