"""BERT's block, which most of its relatives share.

Shapes: B batch, S sequence, W width.
"""

from __future__ import annotations

from torch import Tensor, nn

from pocketbert.model.config import TableConfig
from pocketbert.model.layers import FeedForward, SelfAttention


class Block(nn.Module):
    """Attention and a feed-forward network, each with dropout, residual and norm."""

    def __init__(self, config: TableConfig) -> None:
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        self.attention = SelfAttention(
            width, config.num_attention_heads, dropout=config.attention_probs_dropout_prob
        )
        self.attention_norm = nn.LayerNorm(width, eps=eps)
        self.feed_forward = FeedForward(width, config.intermediate_size, config.hidden_act)
        self.feed_forward_norm = nn.LayerNorm(width, eps=eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        x: Tensor,
        bias: Tensor | None,
        head_mask: Tensor | None,
        want_map: bool,
    ) -> tuple[Tensor, Tensor | None]:
        attended, attention_map = self.attention(x, x, bias, head_mask, want_map=want_map)
        x = self.attention_norm(self.dropout(attended) + x)
        return self.feed_forward_norm(self.dropout(self.feed_forward(x)) + x), attention_map  # (B, S, W)
