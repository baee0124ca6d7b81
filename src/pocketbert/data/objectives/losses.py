"""What a model loses on a batch of any objective, and how well it guesses.

Shapes: B batch, P words to guess, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from pocketbert.data.objectives.batches import NOT_GUESSED

LABELS = ("labels", "sentence_labels")


def inputs_of(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What a model takes of a batch: all but the labels."""
    return {name: value for name, value in batch.items() if name not in LABELS}


def word_logits(output: Any) -> Tensor:
    """The logits (B, P, V) of whichever language-modelling head gave an output."""
    logits: Tensor = output.masked_lm_logits if hasattr(output, "masked_lm_logits") else output.logits
    return logits


def sentence_logits(output: Any) -> Tensor:
    """The logits (B, 2) about a pair of sentences, be it of the next-sentence or of the sentence-order head."""
    name = "next_sentence_logits" if hasattr(output, "next_sentence_logits") else "sentence_order_logits"
    logits: Tensor = getattr(output, name)
    return logits


def guessed(batch: Mapping[str, Tensor]) -> int:
    """How many words are to be guessed: what the loss is a mean over."""
    return int((batch["labels"] != NOT_GUESSED).sum())


def loss_of(output: Any, batch: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, float]]:
    """The loss of a batch, and its parts to be logged.

    It is a mean over the words to guess. What is lost on sentences is weighted by each example's number of such words,
    so that accumulated batches give the loss of one large batch.
    """
    labels = batch["labels"]
    words = word_loss(word_logits(output), labels)
    parts = {"word_loss": float(words.detach()), "word_accuracy": accuracy(word_logits(output), labels)}
    if "sentence_labels" not in batch:
        return words, parts
    logits, pairs = sentence_logits(output), batch["sentence_labels"]
    share = (labels != NOT_GUESSED).sum(dim=1) / max(1, guessed(batch))  # (B,)
    sentences = (F.cross_entropy(logits, pairs, reduction="none") * share).sum()
    parts |= {"sentence_loss": float(sentences.detach()), "sentence_accuracy": accuracy(logits, pairs)}
    return words + sentences, parts


def word_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy over the words to guess."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=NOT_GUESSED)


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """The share of labels that are the likeliest."""
    real = labels != NOT_GUESSED
    return float(((logits.argmax(dim=-1) == labels) & real).sum() / real.sum().clamp(min=1))
