"""Words for masked positions, with the word table tied in as BERT and its relatives do it.

Shapes: B batch, S sequence, P chosen positions, W feature-map width, E embedding width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.model import EncoderOutput
from pocketbert.model.encoder import resized
from pocketbert.model.layers import ACTIVATIONS, Activation


@dataclass(frozen=True)
class MaskedLMOutput:
    logits: Tensor  # (B, S, V), or (B, P, V) for chosen positions
    encoder: EncoderOutput
    loss: Tensor | None = None


class MaskedLMHead(nn.Module):
    """A dense layer, a real LayerNorm (even in NoNorm models), then the word table.

    Where the feature map is wider than the word table, as in MobileBERT, its first E channels meet the table and the
    others a matrix of their own, `extra` (W - E, V); or, with `narrow`, the dense layer goes down to E, as in ALBERT.
    """

    needs_pooler = False

    def __init__(
        self,
        width: int,
        embedding_width: int,
        vocabulary: int,
        activation: Activation,
        eps: float,
        *,
        narrow: bool = False,
    ) -> None:
        super().__init__()
        inner = embedding_width if narrow else width
        self.transform = nn.Linear(width, inner)
        self.norm = nn.LayerNorm(inner, eps=eps)
        self.activation = ACTIVATIONS[activation]
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        missing = inner - embedding_width
        self.extra = nn.Parameter(torch.randn(missing, vocabulary) * 0.02) if missing else None

    def forward(
        self,
        output: EncoderOutput,
        words: Tensor,
        *,
        labels: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> MaskedLMOutput:
        """`positions` (B, P) computes logits only there. `labels` has -100 where nothing is to be guessed."""
        x = output.last
        if positions is not None:
            x = x.gather(1, positions.unsqueeze(-1).expand(-1, -1, x.shape[-1]))  # (B, P, W)
        x = self.norm(self.activation(self.transform(x)))
        width = words.shape[1]
        logits = F.linear(x[..., :width], words, self.bias)
        if self.extra is not None:
            logits = logits + x[..., width:] @ self.extra
        loss = None if labels is None else F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return MaskedLMOutput(logits, output, loss)

    def resize_vocabulary(self, size: int) -> None:
        self.bias = nn.Parameter(resized(self.bias, size))
        if self.extra is not None:
            self.extra = nn.Parameter(resized(self.extra, size, dim=1))
