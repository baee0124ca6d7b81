"""Measure how far a calibrated reader can be trusted: its scores, its silence, its confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pocketbert.tasks.confidence import Reliability, RiskCoverage, answerability, reliability, risk_coverage
from pocketbert.tasks.squad.answers import places_by_question
from pocketbert.tasks.squad.features import Feature
from pocketbert.tasks.squad.metrics import Metrics, evaluate, question_scores
from pocketbert.tasks.squad.questions import Question
from pocketbert.text.calibration import Calibration, Reading


def read_all(
    calibration: Calibration,
    questions: Sequence[Question],
    features: Sequence[Feature],
    start_logits: Sequence[ArrayLike],
    end_logits: Sequence[ArrayLike],
) -> list[Reading]:
    """Apply a calibration to every question, exactly as a reader at run time does."""
    places = places_by_question(len(questions), features, start_logits, end_logits)
    return [
        calibration.apply(
            question.context,
            [features[row] for row in rows],
            [start_logits[row] for row in rows],
            [end_logits[row] for row in rows],
        )
        for question, rows in zip(questions, places, strict=True)
    ]


@dataclass(frozen=True)
class Trust:
    """How good a reader's decisions and scores are on questions that nothing was fitted on."""

    metrics: Metrics
    """The official scores at the fitted threshold, and the best ones with the probability of no answer as odds."""
    decision: dict[str, float]
    """Precision, recall and F1 of answering and of silence, in percent."""
    reliability: Reliability
    """Of the probability of what was said, answer or silence, against its being right (exact match)."""
    no_answer_reliability: Reliability
    """Of the probability of no answer against there being none."""
    curve: RiskCoverage
    """1 - F1 of what was said against the share of questions, the surest first."""

    def summary(self) -> dict[str, float | int]:
        """All figures by name, for a JSON file."""
        return {
            **self.metrics,
            **self.decision,
            "expected_calibration_error": 100.0 * self.reliability.error,
            "no_answer_calibration_error": 100.0 * self.no_answer_reliability.error,
            "area_under_risk_coverage": 100.0 * self.curve.area,
        }


def trust(questions: Sequence[Question], readings: Sequence[Reading], *, bins: int = 15) -> Trust:
    """Measure readings against the gold answers."""
    said = [reading.answers[0].text if reading.found else "" for reading in readings]
    first = [reading.answers[0].text if reading.answers else "" for reading in readings]
    exacts, f1s = question_scores(questions, said)
    has_answer = np.array([bool(question.answers) for question in questions])
    no_answer = np.array([reading.no_answer for reading in readings])
    confidence = np.array([reading.confidence for reading in readings])
    ids = [question.id for question in questions]
    metrics = evaluate(questions, dict(zip(ids, said, strict=True)))
    swept = evaluate(
        questions, dict(zip(ids, first, strict=True)), dict(zip(ids, no_answer.tolist(), strict=True))
    )
    return Trust(
        metrics=metrics | {name: value for name, value in swept.items() if name.startswith("best_")},
        decision=answerability(has_answer, [bool(text) for text in said]),
        reliability=reliability(confidence, exacts, bins=bins),
        no_answer_reliability=reliability(no_answer, ~has_answer, bins=bins),
        curve=risk_coverage(confidence, 1.0 - f1s),
    )
