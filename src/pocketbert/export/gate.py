"""Nothing leaves the lab that is worse than what went in: an exported model beside the one it was made from.

Two measures. The error of the outputs on real texts, relative to how much the outputs vary, finds mistakes. The task's
own score finds what users would: a reader may err by a hundredth everywhere and answer the same, or by less and not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.errors import ExportError
from pocketbert.export.onnx import INPUTS, OUTPUT_NAMES
from pocketbert.runtime.session import Precision, Session
from pocketbert.tasks import trust
from pocketbert.tasks.squad.answers import answers
from pocketbert.tasks.squad.features import Feature
from pocketbert.tasks.squad.metrics import question_scores
from pocketbert.tasks.squad.predict import Logits, predict
from pocketbert.tasks.squad.questions import Question
from pocketbert.text.calibration import Calibration

LARGEST_ERROR: dict[Precision, float] = {"fp32": 1e-3, "fp16": 0.05, "int8": 0.2, "int8-fast": 0.3}
"""Beyond this, outputs are not those of the same model any more, whatever the score says."""


@dataclass(frozen=True)
class Scores:
    """What a reader is worth on given questions, in per cent."""

    f1: float
    exact: float
    has_answer_f1: float
    """Over the questions with an answer, made to answer."""
    no_answer: float
    """Over those without one: the share on which it was silent. NaN if there are none, and 0 without a calibration."""


@dataclass(frozen=True)
class Comparison:
    """An exported model beside the torch model that it was made from."""

    error: float
    torch: Scores | None = None
    exported: Scores | None = None
    equal: float | None = None
    """The share of questions, in per cent, to which both say the same."""

    @property
    def lost(self) -> float:
        """How much F1 the export lost; negative if it gained."""
        return 0.0 if self.torch is None or self.exported is None else self.torch.f1 - self.exported.f1


@torch.no_grad()
def relative_error(model: nn.Module, session: Session, batches: Iterable[Mapping[str, Tensor]]) -> float:
    """The error of all outputs on batches without padding, relative to how much the outputs vary.

    An infinite or missing number counts as an infinite error.
    """
    error = size = 0.0
    for batch in batches:
        output = model(**batch)
        given = session.run(*(batch[name].numpy() for name in INPUTS))
        for field in fields(output):
            value = getattr(output, field.name)
            found = given.get(OUTPUT_NAMES.get(field.name, field.name))
            if isinstance(value, Tensor) and found is not None:
                exact = value.double().numpy()
                error += float(np.square(exact - found).sum())
                size += float(np.square(exact - exact.mean()).sum())
    return float(np.sqrt(error / max(size, 1e-30))) if np.isfinite(error) else np.inf


class Examination:
    """Questions that a reader and its exports are asked; torch is asked once."""

    def __init__(
        self,
        model: nn.Module,
        questions: Sequence[Question],
        features: Sequence[Feature],
        calibration: Calibration | None,
        *,
        pad_id: int,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self.questions, self.features, self.calibration = questions, features, calibration
        self._pad_id, self._progress = pad_id, progress
        self.said, self.scores = self._judge(self.read(model))

    def read(self, reader: nn.Module | Session) -> tuple[Logits, Logits]:
        """Start and end logits of every window."""
        return predict(reader, self.features, pad_id=self._pad_id, progress=self._progress)

    def compare(self, logits: tuple[Logits, Logits], error: float) -> Comparison:
        """What an exported model read, beside what torch read."""
        said, scores = self._judge(logits)
        same = sum(left == right for left, right in zip(self.said, said, strict=True))
        return Comparison(error, self.scores, scores, 100 * same / len(said))

    def _judge(self, logits: tuple[Logits, Logits]) -> tuple[list[str], Scores]:
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
        return said, Scores(
            f1=_percent(f1),
            exact=_percent(exact),
            has_answer_f1=_percent(forced[has_answer]),
            no_answer=_percent(f1[~has_answer]),
        )


def pass_or_raise(precision: Precision, comparison: Comparison, tolerance: float) -> None:
    """Raise unless an export is as good as promised."""
    if not comparison.error <= LARGEST_ERROR[precision]:
        raise ExportError(
            f"{precision}: the outputs are {comparison.error:.2g} off those of torch, relative to how much they vary; "
            f"at most {LARGEST_ERROR[precision]:g} is allowed, so nothing was written. "
            "Give texts like those the model will read (--data), or choose another precision"
        )
    if comparison.lost > tolerance:
        assert comparison.torch is not None and comparison.exported is not None  # noqa: S101, PT018 -- it lost F1
        raise ExportError(
            f"{precision}: F1 {comparison.exported.f1:.2f} where torch has {comparison.torch.f1:.2f}, "
            f"{comparison.lost:.2f} lost; at most {tolerance:g} is allowed, so nothing was written. "
            "Choose another precision, or allow more with --tolerance"
        )


def _percent(values: NDArray[Any]) -> float:
    return 100 * float(values.mean()) if len(values) else float("nan")
