"""Attention that knows distances instead of positions (Transformer-XL, arXiv 1901.02860; XLNet, arXiv 1906.08237).

Shapes: B batch, S sequence, M memory, K = M + S keys, R = K + S distances, P targets, H heads, D head size, W width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.model.layers import attend, keep_columns, keep_rows, rows_of_heads


@dataclass(frozen=True)
class View:
    """What one stream may look at, and where its tokens stand."""

    bias: Tensor | None  # (B, 1, 1 or S, K)
    seeing: Tensor | None = None  # (B, 1, 1 or S, 1): 0 where there is nothing to look at
    places: Tensor | None = None  # (B, P, S): 1 where a target stands; without it, everywhere


@dataclass(frozen=True)
class Surroundings:
    """What all blocks know of a batch besides its feature maps."""

    distances: Tensor  # (R, W): from K down to 1 - S, as waves
    elsewhere: Tensor | None  # (B, 1, S, K): is the key in another segment?
    views: tuple[View, ...]  # one a stream


class RelativeAttention(nn.Module):
    """Attention by content, distance and segment (XLNet, sections 2.3 to 2.5)."""

    def __init__(self, width: int, heads: int, *, dropout: float) -> None:
        super().__init__()
        self.head_size = width // heads
        self.kept_heads = tuple(range(heads))  # of the original ones; pruning shortens it
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.distance = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, self.head_size))
        self.distance_bias = nn.Parameter(torch.zeros(heads, self.head_size))
        self.segment_bias = nn.Parameter(torch.zeros(heads, self.head_size))
        self.segment = nn.Parameter(torch.zeros(2, heads, self.head_size))  # here, elsewhere
        self.dropout = dropout

    def forward(
        self,
        streams: Sequence[Tensor],
        memory: Tensor | None,
        around: Surroundings,
        head_mask: Tensor | None,
        want_map: bool,
    ) -> list[tuple[Tensor, Tensor | None]]:
        """What each stream sees: the words (B, S, W), and the queries of targets (B, P, W) if there are any.

        All look at the words and the memory (B, M, W). `head_mask` (H) scales whole heads.
        """
        words = streams[0] if memory is None else torch.cat([memory, streams[0]], dim=1)  # (B, K, W)
        key, value = self._split(self.key(words)), self._split(self.value(words))  # (B, H, K, D)
        distance = self.distance(around.distances).view(-1, len(self.kept_heads), self.head_size)
        distance = distance.permute(1, 2, 0)  # (H, D, R)
        seen = []
        for stream, view in zip(streams, around.views, strict=True):
            query = self.query(stream)
            if view.places is not None:
                query = view.places.mT @ query  # (B, S, W)
            bias = self._bias(self._split(query), distance, key.shape[2], around.elsewhere, view.bias)
            context, attention_map = self._attend(self._split(query), key, value, bias, want_map)
            for scale in (view.seeing, None if head_mask is None else self._scale(head_mask)):
                if scale is not None:
                    context = context * scale
                    attention_map = None if attention_map is None else attention_map * scale
            merged = context.transpose(1, 2).flatten(2)  # (B, S, W)
            if view.places is not None:
                merged = view.places @ merged  # (B, P, W)
            seen.append((self.output(merged), attention_map))
        return seen

    def prune(self, heads: Sequence[int]) -> None:
        """Remove heads, named by their original index, for good."""
        kept, rows = rows_of_heads(self.kept_heads, heads, self.head_size)
        places = [self.kept_heads.index(head) for head in kept]
        for linear in (self.query, self.key, self.value, self.distance):
            keep_rows(linear, rows)
        keep_columns(self.output, rows)
        for name in ("content_bias", "distance_bias", "segment_bias"):
            setattr(self, name, nn.Parameter(self.get_parameter(name).detach()[places].clone()))
        self.segment = nn.Parameter(self.segment.detach()[:, places].clone())
        self.kept_heads = kept

    def pair_flops(self, length: int) -> int:
        """Content and weighted sum once a pair of tokens, distance twice: there are two directions.

        A distance goes through a linear layer as a token does, and there are twice as many of them, too.
        """
        width = self.head_size * len(self.kept_heads)
        return 8 * length * length * width + 2 * length * width * self.distance.in_features

    def _bias(
        self, query: Tensor, distance: Tensor, keys: int, elsewhere: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The scores by distance and by segment, with what must not be seen far below them: (B, H, S, K)."""
        scores = shifted((query + self.distance_bias.unsqueeze(1)) @ distance, keys)
        if elsewhere is not None:
            both = (query + self.segment_bias.unsqueeze(1)) @ self.segment.permute(1, 2, 0)  # (B, H, S, 2)
            scores = scores + torch.where(elsewhere, both[..., 1:], both[..., :1])
        scores = scores / math.sqrt(self.head_size)
        return scores if bias is None else scores + bias

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, want_map: bool
    ) -> tuple[Tensor, Tensor | None]:
        query = query + self.content_bias.unsqueeze(1)
        dropout = self.dropout if self.training else 0.0
        if not want_map:
            return attend(query, key, value, bias, dropout), None  # (B, H, S, D)
        probabilities = (query @ key.mT / math.sqrt(self.head_size) + bias).softmax(dim=-1)  # (B, H, S, K)
        return F.dropout(probabilities, dropout) @ value, probabilities

    def _scale(self, head_mask: Tensor) -> Tensor:
        return head_mask[list(self.kept_heads)].unsqueeze(-1).unsqueeze(-1)  # (H, 1, 1)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], -1, self.head_size).transpose(1, 2)


def shifted(scores: Tensor, keys: int) -> Tensor:
    """Scores by distance (B, H, S, R) as scores by key (B, H, S, K).

    Row i of the scores starts i places further left than the row above it, so that the rows, laid end to end and cut
    one distance shorter, fall into place.
    """
    batch, heads, length, _ = scores.shape
    flat = scores.flatten(2)[:, :, length:]
    return flat.reshape(batch, heads, length, -1)[..., :keys]


def waves(length: int, keys: int, width: int, *, clamp: int, like: Tensor) -> Tensor:
    """Sines and cosines of the distances from `keys` down to 1 - `length`: (R, W). Computed in single precision."""
    distances = torch.arange(keys, -length, -1, device=like.device).to(torch.float32)
    if clamp > 0:
        distances = distances.clamp(-clamp, clamp)
    steps = torch.arange(0, width, 2, device=like.device).to(torch.float32)
    angles = distances.unsqueeze(1) * (1 / torch.pow(10000, steps / width))
    return torch.cat([angles.sin(), angles.cos()], dim=1).to(like.dtype)
