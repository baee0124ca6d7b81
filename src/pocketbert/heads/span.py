"""Where an answer starts and where it ends (question answering)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.model import EncoderOutput


@dataclass(frozen=True)
class SpanOutput:
    start_logits: Tensor  # (B, S)
    end_logits: Tensor  # (B, S)
    encoder: EncoderOutput
    loss: Tensor | None = None


class SpanHead(nn.Module):
    """A start and an end logit for every token; the position of [CLS] stands for "no answer in this window".

    The loss is the mean of the two cross-entropies over the real positions: padding cannot win, so it changes nothing
    (transformers lets it take part). A gold position at or beyond the sequence's end does not count.
    """

    needs_pooler = False

    def __init__(self, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, 2)

    def forward(
        self,
        output: EncoderOutput,
        _words: Tensor,
        *,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
    ) -> SpanOutput:
        start_logits, end_logits = self.linear(self.dropout(output.last)).unbind(-1)  # (B, S) each
        if (start_positions is None) != (end_positions is None):
            raise InputError("give start_positions and end_positions together, or neither")
        loss = None
        if start_positions is not None and end_positions is not None:
            length = start_logits.shape[1]
            loss = sum(
                F.cross_entropy(
                    real_logits(logits, output.mask), positions.clamp(0, length), ignore_index=length
                )
                / 2
                for logits, positions in ((start_logits, start_positions), (end_logits, end_positions))
            )
        return SpanOutput(start_logits, end_logits, output, loss)  # type: ignore[arg-type]


def real_logits(logits: Tensor, mask: Tensor) -> Tensor:
    """Logits (B, S) with padding out of the race."""
    return logits.masked_fill(mask == 0, torch.finfo(logits.dtype).min)
