"""Labels for a whole text: one of several, any of several, or a number. And the choice between texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.model import EncoderOutput, Summary
from pocketbert.model.layers import ACTIVATIONS

Problem = Literal["single", "multi", "regression"]


@dataclass(frozen=True)
class ClassificationOutput:
    logits: Tensor  # (B, labels), or (B, choices)
    encoder: EncoderOutput
    loss: Tensor | None = None


class TextVector(nn.Module):
    """One vector for a text: what the encoder's pooler says, or a summary of the head's own."""

    def __init__(self, width: int, *, dropout: float, summary: Summary | None) -> None:
        super().__init__()
        self.summary = summary
        self.dense = None if summary is None else nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, output: EncoderOutput) -> Tensor:
        if self.summary is None or self.dense is None:
            vector = pooled_of(output)
        else:
            vector = output.last[:, 0] if self.summary.reads == "first" else last_real(output)
            if self.summary.dropout == "before and after":
                vector = self.dropout(vector)
            vector = ACTIVATIONS[self.summary.activation](self.dense(vector))
        dropped: Tensor = self.dropout(vector)  # (B, W)
        return dropped


class ClassificationHead(nn.Module):
    """A linear layer over one vector for the text.

    `problem` says what labels are: `single` class numbers (B), `multi` zeros and ones (B, labels), `regression`
    numbers (B) or (B, labels).
    """

    def __init__(
        self,
        width: int,
        labels: int,
        *,
        problem: Problem = "single",
        dropout: float = 0.0,
        summary: Summary | None = None,
    ) -> None:
        super().__init__()
        self.needs_pooler = summary is None
        self.text = TextVector(width, dropout=dropout, summary=summary)
        self.linear = nn.Linear(width, labels)
        self.problem = problem

    def forward(
        self, output: EncoderOutput, _words: Tensor, *, labels: Tensor | None = None
    ) -> ClassificationOutput:
        logits = self.linear(self.text(output))  # (B, labels)
        return ClassificationOutput(logits, output, None if labels is None else self.loss(logits, labels))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.problem == "single":
            return F.cross_entropy(logits, labels)
        if self.problem == "multi":
            return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        return F.mse_loss(logits.view_as(labels), labels.to(logits.dtype))


class ChoiceHead(nn.Module):
    """One score a text; which of several texts (B, choices, S) is the right one is the softmax over them."""

    def __init__(self, width: int, *, dropout: float = 0.0, summary: Summary | None = None) -> None:
        super().__init__()
        self.needs_pooler = summary is None
        self.text = TextVector(width, dropout=dropout, summary=summary)
        self.linear = nn.Linear(width, 1)

    def forward(
        self, output: EncoderOutput, _words: Tensor, *, choices: int, labels: Tensor | None = None
    ) -> ClassificationOutput:
        logits = self.linear(self.text(output)).view(-1, choices)
        return ClassificationOutput(
            logits, output, None if labels is None else F.cross_entropy(logits, labels)
        )


def pooled_of(output: EncoderOutput) -> Tensor:
    if output.pooled is None:
        raise InputError("this head reads the pooled first token, but the encoder was built without a pooler")
    return output.pooled


def last_real(output: EncoderOutput) -> Tensor:
    """The feature map of the last token that is not padding, on whichever side the padding stands."""
    last, mask = output.last, output.mask
    places = torch.arange(mask.shape[1], device=mask.device) * (mask != 0).to(torch.long)  # (B, S)
    place = places.amax(dim=1).view(-1, 1, 1).expand(-1, 1, last.shape[2])  # (B, 1, W)
    return last.gather(1, place).squeeze(1)
