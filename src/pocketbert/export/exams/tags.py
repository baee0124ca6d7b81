"""Taggers: sentences with a tag for every word, scored by the F1 of entities, or by accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from pocketbert.export.exams.labels import batches_of, reading_of, training_settings
from pocketbert.export.gate import COMPARED, MEASURED, Comparison, Exam, Scores, divide
from pocketbert.runtime.session import Session
from pocketbert.tasks import temperature
from pocketbert.tasks.tags import bio, metrics
from pocketbert.tasks.tags.features import Feature, featurise, gather
from pocketbert.tasks.tags.predict import Logits, predict
from pocketbert.tasks.tags.sentences import Form, Sentence, check_tags, read_sentences
from pocketbert.text import Tokenizer
from pocketbert.text.label_config import LabelConfig


def read_tagged(
    model: Any, source: Path, files: tuple[str, ...], *, form: Form | None, column: str | None
) -> list[Sentence]:
    """The sentences of CoNLL files, with the column of tags that the model was trained on or another."""
    before = training_settings(source)
    sentences = read_sentences(files, form=form or "auto", column=column or before.get("column"))
    if bio.kind_of(model.labels) == "entities":
        sentences, _ = bio.checked(sentences)
    check_tags(sentences, model.labels)
    return sentences


def examine(sentences: Sequence[Sentence], model: Any, tokenizer: Tokenizer, source: Path) -> Exam:
    """Ask torch, and fit the temperature to what it says of words."""
    asked, others = divide(sentences, "sentence")
    return TagExam(model, asked, others, tokenizer, reading_of(model, source))


class TagExam:
    """Sentences that a tagger and its exports are given."""

    def __init__(
        self,
        model: Any,
        sentences: Sequence[Sentence],
        others: Sequence[Sentence],
        tokenizer: Tokenizer,
        reading: LabelConfig,
    ) -> None:
        self._names: tuple[str, ...] = model.labels
        self._kind = bio.kind_of(self._names)
        self._pad_id = tokenizer.pad_id
        numbers = {name: number for number, name in enumerate(self._names)}
        self.sentences = sentences
        self.features, shown = (
            featurise(part, tokenizer, numbers, max_length=reading.window) for part in (sentences, others)
        )
        self.shown = batches_of(shown[:MEASURED], self._pad_id)
        self.asked = batches_of(self.features[:COMPARED], self._pad_id)
        logits = self._ask(model)
        self.said, self.scores = self._judge(logits)
        truth = np.concatenate([_tags_of(feature) for feature in self.features])
        heat = temperature.of_classes(np.concatenate(logits), truth)
        self.labels = replace(reading, temperature=heat)

    def compare(self, session: Session, error: float) -> Comparison:
        said, scores = self._judge(self._ask(session))
        pairs = [
            left == right
            for rows in zip(self.said, said, strict=True)
            for left, right in zip(*rows, strict=True)
        ]
        return Comparison(
            error, self.scores, scores, 100 * sum(pairs) / max(len(pairs), 1), metrics.BEST[self._kind]
        )

    def _ask(self, model: nn.Module | Session) -> Logits:
        return predict(model, self.features, pad_id=self._pad_id)

    def _judge(self, logits: Logits) -> tuple[list[list[str]], Scores]:
        chosen = gather(self.sentences, self.features, [row.argmax(axis=-1) for row in logits], none=0)
        said = [[self._names[tag] for tag in row] for row in chosen]
        return said, metrics.evaluate([sentence.tags for sentence in self.sentences], said, self._kind)


def _tags_of(feature: Feature) -> NDArray[np.int32]:
    return np.empty(0, dtype=np.int32) if feature.tags is None else feature.tags
