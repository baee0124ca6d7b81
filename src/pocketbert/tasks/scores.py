"""The scores that tasks share, by scikit-learn and scipy, in percent as papers print them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pocketbert.errors import require


def accuracy(truth: ArrayLike, said: ArrayLike) -> float:
    """The share that is right."""
    return 100.0 * float(np.mean(np.asarray(truth) == np.asarray(said)))


def f1(truth: ArrayLike, said: ArrayLike, *, average: Literal["binary", "micro", "macro"]) -> float:
    """The harmonic mean of precision and recall: of class 1, over all decisions, or the mean over the classes."""
    return 100.0 * float(_metrics().f1_score(truth, said, average=average, zero_division=0))


def matthews(truth: ArrayLike, said: ArrayLike) -> float:
    """The correlation of what is true and what was said; 0 if always the same was said."""
    return 100.0 * float(_metrics().matthews_corrcoef(truth, said))


def pearson(truth: ArrayLike, said: ArrayLike) -> float:
    """The linear correlation; 0 where one side never changes, for then there is none."""
    return _correlation("pearsonr", truth, said)


def spearman(truth: ArrayLike, said: ArrayLike) -> float:
    """The correlation of ranks; 0 where one side never changes, for then there is none."""
    return _correlation("spearmanr", truth, said)


def confusion(truth: ArrayLike, said: ArrayLike, labels: int) -> Any:
    """How often a row's label was taken for a column's: (labels, labels)."""
    pairs = np.asarray(truth, dtype=np.int64) * labels + np.asarray(said, dtype=np.int64)
    return np.bincount(pairs, minlength=labels * labels).reshape(labels, labels)


def _correlation(name: str, truth: ArrayLike, said: ArrayLike) -> float:
    left, right = np.asarray(truth, dtype=np.float64), np.asarray(said, dtype=np.float64)
    if len(left) < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return 0.0
    return 100.0 * float(getattr(require("scipy.stats", extra="lab"), name)(left, right).statistic)


def _metrics() -> Any:
    return require("sklearn.metrics", extra="lab")
