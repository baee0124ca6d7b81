"""Texts to rows of tokens with their labels, compact enough to keep a whole training set in memory."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pocketbert.tasks.classify.examples import Example, Label
from pocketbert.text import Tokenizer
from pocketbert.text.layout import BERT, Layout

Integers: TypeAlias = NDArray[np.int32]
logger = logging.getLogger("pocketbert")


@dataclass(frozen=True, eq=False, slots=True)
class Feature:
    """One text or two in the model's frame. S positions."""

    input_ids: Integers  # (S,)
    token_type_ids: NDArray[np.uint8]  # (S,)
    label: Label | None = None
    truncated: int = 0
    """How many tokens did not fit."""
    layout: Layout = BERT

    def __len__(self) -> int:
        return len(self.input_ids)


def featurise(examples: Iterable[Example], tokenizer: Tokenizer, *, max_length: int) -> list[Feature]:
    """A row for each example; of texts that are too long the end is cut, and how many were is logged."""
    features = [feature_of(example, tokenizer, max_length=max_length) for example in examples]
    say_what_was_cut(features, max_length)
    return features


def feature_of(example: Example, tokenizer: Tokenizer, *, max_length: int) -> Feature:
    encoding = tokenizer.encode(example.text, example.pair, max_length=max_length)
    return Feature(
        np.array(encoding.ids, dtype=np.int32),
        np.array(encoding.type_ids, dtype=np.uint8),
        example.label,
        encoding.truncated,
        tokenizer.layout,
    )


def say_what_was_cut(features: Sequence[Feature], max_length: int) -> None:
    """Log how many texts are longer than what the model is given to read."""
    cut = [feature.truncated for feature in features if feature.truncated]
    if cut:
        logger.warning(
            "%d of %d texts have more than %d tokens, the longest %d: their ends are not read (max_seq_length)",
            len(cut),
            len(features),
            max_length,
            max_length + max(cut),
        )
