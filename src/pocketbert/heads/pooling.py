"""One vector for a sentence from its tokens' feature maps (Sentence-BERT, arXiv 1908.10084)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pocketbert.model import EncoderOutput
from pocketbert.text.sentence_config import Pooling


def pool(last: Tensor, mask: Tensor, how: Pooling = "mean") -> Tensor:
    """(B, S, W) and the attention mask (B, S) to (B, W); padding never counts.

    `mean-sqrt` divides the sum by the square root of the length, so that longer texts get longer vectors.
    """
    if how == "cls":
        return last[:, 0]
    real = mask.unsqueeze(-1).to(last.dtype)  # (B, S, 1)
    if how == "max":
        return last.masked_fill(real == 0, torch.finfo(last.dtype).min).amax(dim=1)
    total = (last * real).sum(dim=1)
    count = real.sum(dim=1).clamp(min=1)
    return total / (count if how == "mean" else count.sqrt())


@dataclass(frozen=True)
class SentenceOutput:
    vectors: Tensor  # (B, W)
    encoder: EncoderOutput


class PoolingHead(nn.Module):
    """Sentence vectors; it has no weights of its own."""

    needs_pooler = False

    def __init__(self, how: Pooling = "mean") -> None:
        super().__init__()
        self.how: Pooling = how

    def forward(self, output: EncoderOutput, _words: Tensor) -> SentenceOutput:
        return SentenceOutput(pool(output.last, output.mask, self.how), output)
