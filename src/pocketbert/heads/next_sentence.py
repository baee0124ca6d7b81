"""Is the second segment the sentence that follows the first? And both pre-training heads together."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.heads.classify import pooled_of
from pocketbert.heads.masked_lm import MaskedLMHead
from pocketbert.model import EncoderOutput


@dataclass(frozen=True)
class NextSentenceOutput:
    logits: Tensor  # (B, 2): it follows, it is a random one
    encoder: EncoderOutput
    loss: Tensor | None = None


@dataclass(frozen=True)
class PreTrainingOutput:
    masked_lm_logits: Tensor  # (B, S, V)
    next_sentence_logits: Tensor  # (B, 2)
    encoder: EncoderOutput
    loss: Tensor | None = None


class NextSentenceHead(nn.Module):
    """Label 0: the segments belong together; label 1: the second one is random."""

    needs_pooler = True

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 2)

    def forward(
        self, output: EncoderOutput, _words: Tensor, *, labels: Tensor | None = None
    ) -> NextSentenceOutput:
        logits = self.linear(pooled_of(output))
        return NextSentenceOutput(logits, output, None if labels is None else F.cross_entropy(logits, labels))


class PreTrainingHead(nn.Module):
    """Masked words and next sentence at once; the loss is the sum of those whose labels are given."""

    needs_pooler = True

    def __init__(self, masked_lm: MaskedLMHead, next_sentence: NextSentenceHead) -> None:
        super().__init__()
        self.masked_lm = masked_lm
        self.next_sentence = next_sentence

    def forward(
        self,
        output: EncoderOutput,
        words: Tensor,
        *,
        labels: Tensor | None = None,
        next_sentence_labels: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> PreTrainingOutput:
        guessed = self.masked_lm(output, words, labels=labels, positions=positions)
        followed = self.next_sentence(output, words, labels=next_sentence_labels)
        losses = [loss for loss in (guessed.loss, followed.loss) if loss is not None]
        return PreTrainingOutput(
            guessed.logits, followed.logits, output, sum(losses[1:], losses[0]) if losses else None
        )

    def resize_vocabulary(self, size: int) -> None:
        self.masked_lm.resize_vocabulary(size)
