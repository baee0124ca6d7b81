"""ALBERT (arXiv 1909.11942): small word vectors, and blocks that share their weights.

Blocks come in groups. A group holds one block or a few that follow each other, and is gone through as often as its
share of the layers; between groups nothing is shared. Small in memory, not in work: every block is computed.

Shapes: B batch, S sequence, E embedding width (128), W width (768 or 1024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from pocketbert.model.architecture import Architecture, HeadForm, HeadKind
from pocketbert.model.block import Block
from pocketbert.model.config import TableConfig, check_heads
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import Activation, Pooler, initialise


@dataclass(frozen=True, kw_only=True)
class AlbertConfig(TableConfig):
    """The defaults are ALBERT-base, version 2."""

    model_type: ClassVar[str] = "albert"
    assumed: ClassVar[Mapping[str, Any]] = {
        "hidden_size": 4096,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
    }

    vocab_size: int = 30000
    embedding_size: int = 128
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_hidden_groups: int = 1
    inner_group_num: int = 1
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    type_vocab_size: int = 2
    hidden_act: Activation = "gelu_new"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    classifier_dropout_prob: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self, "hidden_size", self.hidden_size)
        self._check(self.inner_group_num >= 1, "inner_group_num", self.inner_group_num, "1 or more")
        self._check(
            1 <= self.num_hidden_groups <= self.num_hidden_layers,
            "num_hidden_groups",
            self.num_hidden_groups,
            f"from 1 to num_hidden_layers, {self.num_hidden_layers}",
        )

    def group(self, layer: int) -> int:
        """Which group a layer goes through."""
        return int(layer / (self.num_hidden_layers / self.num_hidden_groups))


class Embeddings(nn.Module):
    """Word, position and segment, added and normalised while narrow, then brought to the blocks' width."""

    def __init__(self, config: AlbertConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.embedding_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.embedding_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.embedding_size)
        self.norm = nn.LayerNorm(config.embedding_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.transform = nn.Linear(config.embedding_size, config.hidden_size)

    def forward(
        self,
        words: Tensor,
        _mask: Tensor,
        segments: Tensor | None,
        positions: Tensor | None,
        _ids: Tensor | None,
    ) -> Tensor:
        length = words.shape[1]
        x = words + (self.position.weight[:length] if positions is None else self.position(positions))
        x = x + (self.segment.weight[0] if segments is None else self.segment(segments))  # (B, S, E)
        output: Tensor = self.transform(self.dropout(self.norm(x)))  # (B, S, W)
        return output


def build(config: AlbertConfig, pooler: bool) -> Encoder:
    groups = [[Block(config) for _ in range(config.inner_group_num)] for _ in range(config.num_hidden_groups)]
    encoder = Encoder(
        config,
        Embeddings(config),
        (block for layer in range(config.num_hidden_layers) for block in groups[config.group(layer)]),
        Pooler(config.hidden_size, dense=True) if pooler else None,
    )
    initialise(encoder, config.initializer_range)
    return encoder


def names(config: AlbertConfig) -> dict[str, str]:
    """Our module names to Hugging Face's; shared blocks go by the name of the first."""
    table = {
        "embeddings.word": "embeddings.word_embeddings",
        "embeddings.position": "embeddings.position_embeddings",
        "embeddings.segment": "embeddings.token_type_embeddings",
        "embeddings.norm": "embeddings.LayerNorm",
        "embeddings.transform": "encoder.embedding_hidden_mapping_in",
        "pooler.dense": "pooler",
    }
    block = {
        "attention.query": "attention.query",
        "attention.key": "attention.key",
        "attention.value": "attention.value",
        "attention.output": "attention.dense",
        "attention_norm": "attention.LayerNorm",
        "feed_forward.up": "ffn",
        "feed_forward.down": "ffn_output",
        "feed_forward_norm": "full_layer_layer_norm",
    }
    layers = range(config.num_hidden_layers)
    for group in range(config.num_hidden_groups):
        first = next(layer for layer in layers if config.group(layer) == group) * config.inner_group_num
        for inner in range(config.inner_group_num):
            theirs = f"encoder.albert_layer_groups.{group}.albert_layers.{inner}"
            table |= {f"blocks.{first + inner}.{part}": f"{theirs}.{name}" for part, name in block.items()}
    return table


MASKED_LM = {
    "transform": "predictions.dense",
    "norm": "predictions.LayerNorm",
    "bias": "predictions.bias",
}

HEADS: dict[HeadKind, HeadForm] = {
    "masked-lm": HeadForm("ForMaskedLM", MASKED_LM, narrow=True),
    "pretraining": HeadForm(
        "ForPreTraining",
        {f"masked_lm.{ours}": theirs for ours, theirs in MASKED_LM.items()}
        | {"sentence_order.linear": "sop_classifier.classifier"},
        dropout="classifier_dropout_prob",
        narrow=True,
        sentences="order",
    ),
    "classification": HeadForm(
        "ForSequenceClassification", {"linear": "classifier"}, dropout="classifier_dropout_prob"
    ),
    "tags": HeadForm("ForTokenClassification", {"linear": "classifier"}, dropout="classifier_dropout_prob"),
    "question-answering": HeadForm("ForQuestionAnswering", {"linear": "qa_outputs"}),
    "choice": HeadForm("ForMultipleChoice", {"linear": "classifier"}, dropout="classifier_dropout_prob"),
}

ARCHITECTURE = Architecture(
    config=AlbertConfig,
    build=build,
    names=names,
    base="albert",
    classes="Albert",
    heads=HEADS,
    tied={"predictions.decoder.weight": "embeddings.word.weight", "predictions.decoder.bias": "bias"},
)

PRESETS = {
    "albert-base": AlbertConfig(),
    "albert-large": AlbertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    ),
    "albert-nano": AlbertConfig(
        embedding_size=16,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=128,
    ),
}
