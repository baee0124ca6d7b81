"""DistilBERT (arXiv 1910.01108): half of BERT's blocks, without segments and without a pooler.

Shapes: B batch, S sequence, W width (768).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from pocketbert.model.architecture import Architecture, HeadForm, HeadKind, Summary
from pocketbert.model.block import Block
from pocketbert.model.config import TableConfig, check_heads
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import initialise

EPS = 1e-12  # of all norms; Hugging Face's config has no word for it


@dataclass(frozen=True, kw_only=True)
class DistilBertConfig(TableConfig):
    """The defaults are DistilBERT-base, uncased."""

    model_type: ClassVar[str] = "distilbert"
    renamed: ClassVar[Mapping[str, str]] = {
        "hidden_size": "dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "intermediate_size": "hidden_dim",
        "hidden_act": "activation",
        "hidden_dropout_prob": "dropout",
        "attention_probs_dropout_prob": "attention_dropout",
        "classifier_dropout_prob": "seq_classif_dropout",
        "span_dropout_prob": "qa_dropout",
    }

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 6
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    classifier_dropout_prob: float = 0.2
    span_dropout_prob: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self, "hidden_size", self.hidden_size)
        self._check(
            self.layer_norm_eps == EPS, "layer_norm_eps", self.layer_norm_eps, f"{EPS} in this family"
        )

    def to_hf(self) -> dict[str, Any]:
        data = super().to_hf()
        del data["layer_norm_eps"]
        return data


class Embeddings(nn.Module):
    """Word and position, added and normalised; segments are not looked at."""

    def __init__(self, config: DistilBertConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        words: Tensor,
        _mask: Tensor,
        _segments: Tensor | None,
        positions: Tensor | None,
        _ids: Tensor | None,
    ) -> Tensor:
        length = words.shape[1]
        x = words + (self.position.weight[:length] if positions is None else self.position(positions))
        output: Tensor = self.dropout(self.norm(x))
        return output


def build(config: DistilBertConfig, _pooler: bool) -> Encoder:
    blocks = (Block(config) for _ in range(config.num_hidden_layers))
    encoder = Encoder(config, Embeddings(config), blocks, None)
    initialise(encoder, config.initializer_range)
    return encoder


def names(config: DistilBertConfig) -> dict[str, str]:
    """Our module names to Hugging Face's."""
    table = {
        "embeddings.word": "embeddings.word_embeddings",
        "embeddings.position": "embeddings.position_embeddings",
        "embeddings.norm": "embeddings.LayerNorm",
    }
    block = {
        "attention.query": "attention.q_lin",
        "attention.key": "attention.k_lin",
        "attention.value": "attention.v_lin",
        "attention.output": "attention.out_lin",
        "attention_norm": "sa_layer_norm",
        "feed_forward.up": "ffn.lin1",
        "feed_forward.down": "ffn.lin2",
        "feed_forward_norm": "output_layer_norm",
    }
    for number in range(config.num_hidden_layers):
        table |= {
            f"blocks.{number}.{ours}": f"transformer.layer.{number}.{theirs}"
            for ours, theirs in block.items()
        }
    return table


SUMMARY = Summary("first", "relu")
CLASSIFIER = {"text.dense": "pre_classifier", "linear": "classifier"}

HEADS: dict[HeadKind, HeadForm] = {
    "masked-lm": HeadForm(
        "ForMaskedLM",
        {"transform": "vocab_transform", "norm": "vocab_layer_norm", "bias": "vocab_projector.bias"},
    ),
    "classification": HeadForm(
        "ForSequenceClassification", CLASSIFIER, dropout="classifier_dropout_prob", summary=SUMMARY
    ),
    "tags": HeadForm("ForTokenClassification", {"linear": "classifier"}, dropout="hidden_dropout_prob"),
    "question-answering": HeadForm(
        "ForQuestionAnswering", {"linear": "qa_outputs"}, dropout="span_dropout_prob"
    ),
    "choice": HeadForm("ForMultipleChoice", CLASSIFIER, dropout="classifier_dropout_prob", summary=SUMMARY),
}

ARCHITECTURE = Architecture(
    config=DistilBertConfig,
    build=build,
    names=names,
    base="distilbert",
    classes="DistilBert",
    heads=HEADS,
    tied={"vocab_projector.weight": "embeddings.word.weight"},
)

PRESETS = {
    "distilbert-base": DistilBertConfig(),
    "distilbert-nano": DistilBertConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=128,
    ),
}
