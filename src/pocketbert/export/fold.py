"""Fewer operations, the same numbers: what an affine map leaves to its neighbours is done there, once and for all.

NoNorm is `weight * x + bias` per channel, so along a residual stream x ← norm(f(x) + x) every channel is only scaled
and shifted. Write x = scale · y + shift and let y run through the network instead: y ← f(…) / scale + y. The layers
that read the stream take `scale` into their columns and `shift` into their bias, those that write to it divide their
rows by `scale`, and all that is left of the norm is the addition. A norm's weight of zero cannot be divided by: such
a channel keeps its multiplication.

In attention the scale goes into the queries; a key's bias adds the same number to all scores of a query, which softmax
does not see; a value's bias goes through it unchanged and becomes a part of the output's. Layers that read the same
input become one.

All of it is done in double precision. A folded model takes ids, mask and segments and gives what the model gave; its
inner feature maps are the y above, and it has no attention maps to show.

Shapes: B batch, S sequence, H heads, D head size, W feature-map width, N narrow width inside a block.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.heads import MaskedLMHead, Model, SpanHead, TagHead
from pocketbert.model import Encoder, mobilebert
from pocketbert.model.block import Block
from pocketbert.model.layers import FeedForward, NoNorm, SelfAttention

LEAST, MOST = 2.0**-40, 2.0**40  # scales beyond these, zero among them, are not divided by
Kind = TypeVar("Kind", bound=nn.Module)


@torch.no_grad()
def fold(model: Kind, unit: Tensor | None = None) -> Kind:
    """The same model in fewer operations, for inference; where there is nothing to fold, a plain copy.

    `unit` (W,) are the units in which feature maps are computed where norms fold: y is smaller by it. Exact arithmetic
    does not care, half precision does.
    """
    dtype = next(model.parameters()).dtype
    folded = copy.deepcopy(model).eval().double()
    encoder = folded.encoder if isinstance(folded, Model) else folded
    blocks = list(encoder.blocks) if isinstance(encoder, Encoder) else []
    for block in blocks:
        if isinstance(block, Block) and not isinstance(
            block.attention, JoinedAttention
        ):  # shared blocks come again
            block.attention = JoinedAttention(block.attention)  # type: ignore[assignment]
    if isinstance(encoder, Encoder) and isinstance(encoder.embeddings, mobilebert.Embeddings):
        encoder.blocks = nn.ModuleList(
            FoldedBlock(block) for block in blocks if isinstance(block, mobilebert.Block)
        )
        if isinstance(encoder.embeddings.norm, NoNorm):
            _fold_streams(encoder, _sole_reader(folded), unit)
    return folded.to(dtype)


class FoldedBlock(nn.Module):
    """MobileBERT's block with one projection for all that reads the feature map.

    With the attention input `shared` these are x, the query input and the values, and queries and keys are then read
    together; with `bottleneck` x alone, from which queries, keys and values are read; with `block` all four at once.
    """

    def __init__(self, block: mobilebert.Block) -> None:
        super().__init__()
        attention = block.attention
        _fold_attention(attention)
        self.heads = len(attention.kept_heads)
        first, second = [block.bottleneck.linear], [attention.query, attention.key]
        self.bottleneck_norm = _absorbed(block.bottleneck.linear, block.bottleneck.norm)
        self.query_norm = None
        if block.attention_bottleneck is not None:
            shared = block.attention_bottleneck
            self.query_norm = _absorbed(shared.linear, shared.norm)
            first += [shared.linear, attention.value]
        elif block.attention_input == "block":
            first, second = [*first, *second, attention.value], []
        else:
            second.append(attention.value)
        self.read = _joined(first)
        self.read_sizes = [part.out_features for part in first]
        self.attend = _joined(second) if second else None
        self.attend_sizes = [part.out_features for part in second]
        self.context = attention.output
        self.attention_norm = block.attention_norm
        self.feed_forward = block.feed_forward
        self.feed_forward_norm = block.feed_forward_norm
        self.output = block.output
        self.output_norm = block.output_norm

    def forward(
        self, feature_map: Tensor, bias: Tensor | None, head_mask: Tensor | None, want_map: bool
    ) -> tuple[Tensor, None]:
        _refuse_maps(head_mask, want_map)
        x, *rest = self.read(feature_map).split(self.read_sizes, dim=-1)  # (B, S, N) each
        x = self.bottleneck_norm(x)
        if self.attend is not None:
            source = x if self.query_norm is None else self.query_norm(rest.pop(0))
            rest = [*self.attend(source).split(self.attend_sizes, dim=-1), *rest]
        query, key, value = rest
        x = self.attention_norm(self.context(_attend(query, key, value, bias, self.heads)) + x)
        for feed_forward, feed_forward_norm in zip(self.feed_forward, self.feed_forward_norm, strict=True):
            x = feed_forward_norm(feed_forward(x) + x)
        return self.output_norm(self.output(x) + feature_map), None  # (B, S, W)

    def networks(self) -> Iterator[tuple[nn.Linear, nn.Linear]]:
        """The two layers of each feed-forward network."""
        for network in self.feed_forward:
            assert isinstance(network, FeedForward)  # noqa: S101 -- for the type checker
            yield network.up, network.down


class JoinedAttention(nn.Module):
    """Self-attention whose queries, keys and values come out of one matrix."""

    def __init__(self, attention: SelfAttention) -> None:
        super().__init__()
        _fold_attention(attention)
        self.heads = len(attention.kept_heads)
        self.read = _joined([attention.query, attention.key, attention.value])
        self.output = attention.output

    def forward(
        self,
        x: Tensor,
        _same: Tensor,
        bias: Tensor | None,
        head_mask: Tensor | None = None,
        *,
        want_map: bool = False,
    ) -> tuple[Tensor, None]:
        _refuse_maps(head_mask, want_map)
        query, key, value = self.read(x).split([self.output.in_features] * 3, dim=-1)
        return self.output(_attend(query, key, value, bias, self.heads)), None


class Scale(nn.Module):
    """A factor per channel: what a norm leaves that cannot be folded away."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class _Stream:
    """A residual stream x = scale · y + shift, of which only y is computed."""

    def __init__(self, width: int, unit: Tensor | None = None) -> None:
        self.scale = torch.ones(width, dtype=torch.float64) if unit is None else unit.double()
        self.shift = torch.zeros(width, dtype=torch.float64)

    def feed(self, layer: nn.Linear) -> None:
        """Let a layer read y instead of x."""
        layer.bias.add_(layer.weight @ self.shift)
        layer.weight *= self.scale

    def take(self, layer: nn.Linear) -> None:
        """Let a layer write to y instead of x; its bias becomes a part of the shift."""
        layer.weight /= self.scale.unsqueeze(1)
        self.shift += layer.bias
        layer.bias = None  # type: ignore[assignment]

    def cross(self, norm: nn.Module) -> nn.Module:
        """Go through a norm; what is left of it is nothing, or a factor for channels that cannot be divided by."""
        assert isinstance(norm, NoNorm)  # noqa: S101 -- for the type checker
        scale = norm.weight * self.scale
        kept = (scale.abs() < LEAST) | (scale.abs() > MOST)
        self.shift = norm.weight * self.shift + norm.bias
        self.scale = torch.where(kept, 1.0, scale)
        return Scale(torch.where(kept, scale, 1.0)) if kept.any() else nn.Identity()

    def end(self) -> NoNorm:
        """Back to x."""
        norm = NoNorm(len(self.scale))
        norm.weight, norm.bias = nn.Parameter(self.scale), nn.Parameter(self.shift)
        return norm


def _fold_streams(encoder: Encoder, reader: nn.Linear | None, unit: Tensor | None) -> None:
    """Fold MobileBERT's NoNorms: one stream of feature maps through all blocks, and one within each.

    `reader` is the layer that reads the last feature map; without one, a norm at the end brings it back.
    """
    outer = _Stream(encoder.config.hidden_size, unit)
    _fold_embeddings(encoder.embeddings, outer.scale)  # type: ignore[arg-type]
    for block in encoder.blocks:
        assert isinstance(block, FoldedBlock)  # noqa: S101 -- for the type checker
        outer.feed(block.read)
        inner = _Stream(block.context.out_features)
        inner.take(block.context)
        block.attention_norm = inner.cross(block.attention_norm)
        for place, (up, down) in enumerate(block.networks()):
            inner.feed(up)
            inner.take(down)
            block.feed_forward_norm[place] = inner.cross(block.feed_forward_norm[place])
        inner.feed(block.output)
        outer.take(block.output)
        block.output_norm = outer.cross(block.output_norm)
        if block is encoder.blocks[-1] and reader is None:
            block.output_norm = nn.Sequential(block.output_norm, outer.end())
    if reader is not None:
        outer.feed(reader)


def _fold_embeddings(embeddings: mobilebert.Embeddings, unit: Tensor) -> None:
    """Fold the norm, and the projection's bias with it, into the tables: every token has exactly one segment."""
    norm, transform = embeddings.norm, embeddings.transform
    assert isinstance(norm, NoNorm)  # noqa: S101 -- for the type checker
    gain = norm.weight / unit
    embeddings.position.weight *= gain
    embeddings.segment.weight.copy_(gain * (embeddings.segment.weight + transform.bias) + norm.bias / unit)
    transform.weight *= gain.unsqueeze(1)
    transform.bias = None  # type: ignore[assignment]
    embeddings.norm = nn.Identity()


def _sole_reader(model: nn.Module) -> nn.Linear | None:
    """The linear layer of the head through which alone the last feature map is read, if there is one."""
    if not isinstance(model, Model) or model.encoder.pooler is not None:
        return None
    if isinstance(model.head, SpanHead | TagHead):
        return model.head.linear
    return model.head.transform if isinstance(model.head, MaskedLMHead) else None


def _fold_attention(attention: SelfAttention) -> None:
    for part in (attention.query.weight, attention.query.bias):
        part *= attention.head_size**-0.5
    attention.output.bias.add_(attention.output.weight @ attention.value.bias)
    nn.init.zeros_(attention.value.bias)
    nn.init.zeros_(attention.key.bias)


def _absorbed(layer: nn.Linear, norm: nn.Module) -> nn.Module:
    """Fold a NoNorm that follows a linear layer into it; returns what is left of the norm."""
    if not isinstance(norm, NoNorm):
        return norm
    layer.weight *= norm.weight.unsqueeze(1)
    layer.bias.copy_(norm.weight * layer.bias + norm.bias)
    return nn.Identity()


def _joined(parts: list[nn.Linear]) -> nn.Linear:
    """One linear layer for several that read the same input."""
    layer = nn.Linear(parts[0].in_features, sum(part.out_features for part in parts))
    layer.weight = nn.Parameter(torch.cat([part.weight for part in parts]))
    layer.bias = nn.Parameter(torch.cat([part.bias for part in parts]))
    return layer


def _attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, heads: int) -> Tensor:
    """Attention with queries that carry the scale already: three (B, S, N) -> (B, S, N)."""
    query, key, value = (
        part.view(*part.shape[:2], heads, -1).transpose(1, 2) for part in (query, key, value)
    )
    context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)  # (B, H, S, D)
    return context.transpose(1, 2).flatten(2)


def _refuse_maps(head_mask: Tensor | None, want_map: bool) -> None:
    if head_mask is not None or want_map:
        raise InputError(
            "a folded model takes no head mask and shows no attention maps; ask the model that it was folded from"
        )
