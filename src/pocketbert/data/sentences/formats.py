"""Which loss learns from which rows. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LossName = Literal["ranking", "cosent", "cosine", "softmax", "contrastive", "triplet", "distill"]


@dataclass(frozen=True)
class Format:
    """The columns of a table that a loss learns from, by the names they have unless others are given."""

    texts: tuple[str, ...]
    label: str | None = None
    kind: Literal["none", "class", "number", "score", "binary"] = "none"
    """What a label is: one of several classes, any number, one from -1 to 1, or 0 and 1."""
    more: bool = False
    """Whether further columns of texts may follow."""


FORMATS: dict[LossName, Format] = {
    "ranking": Format(("anchor", "positive"), more=True),
    "cosent": Format(("sentence1", "sentence2"), "score", "number"),
    "cosine": Format(("sentence1", "sentence2"), "score", "score"),
    "softmax": Format(("sentence1", "sentence2"), "label", "class"),
    "contrastive": Format(("sentence1", "sentence2"), "label", "binary"),
    "triplet": Format(("anchor", "positive", "negative")),
    "distill": Format(("text",)),
}
