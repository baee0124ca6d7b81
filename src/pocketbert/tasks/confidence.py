"""How far a score can be trusted: calibration error, risk against coverage, and the answer / no answer decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import InputError

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """Mean confidence and accuracy of the predictions in each bin of confidence; nan where a bin is empty."""

    edges: Floats  # (bins + 1,)
    confidence: Floats  # (bins,)
    accuracy: Floats  # (bins,)
    count: NDArray[np.int64]  # (bins,)

    @property
    def error(self) -> float:
        """The expected calibration error: |accuracy - confidence| averaged over the predictions, from 0 to 1."""
        full = self.count > 0
        gaps = np.abs(self.accuracy[full] - self.confidence[full])
        return float(np.average(gaps, weights=self.count[full]))


def reliability(confidence: ArrayLike, correct: ArrayLike, *, bins: int = 15) -> Reliability:
    """Sort predictions into bins of equal width by their confidence (Guo et al. 2017, section 2)."""
    scores, hits = _pair(confidence, correct)
    if bins < 1:
        raise InputError(f"bins is {bins}; it must be a whole number from 1 up")
    if (scores < 0).any() or (scores > 1).any():
        raise InputError(
            f"a confidence is {scores[(scores < 0) | (scores > 1)][0]}; it must lie between 0 and 1"
        )
    place = np.minimum((scores * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean_score = np.bincount(place, weights=scores, minlength=bins) / count
        mean_hit = np.bincount(place, weights=hits, minlength=bins) / count
    return Reliability(np.linspace(0.0, 1.0, bins + 1), mean_score, mean_hit, count)


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, *, bins: int = 15) -> float:
    """How far, on average, the confidence is from the accuracy: 0 is perfect, 1 the worst."""
    return reliability(confidence, correct, bins=bins).error


@dataclass(frozen=True)
class RiskCoverage:
    """The mean loss (`risk`) of the most confident share (`coverage`) of the predictions."""

    coverage: Floats  # (n,)
    risk: Floats  # (n,)

    @property
    def area(self) -> float:
        """AURC, the mean risk over all coverages: lower is better; the overall risk is its value for blind scores."""
        return float(self.risk.mean())


def risk_coverage(confidence: ArrayLike, loss: ArrayLike) -> RiskCoverage:
    """Answer the most confident questions first and follow the mean loss.

    Equal confidences share their mean loss, so the curve does not depend on the order of the predictions.
    """
    scores, losses = _pair(confidence, loss)
    _, group = np.unique(-scores, return_inverse=True)
    group_loss = np.bincount(group, weights=losses) / np.bincount(group)
    shared = group_loss[np.sort(group)]
    rank = np.arange(1, len(scores) + 1)
    return RiskCoverage(rank / len(scores), np.cumsum(shared) / rank)


def answerability(has_answer: ArrayLike, answered: ArrayLike) -> dict[str, float]:
    """Precision, recall and F1, in percent, of the decision to answer and of the decision not to."""
    truth, said = (values.astype(bool) for values in _pair(has_answer, answered))
    return {
        f"{name}_{key}": value
        for name, positive, predicted in (("answer", truth, said), ("no_answer", ~truth, ~said))
        for key, value in _binary(positive, predicted).items()
    }


def _binary(positive: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> dict[str, float]:
    hits = int(np.count_nonzero(positive & predicted))
    # 2 hits / (positives + predictions) is the harmonic mean, without its 0 / 0 when nothing is hit.
    return {
        "precision": _percent(hits, int(np.count_nonzero(predicted))),
        "recall": _percent(hits, int(np.count_nonzero(positive))),
        "f1": _percent(2 * hits, int(np.count_nonzero(positive) + np.count_nonzero(predicted))),
    }


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def _pair(left: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    first, second = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise InputError(
            f"shapes {first.shape} and {second.shape} were given; two rows of the same length, one value per "
            "prediction and at least one, are needed"
        )
    return first, second
