"""What the house knows of an architecture: how it is built and what Hugging Face calls its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pocketbert.model.config import Config
from pocketbert.model.encoder import Encoder

HeadKind = Literal[
    "masked-lm", "next-sentence", "pretraining", "classification", "tags", "question-answering", "choice"
]


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
    heads: Mapping[HeadKind, Mapping[str, str]]
    """Head -> our names inside the head to Hugging Face's."""
