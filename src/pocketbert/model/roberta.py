"""RoBERTa (arXiv 1907.11692): BERT's blocks, other positions, no next sentence, and a classifier of its own.

Positions count from the padding id + 1 and skip padding, so that the row of the table at the padding id is padding's:
514 rows are 512 tokens.

Shapes: B batch, S sequence, W width (768 or 1024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pocketbert.model.architecture import Architecture, HeadForm, HeadKind, Summary
from pocketbert.model.bert import names
from pocketbert.model.block import Block
from pocketbert.model.config import TableConfig, check_heads
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import Pooler, initialise


@dataclass(frozen=True, kw_only=True)
class RobertaConfig(TableConfig):
    """The defaults are RoBERTa-base."""

    model_type: ClassVar[str] = "roberta"
    assumed: ClassVar[Mapping[str, Any]] = {
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
    }

    vocab_size: int = 50265
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    max_position_embeddings: int = 514
    type_vocab_size: int = 1
    layer_norm_eps: float = 1e-5
    pad_token_id: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self, "hidden_size", self.hidden_size)
        self._check(
            self.longest >= 1,
            "max_position_embeddings",
            self.max_position_embeddings,
            f"more than {self.first_position}: positions count from pad_token_id + 1",
        )

    @property
    def first_position(self) -> int:
        return self.pad_token_id + 1


class Embeddings(nn.Module):
    """Word, position and segment, added and normalised.

    Where there is but one segment, as in every RoBERTa that was published, segments are not looked at.
    """

    def __init__(self, config: RobertaConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.padding = config.pad_token_id

    def forward(
        self,
        words: Tensor,
        _mask: Tensor,
        segments: Tensor | None,
        positions: Tensor | None,
        ids: Tensor | None,
    ) -> Tensor:
        if positions is not None:
            x = words + self.position(positions)
        elif ids is not None:
            x = words + self.position(count_positions(ids, self.padding))
        else:  # which vectors are padding cannot be seen
            first = self.padding + 1
            x = words + self.position.weight[first : first + words.shape[1]]
        single = segments is None or self.segment.num_embeddings == 1
        x = x + (self.segment.weight[0] if single else self.segment(segments))
        output: Tensor = self.dropout(self.norm(x))
        return output


def count_positions(ids: Tensor, padding: int) -> Tensor:
    """Tokens counted from the padding id + 1, wherever in a row (B, S) padding stands; padding gets its own id."""
    real = (ids != padding).to(torch.long)
    return real.cumsum(dim=1) * real + padding


def build(config: RobertaConfig, pooler: bool) -> Encoder:
    encoder = Encoder(
        config,
        Embeddings(config),
        (Block(config) for _ in range(config.num_hidden_layers)),
        Pooler(config.hidden_size, dense=True) if pooler else None,
    )
    initialise(encoder, config.initializer_range)
    return encoder


HEADS: dict[HeadKind, HeadForm] = {
    "masked-lm": HeadForm(
        "ForMaskedLM",
        {"transform": "lm_head.dense", "norm": "lm_head.layer_norm", "bias": "lm_head.bias"},
        activation="gelu",  # whatever the encoder's is
    ),
    "classification": HeadForm(
        "ForSequenceClassification",
        {"text.dense": "classifier.dense", "linear": "classifier.out_proj"},
        dropout="hidden_dropout_prob",
        summary=Summary("first", "tanh", dropout="before and after"),
    ),
    "tags": HeadForm("ForTokenClassification", {"linear": "classifier"}, dropout="hidden_dropout_prob"),
    "question-answering": HeadForm("ForQuestionAnswering", {"linear": "qa_outputs"}),
    "choice": HeadForm("ForMultipleChoice", {"linear": "classifier"}, dropout="hidden_dropout_prob"),
}

ARCHITECTURE = Architecture(
    config=RobertaConfig,
    build=build,
    names=names,
    base="roberta",
    classes="Roberta",
    heads=HEADS,
    tied={"lm_head.decoder.weight": "embeddings.word.weight", "lm_head.decoder.bias": "bias"},
)

PRESETS = {
    "roberta-base": RobertaConfig(),
    "roberta-large": RobertaConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    ),
    "roberta-nano": RobertaConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=130,
    ),
}
