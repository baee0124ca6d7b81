"""BERT (arXiv 1810.04805): the model all others here are measured against.

Shapes: B batch, S sequence, W width (768 or 1024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from pocketbert.model.architecture import Architecture, HeadForm, HeadKind
from pocketbert.model.block import Block
from pocketbert.model.config import Config, TableConfig, check_heads
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import Pooler, initialise


@dataclass(frozen=True, kw_only=True)
class BertConfig(TableConfig):
    """The defaults are BERT-base, uncased."""

    model_type: ClassVar[str] = "bert"

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    type_vocab_size: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self, "hidden_size", self.hidden_size)


class Embeddings(nn.Module):
    """Word, position and segment, added and normalised."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

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
        x = x + (self.segment.weight[0] if segments is None else self.segment(segments))
        output: Tensor = self.dropout(self.norm(x))
        return output


def build(config: BertConfig, pooler: bool) -> Encoder:
    encoder = Encoder(
        config,
        Embeddings(config),
        (Block(config) for _ in range(config.num_hidden_layers)),
        Pooler(config.hidden_size, dense=True) if pooler else None,
    )
    initialise(encoder, config.initializer_range)
    return encoder


def names(config: Config) -> dict[str, str]:
    """Our module names to Hugging Face's."""
    table = {
        "embeddings.word": "embeddings.word_embeddings",
        "embeddings.position": "embeddings.position_embeddings",
        "embeddings.segment": "embeddings.token_type_embeddings",
        "embeddings.norm": "embeddings.LayerNorm",
        "pooler.dense": "pooler.dense",
    }
    block = {
        "attention.query": "attention.self.query",
        "attention.key": "attention.self.key",
        "attention.value": "attention.self.value",
        "attention.output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "feed_forward.up": "intermediate.dense",
        "feed_forward.down": "output.dense",
        "feed_forward_norm": "output.LayerNorm",
    }
    for number in range(config.num_hidden_layers):
        table |= {
            f"blocks.{number}.{ours}": f"encoder.layer.{number}.{theirs}" for ours, theirs in block.items()
        }
    return table


MASKED_LM = {
    "transform": "cls.predictions.transform.dense",
    "norm": "cls.predictions.transform.LayerNorm",
    "bias": "cls.predictions.bias",
    "extra": "cls.predictions.dense.weight",
}

HEADS: dict[HeadKind, HeadForm] = {
    "masked-lm": HeadForm("ForMaskedLM", MASKED_LM),
    "next-sentence": HeadForm("ForNextSentencePrediction", {"linear": "cls.seq_relationship"}),
    "pretraining": HeadForm(
        "ForPreTraining",
        {f"masked_lm.{ours}": theirs for ours, theirs in MASKED_LM.items()}
        | {"next_sentence.linear": "cls.seq_relationship"},
    ),
    "classification": HeadForm(
        "ForSequenceClassification", {"linear": "classifier"}, dropout="hidden_dropout_prob"
    ),
    "tags": HeadForm("ForTokenClassification", {"linear": "classifier"}, dropout="hidden_dropout_prob"),
    "question-answering": HeadForm("ForQuestionAnswering", {"linear": "qa_outputs"}),
    "choice": HeadForm("ForMultipleChoice", {"linear": "classifier"}, dropout="hidden_dropout_prob"),
}
TIED = {"cls.predictions.decoder.weight": "embeddings.word.weight", "cls.predictions.decoder.bias": "bias"}

ARCHITECTURE = Architecture(
    config=BertConfig, build=build, names=names, base="bert", classes="Bert", heads=HEADS, tied=TIED
)

PRESETS = {
    "bert-base": BertConfig(),
    "bert-large": BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    ),
    # TinyBERT (arXiv 1909.10351) is how they are trained; their shape is BERT's.
    "tinybert-4": BertConfig(hidden_size=312, num_hidden_layers=4, intermediate_size=1200),
    "tinybert-6": BertConfig(num_hidden_layers=6),
    "bert-nano": BertConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=128,
    ),
}
