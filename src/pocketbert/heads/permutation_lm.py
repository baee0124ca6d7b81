"""Words in any order: XLNet's language model, with the word table tied in.

Shapes: B batch, S sequence, P targets or chosen positions, W width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.model import EncoderOutput, XLNetOutput
from pocketbert.model.encoder import resized


@dataclass(frozen=True)
class PermutationLMOutput:
    logits: Tensor  # (B, P, V) for targets, else (B, S, V)
    encoder: EncoderOutput
    loss: Tensor | None = None


class PermutationLMHead(nn.Module):
    """The word table over the targets that the encoder was given, or over every token without any.

    Without targets each token has seen its own word: such logits say how well a word fits, and guess nothing.
    """

    needs_pooler = False

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(
        self, output: EncoderOutput, words: Tensor, *, labels: Tensor | None = None
    ) -> PermutationLMOutput:
        """`labels` (B, P) or (B, S) has -100 where nothing is to be guessed."""
        targets = output.targets if isinstance(output, XLNetOutput) else None
        logits = F.linear(output.last if targets is None else targets, words, self.bias)
        loss = None if labels is None else F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return PermutationLMOutput(logits, output, loss)

    def resize_vocabulary(self, size: int) -> None:
        self.bias = nn.Parameter(resized(self.bias, size))
