"""Labels for a whole text: one of several, any of several, or a number. And the choice between texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.model import EncoderOutput

Problem = Literal["single", "multi", "regression"]


@dataclass(frozen=True)
class ClassificationOutput:
    logits: Tensor  # (B, labels), or (B, choices)
    encoder: EncoderOutput
    loss: Tensor | None = None


class ClassificationHead(nn.Module):
    """A linear layer over the pooled first token.

    `problem` says what labels are: `single` class numbers (B), `multi` zeros and ones (B, labels), `regression`
    numbers (B) or (B, labels).
    """

    needs_pooler = True

    def __init__(self, width: int, labels: int, *, problem: Problem = "single", dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, labels)
        self.problem = problem

    def forward(
        self, output: EncoderOutput, _words: Tensor, *, labels: Tensor | None = None
    ) -> ClassificationOutput:
        logits = self.linear(self.dropout(pooled_of(output)))  # (B, labels)
        return ClassificationOutput(logits, output, None if labels is None else self.loss(logits, labels))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.problem == "single":
            return F.cross_entropy(logits, labels)
        if self.problem == "multi":
            return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        return F.mse_loss(logits.view_as(labels), labels.to(logits.dtype))


class ChoiceHead(nn.Module):
    """One score a text; which of several texts (B, choices, S) is the right one is the softmax over them."""

    needs_pooler = True

    def __init__(self, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, 1)

    def forward(
        self, output: EncoderOutput, _words: Tensor, *, choices: int, labels: Tensor | None = None
    ) -> ClassificationOutput:
        logits = self.linear(self.dropout(pooled_of(output))).view(-1, choices)
        return ClassificationOutput(
            logits, output, None if labels is None else F.cross_entropy(logits, labels)
        )


def pooled_of(output: EncoderOutput) -> Tensor:
    if output.pooled is None:
        raise InputError("this head reads the pooled first token, but the encoder was built without a pooler")
    return output.pooled
