"""MobileBERT and its teacher IB-BERT (arXiv 2004.02984): one block, four layouts.

Shapes: B batch, S sequence, E embedding width (128), W feature-map width (512, between blocks),
N narrow width inside a block (128; in the teacher it is the wide one, 1024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from pocketbert.errors import ConfigError
from pocketbert.model.architecture import Architecture
from pocketbert.model.bert import HEADS, TIED
from pocketbert.model.config import TableConfig, check_heads
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import (
    Activation,
    FeedForward,
    Normalization,
    Pooler,
    SelfAttention,
    initialise,
    norm,
)

AttentionInput = Literal["shared", "bottleneck", "block"]


@dataclass(frozen=True, kw_only=True)
class MobileBertConfig(TableConfig):
    """The defaults are Google's MobileBERT.

    `attention_input` says what queries, keys and values read: `shared` is MobileBERT (queries and keys share a
    bottleneck of their own, values read the feature map), `bottleneck` is MobileBERT-tiny (all three read the block's
    bottleneck), `block` is IB-BERT (all three read the feature map). `trigram_padding="reference"` lets the trigram
    read padding as the reference implementations do; it is there for comparison only.
    """

    model_type: ClassVar[str] = "mobilebert"

    vocab_size: int = 30522
    embedding_size: int = 128
    hidden_size: int = 512
    intra_bottleneck_size: int = 128
    intermediate_size: int = 512
    num_hidden_layers: int = 24
    num_attention_heads: int = 4
    num_feedforward_networks: int = 4
    type_vocab_size: int = 2
    attention_input: AttentionInput = "shared"
    normalization_type: Normalization = "no_norm"
    hidden_act: Activation = "relu"
    hidden_dropout_prob: float = 0.0
    trigram_input: bool = True
    trigram_padding: Literal["masked", "reference"] = "masked"
    classifier_activation: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self, "intra_bottleneck_size", self.intra_bottleneck_size)

    @classmethod
    def from_hf(cls, data: Mapping[str, Any]) -> MobileBertConfig:
        if data.get("use_bottleneck") is False:
            raise ConfigError(
                "MobileBertConfig: use_bottleneck is false; without bottlenecks it is a BERT, use model_type 'bert'"
            )
        own = dict(data)
        own.setdefault("classifier_activation", True)  # what transformers assumes when the file is silent
        if data.get("use_bottleneck_attention"):
            own["attention_input"] = "bottleneck"
        else:
            own["attention_input"] = "shared" if data.get("key_query_shared_bottleneck", True) else "block"
        return super().from_hf(own)

    def to_hf(self) -> dict[str, Any]:
        data = super().to_hf()
        del data["attention_input"]
        return data | {
            "use_bottleneck": True,
            "use_bottleneck_attention": self.attention_input == "bottleneck",
            "key_query_shared_bottleneck": self.attention_input == "shared",
        }


class Embeddings(nn.Module):
    """Each position sees its word and both neighbours; then position and segment are added (section 3.4)."""

    def __init__(self, config: MobileBertConfig) -> None:
        super().__init__()
        reach = 3 if config.trigram_input else 1
        self.word = nn.Embedding(config.vocab_size, config.embedding_size)
        self.transform = nn.Linear(reach * config.embedding_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = norm(config.normalization_type, config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.trigram = config.trigram_input
        self.mask_padding = config.trigram_padding == "masked"

    def forward(
        self,
        words: Tensor,
        mask: Tensor,
        segments: Tensor | None,
        positions: Tensor | None,
        _ids: Tensor | None,
    ) -> Tensor:
        if self.trigram:
            if self.mask_padding:
                words = words * mask.unsqueeze(-1).to(words.dtype)
            edge = words.new_zeros(words.shape[0], 1, words.shape[2])
            following = torch.cat([words[:, 1:], edge], dim=1)
            previous = torch.cat([edge, words[:, :-1]], dim=1)
            words = torch.cat([following, words, previous], dim=2)  # (B, S, 3 E), in this order
        length = words.shape[1]
        x = self.transform(words)  # (B, S, W)
        x = x + (self.position.weight[:length] if positions is None else self.position(positions))
        x = x + (self.segment.weight[0] if segments is None else self.segment(segments))
        output: Tensor = self.dropout(self.norm(x))
        return output


class Bottleneck(nn.Module):
    """A linear projection and a norm: from the feature map into the block."""

    def __init__(self, config: MobileBertConfig) -> None:
        super().__init__()
        self.linear = nn.Linear(config.hidden_size, config.intra_bottleneck_size)
        self.norm = norm(config.normalization_type, config.intra_bottleneck_size, config.layer_norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.norm(self.linear(x))
        return output


class Block(nn.Module):
    """Into the bottleneck, attention, stacked feed-forward networks, and out again (figure 1 of the paper)."""

    def __init__(self, config: MobileBertConfig) -> None:
        super().__init__()
        narrow, wide = config.intra_bottleneck_size, config.hidden_size
        kind, eps = config.normalization_type, config.layer_norm_eps
        self.attention_input = config.attention_input
        self.bottleneck = Bottleneck(config)
        self.attention_bottleneck = Bottleneck(config) if config.attention_input == "shared" else None
        self.attention = SelfAttention(
            narrow,
            config.num_attention_heads,
            query_width=wide if config.attention_input == "block" else narrow,
            value_width=narrow if config.attention_input == "bottleneck" else wide,
            dropout=config.attention_probs_dropout_prob,
        )
        self.attention_norm = norm(kind, narrow, eps)
        count = config.num_feedforward_networks
        self.feed_forward = nn.ModuleList(
            FeedForward(narrow, config.intermediate_size, config.hidden_act) for _ in range(count)
        )
        self.feed_forward_norm = nn.ModuleList(norm(kind, narrow, eps) for _ in range(count))
        self.output = nn.Linear(narrow, wide)
        self.output_norm = norm(kind, wide, eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        feature_map: Tensor,
        bias: Tensor | None,
        head_mask: Tensor | None,
        want_map: bool,
    ) -> tuple[Tensor, Tensor | None]:
        x = self.bottleneck(feature_map)  # (B, S, N)
        query_input = value_input = x if self.attention_input == "bottleneck" else feature_map
        if self.attention_bottleneck is not None:
            query_input = self.attention_bottleneck(feature_map)
        attended, attention_map = self.attention(query_input, value_input, bias, head_mask, want_map=want_map)
        x = self.attention_norm(attended + x)
        for feed_forward, feed_forward_norm in zip(self.feed_forward, self.feed_forward_norm, strict=True):
            x = feed_forward_norm(feed_forward(x) + x)
        return self.output_norm(self.dropout(self.output(x)) + feature_map), attention_map  # (B, S, W)


def build(config: MobileBertConfig, pooler: bool) -> Encoder:
    encoder = Encoder(
        config,
        Embeddings(config),
        (Block(config) for _ in range(config.num_hidden_layers)),
        Pooler(config.hidden_size, dense=config.classifier_activation) if pooler else None,
    )
    initialise(encoder, config.initializer_range)
    return encoder


def names(config: MobileBertConfig) -> dict[str, str]:
    """Our module names to Hugging Face's."""
    table = {
        "embeddings.word": "embeddings.word_embeddings",
        "embeddings.position": "embeddings.position_embeddings",
        "embeddings.segment": "embeddings.token_type_embeddings",
        "embeddings.transform": "embeddings.embedding_transformation",
        "embeddings.norm": "embeddings.LayerNorm",
        "pooler.dense": "pooler.dense",
    }
    block = {
        "bottleneck.linear": "bottleneck.input.dense",
        "bottleneck.norm": "bottleneck.input.LayerNorm",
        "attention_bottleneck.linear": "bottleneck.attention.dense",
        "attention_bottleneck.norm": "bottleneck.attention.LayerNorm",
        "attention.query": "attention.self.query",
        "attention.key": "attention.self.key",
        "attention.value": "attention.self.value",
        "attention.output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "output": "output.bottleneck.dense",
        "output_norm": "output.bottleneck.LayerNorm",
    }
    last = config.num_feedforward_networks - 1
    for index in range(config.num_feedforward_networks):
        theirs = "" if index == last else f"ffn.{index}."  # their last feed-forward network carries no number
        block[f"feed_forward.{index}.up"] = f"{theirs}intermediate.dense"
        block[f"feed_forward.{index}.down"] = f"{theirs}output.dense"
        block[f"feed_forward_norm.{index}"] = f"{theirs}output.LayerNorm"
    for number in range(config.num_hidden_layers):
        table |= {
            f"blocks.{number}.{ours}": f"encoder.layer.{number}.{theirs}" for ours, theirs in block.items()
        }
    return table


ARCHITECTURE = Architecture(
    config=MobileBertConfig,
    build=build,
    names=names,
    base="mobilebert",
    classes="MobileBert",
    heads=HEADS,
    tied=TIED,
)

PRESETS = {
    "mobilebert": MobileBertConfig(),
    "mobilebert-tiny": MobileBertConfig(num_feedforward_networks=2, attention_input="bottleneck"),
    "mobilebert-without-opt": MobileBertConfig(normalization_type="layer_norm", hidden_act="gelu"),
    "ib-bert-large": MobileBertConfig(
        intra_bottleneck_size=1024,
        intermediate_size=4096,
        num_feedforward_networks=1,
        attention_input="block",
        normalization_type="layer_norm",
        hidden_act="gelu",
        hidden_dropout_prob=0.1,
        classifier_activation=True,
    ),
    # A teacher and a student with the same feature maps (128) and heads, for experiments on two cores. With dropout
    # the teacher knows little but the frequency of words for hundreds of steps.
    "ib-bert-bench": MobileBertConfig(
        vocab_size=8192,
        embedding_size=64,
        hidden_size=128,
        intra_bottleneck_size=256,
        intermediate_size=1024,
        num_hidden_layers=6,
        num_feedforward_networks=1,
        attention_input="block",
        normalization_type="layer_norm",
        hidden_act="gelu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=128,
        classifier_activation=True,
    ),
    "mobilebert-bench": MobileBertConfig(
        vocab_size=8192,
        embedding_size=64,
        hidden_size=128,
        intra_bottleneck_size=32,
        intermediate_size=128,
        num_hidden_layers=6,
        max_position_embeddings=128,
    ),
    # Two blocks that run in milliseconds: for tests and for trying things out.
    "mobilebert-nano": MobileBertConfig(
        embedding_size=16,
        hidden_size=32,
        intra_bottleneck_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_feedforward_networks=2,
        max_position_embeddings=128,
    ),
    "ib-bert-nano": MobileBertConfig(
        embedding_size=16,
        hidden_size=32,
        intra_bottleneck_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_feedforward_networks=1,
        attention_input="block",
        normalization_type="layer_norm",
        hidden_act="gelu",
        hidden_dropout_prob=0.1,
        max_position_embeddings=128,
        classifier_activation=True,
    ),
}
