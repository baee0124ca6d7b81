"""The parts that two or more architectures share today: norms, attention, feed-forward, pooler.

Shapes: B batch, S sequence, H heads, D head size, W width of the layer's own state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert.errors import InputError

Activation = Literal["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "relu6", "silu", "tanh"]
Normalization = Literal["layer_norm", "no_norm"]


def _tanh_gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": _tanh_gelu,  # what Google's own BERT code calls gelu
    "gelu_pytorch_tanh": _tanh_gelu,
    "relu": F.relu,
    "relu6": F.relu6,
    "silu": F.silu,
    "tanh": torch.tanh,
}
assert set(ACTIVATIONS) == set(get_args(Activation))  # noqa: S101 -- one list, said twice for the type checker


@dataclass(frozen=True)
class EncoderOutput:
    """What an encoder makes of a batch.

    `feature_maps` (the embeddings' output first, then every block's) and `attentions` are there when asked for.
    `mask` is the attention mask as it was used, so that a head can tell real tokens from padding.
    """

    last: Tensor  # (B, S, W)
    mask: Tensor  # (B, S)
    pooled: Tensor | None = None  # (B, W)
    feature_maps: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None  # a block each: (B, H, S, S)


class NoNorm(nn.Module):
    """`weight * x + bias` per channel: layer normalisation without the statistics (MobileBERT, section 3.2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addcmul(self.bias, x, self.weight)


def norm(kind: Normalization, width: int, eps: float) -> nn.Module:
    return NoNorm(width) if kind == "no_norm" else nn.LayerNorm(width, eps=eps)


class FeedForward(nn.Module):
    """Two linear layers with an activation between them; the residual and the norm are the caller's."""

    def __init__(self, width: int, inner: int, activation: Activation, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.down(self.dropout(self.activation(self.up(x))))
        return output


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: float) -> Tensor:
    """Torch's fused attention; on a processor always in fp32, where bf16 takes three times as long backwards."""
    if query.device.type != "cpu" or not torch.is_autocast_enabled("cpu"):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropout)
    with torch.autocast("cpu", enabled=False):
        mask = None if bias is None else bias.float()
        return attend(query.float(), key.float(), value.float(), mask, dropout)


class SelfAttention(nn.Module):
    """Multi-head attention whose queries and values may read different inputs, as MobileBERT's do.

    The attention map is computed only when somebody asks for it; otherwise torch's fused kernel runs.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        query_width: int | None = None,
        value_width: int | None = None,
        dropout: float,
    ) -> None:
        super().__init__()
        self.head_size = width // heads
        self.kept_heads = tuple(range(heads))  # of the original ones; pruning shortens it
        self.original_heads = heads
        self.query = nn.Linear(query_width or width, width)
        self.key = nn.Linear(query_width or width, width)
        self.value = nn.Linear(value_width or width, width)
        self.output = nn.Linear(width, width)
        self.dropout = dropout

    def forward(
        self,
        query_input: Tensor,
        value_input: Tensor,
        bias: Tensor | None,
        head_mask: Tensor | None = None,
        *,
        want_map: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """`bias` (B, 1, 1, S) is added to the scores; `head_mask` (H) or (B, H, 1, 1) scales whole heads."""
        query = self._split(self.query(query_input))  # (B, H, S, D)
        key = self._split(self.key(query_input))
        value = self._split(self.value(value_input))
        dropout = self.dropout if self.training else 0.0
        probabilities = None
        if want_map:
            scores = query @ key.mT / math.sqrt(self.head_size)  # (B, H, S, S)
            if bias is not None:
                scores = scores + bias
            probabilities = scores.softmax(dim=-1)
            context = F.dropout(probabilities, dropout) @ value
        else:
            context = attend(query, key, value, bias, dropout)
        if head_mask is not None:
            scale = head_mask[..., list(self.kept_heads)].unsqueeze(-1).unsqueeze(-1)  # (H, 1, 1)
            context = context * scale
            probabilities = None if probabilities is None else probabilities * scale
        merged = context.transpose(1, 2).flatten(2)  # (B, S, W)
        return self.output(merged), probabilities

    def prune(self, heads: Sequence[int]) -> None:
        """Remove heads, named by their original index, for good."""
        self.kept_heads, rows = rows_of_heads(self.kept_heads, heads, self.head_size)
        for linear in (self.query, self.key, self.value):
            keep_rows(linear, rows)
        keep_columns(self.output, rows)

    def pair_flops(self, length: int) -> int:
        """Operations of the scores and of the weighted sum: once a pair of tokens each."""
        return 4 * length * length * self.head_size * len(self.kept_heads)

    def _split(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        return x.view(batch, length, len(self.kept_heads), self.head_size).transpose(1, 2)


def rows_of_heads(
    kept_heads: Sequence[int], gone: Sequence[int], head_size: int
) -> tuple[tuple[int, ...], Tensor]:
    """The heads that are left of those that were kept, and their rows in a projection."""
    left = tuple(head for head in kept_heads if head not in set(gone))
    if not left:
        raise InputError(
            f"pruning heads {sorted(set(gone))} would leave a layer without a head; "
            f"keep at least one of its {len(kept_heads)}"
        )
    places = torch.tensor([list(kept_heads).index(head) for head in left])
    return left, (places.unsqueeze(1) * head_size + torch.arange(head_size)).flatten()


def keep_rows(linear: nn.Linear, rows: Tensor) -> None:
    """Forget all other outputs of a linear layer."""
    linear.weight = nn.Parameter(linear.weight.detach()[rows].clone())
    if linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.detach()[rows].clone())
    linear.out_features = len(rows)


def keep_columns(linear: nn.Linear, columns: Tensor) -> None:
    """Forget all other inputs of a linear layer."""
    linear.weight = nn.Parameter(linear.weight.detach()[:, columns].clone())
    linear.in_features = len(columns)


class Pooler(nn.Module):
    """The first token's last feature map, through a dense layer and tanh where the model has them."""

    def __init__(self, width: int, *, dense: bool) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width) if dense else None

    def forward(self, last: Tensor) -> Tensor:
        first = last[:, 0]
        return first if self.dense is None else torch.tanh(self.dense(first))


def attention_bias(mask: Tensor, dtype: torch.dtype) -> Tensor | None:
    """0 where a key may be looked at, the most negative number where not: (B, S) -> (B, 1, 1, S).

    Nothing when no token is masked, which lets the fused kernel take its fastest path.
    """
    if mask.device.type == "cpu" and not torch.compiler.is_compiling() and bool(mask.all()):
        return None
    bias = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return bias.masked_fill(mask == 0, torch.finfo(dtype).min)[:, None, None, :]


def initialise(module: nn.Module, deviation: float) -> None:
    """BERT's initialisation: truncated normal weights, zero biases, norms at identity."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.trunc_normal_(part.weight, std=deviation, a=-2 * deviation, b=2 * deviation)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
