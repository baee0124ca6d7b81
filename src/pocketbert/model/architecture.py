"""What the house knows of an architecture: how it is built and what Hugging Face calls its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor

from pocketbert.model.config import Config
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import Activation

HeadKind = Literal[
    "masked-lm",
    "permutation-lm",
    "next-sentence",
    "pretraining",
    "classification",
    "tags",
    "question-answering",
    "choice",
]


@dataclass(frozen=True)
class Summary:
    """How a head makes one vector of a text by itself: a token's feature map, a dense layer, an activation."""

    reads: Literal["first", "last"]
    activation: Activation
    dropout: Literal["after", "before and after"] = "after"


@dataclass(frozen=True)
class HeadForm:
    """One head of a family: what Hugging Face calls it, and the shape it has there."""

    suffix: str
    """How Hugging Face's class name goes on after the family's: `ForMaskedLM`."""
    names: Mapping[str, str]
    """Our names inside the head to Hugging Face's."""
    dropout: str | None = None
    """The config's field with the head's dropout."""
    summary: Summary | None = None
    """Where one vector for the text comes from; None: from the encoder's pooler."""
    activation: Activation | None = None
    """In front of the word table; None: the encoder's own."""
    narrow: bool = False
    """Whether the layer in front of the word table goes down to the table's width."""
    sentences: Literal["next", "order"] = "next"
    """What is learnt about two sentences in pre-training."""


@dataclass(frozen=True)
class Architecture:
    """One family of encoders. Everything that is special about it stands in its own file."""

    config: type[Config]
    build: Callable[[Any, bool], Encoder]
    """(config, with pooler) -> encoder with fresh weights."""
    names: Callable[[Any], dict[str, str]]
    """config -> our module names to Hugging Face's, for the encoder."""
    base: str
    """The prefix under which Hugging Face's task models hold the encoder."""
    classes: str
    """How Hugging Face's class names begin: `MobileBert` in `MobileBertForQuestionAnswering`."""
    heads: Mapping[HeadKind, HeadForm]
    tied: Mapping[str, str] = field(default_factory=dict)
    """Hugging Face's names of copies that some files carry, to ours of what they are copies of."""
    to_theirs: Callable[[Any, str, Tensor], Tensor] = lambda _config, _name, value: value
    """(config, our name, our tensor) -> the encoder's tensor as Hugging Face lays it out."""
    to_ours: Callable[[Any, str, Tensor], Tensor] = lambda _config, _name, value: value
    """The way back."""
