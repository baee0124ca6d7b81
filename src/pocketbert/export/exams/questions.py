"""Readers: questions about texts, scored by F1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from pocketbert.errors import InputError
from pocketbert.export.gate import COMPARED, MEASURED, Batch, Comparison, Exam, Scores, divide
from pocketbert.export.onnx import INPUTS
from pocketbert.runtime.session import Session
from pocketbert.tasks import trust
from pocketbert.tasks.squad.answers import answers
from pocketbert.tasks.squad.features import Feature, featurise
from pocketbert.tasks.squad.metrics import question_scores
from pocketbert.tasks.squad.predict import Logits, collate, predict
from pocketbert.tasks.squad.questions import Question
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import FILE_NAME, Calibration


class QuestionExam:
    """Questions that a reader and its exports are asked."""

    labels = None

    def __init__(
        self,
        model: nn.Module,
        questions: Sequence[Question],
        features: Sequence[Feature],
        calibration: Calibration | None,
        *,
        pad_id: int,
        shown: Sequence[Feature] = (),
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self.questions, self.features, self.calibration = questions, features, calibration
        self._pad_id, self._progress = pad_id, progress
        self.said, self.scores = self._judge(self.read(model))
        self.shown = self._batches(shown)
        self.asked = self._batches(features[:COMPARED])

    def read(self, reader: nn.Module | Session) -> tuple[Logits, Logits]:
        """Start and end logits of every window."""
        return predict(reader, self.features, pad_id=self._pad_id, progress=self._progress)

    def compare(self, session: Session, error: float) -> Comparison:
        return self.judge(self.read(session), error)

    def judge(self, logits: tuple[Logits, Logits], error: float) -> Comparison:
        """What an exported model read, beside what torch read."""
        said, scores = self._judge(logits)
        same = sum(left == right for left, right in zip(self.said, said, strict=True))
        return Comparison(error, self.scores, scores, 100 * same / len(said), "f1")

    def _judge(self, logits: tuple[Logits, Logits]) -> tuple[list[str], Scores]:
        """What the reader says, and what that is worth.

        `has_answer_f1` is over the questions with an answer, made to answer; `no_answer` over those without one, the
        share on which it was silent: NaN if there are none, and 0 without a calibration.
        """
        longest = self.calibration.max_answer_length if self.calibration else 30
        found = answers(self.questions, self.features, *logits, max_answer_length=longest)
        best = [answer.text for answer in found]
        said = best
        if self.calibration is not None:
            readings = trust.read_all(self.calibration, self.questions, self.features, *logits)
            said = [reading.answers[0].text if reading.found else "" for reading in readings]
        exact, f1 = question_scores(self.questions, said)
        _, forced = question_scores(self.questions, best)
        has_answer = np.array([bool(question.answers) for question in self.questions])
        return said, {
            "f1": _percent(f1),
            "exact": _percent(exact),
            "has_answer_f1": _percent(forced[has_answer]),
            "no_answer": _percent(f1[~has_answer]),
        }

    def _batches(self, features: Sequence[Feature]) -> list[Batch]:
        return [
            {key: batch[key] for key in INPUTS}
            for batch in (collate([feature], pad_id=self._pad_id) for feature in features)
        ]


def examine(questions: Sequence[Question]) -> Callable[[Any, Tokenizer, Path], Exam]:
    """How a reader is examined with questions that it has not seen."""

    def make(model: Any, tokenizer: Tokenizer, source: Path) -> Exam:
        if getattr(model, "kind", None) != "question-answering":
            raise InputError(
                f"the model's head is {getattr(model, 'kind', None) or 'none'}; questions can examine only a reader "
                "(question-answering). Leave the data out, and outputs alone are compared"
            )
        calibration = Calibration.load(source) if (source / FILE_NAME).is_file() else None
        settings = calibration or Calibration()
        window = model.config.at_most(settings.window)
        overlap = min(settings.overlap, window // 3)
        asked, others = divide(questions, "question")
        features, shown = (
            featurise(part, tokenizer, max_length=window, overlap=overlap) for part in (asked, others)
        )
        return QuestionExam(
            model, asked, features, calibration, pad_id=tokenizer.pad_id, shown=shown[:MEASURED]
        )

    return make


def _percent(values: NDArray[Any]) -> float:
    return 100 * float(values.mean()) if len(values) else float("nan")
