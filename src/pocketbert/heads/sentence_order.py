"""Which of two sentences comes first? And ALBERT's two pre-training heads together (arXiv 1909.11942, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.heads.classify import pooled_of
from pocketbert.heads.masked_lm import MaskedLMHead
from pocketbert.model import EncoderOutput


@dataclass(frozen=True)
class SentenceOrderOutput:
    logits: Tensor  # (B, 2): as in the text, swapped
    encoder: EncoderOutput
    loss: Tensor | None = None


@dataclass(frozen=True)
class OrderPreTrainingOutput:
    masked_lm_logits: Tensor  # (B, S, V)
    sentence_order_logits: Tensor  # (B, 2)
    encoder: EncoderOutput
    loss: Tensor | None = None


class SentenceOrderHead(nn.Module):
    """Label 0: the segments stand as in the text; label 1: they were swapped."""

    needs_pooler = True

    def __init__(self, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, 2)

    def forward(
        self, output: EncoderOutput, _words: Tensor, *, labels: Tensor | None = None
    ) -> SentenceOrderOutput:
        logits = self.linear(self.dropout(pooled_of(output)))
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return SentenceOrderOutput(logits, output, loss)


class OrderPreTrainingHead(nn.Module):
    """Masked words and sentence order at once; the loss is the sum of those whose labels are given."""

    needs_pooler = True

    def __init__(self, masked_lm: MaskedLMHead, sentence_order: SentenceOrderHead) -> None:
        super().__init__()
        self.masked_lm = masked_lm
        self.sentence_order = sentence_order

    def forward(
        self,
        output: EncoderOutput,
        words: Tensor,
        *,
        labels: Tensor | None = None,
        sentence_order_labels: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> OrderPreTrainingOutput:
        guessed = self.masked_lm(output, words, labels=labels, positions=positions)
        ordered = self.sentence_order(output, words, labels=sentence_order_labels)
        losses = [loss for loss in (guessed.loss, ordered.loss) if loss is not None]
        return OrderPreTrainingOutput(
            guessed.logits, ordered.logits, output, sum(losses[1:], losses[0]) if losses else None
        )

    def resize_vocabulary(self, size: int) -> None:
        self.masked_lm.resize_vocabulary(size)
