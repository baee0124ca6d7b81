"""How well texts were labelled: the scores for each kind of problem, and what logits say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pocketbert.tasks import scores
from pocketbert.tasks.classify.examples import Label, Problem, Scheme
from pocketbert.text.calibration import sigmoid

BEST: dict[Problem, str] = {"single": "macro_f1", "multi": "micro_f1", "regression": "spearman"}
"""The score by which the best weights are chosen."""


def decide(logits: NDArray[np.float32], problem: Problem) -> NDArray[Any]:
    """What logits (N, labels) say: class numbers (N,), zeros and ones (N, labels), or numbers (N,)."""
    if problem == "single":
        return np.asarray(logits.argmax(axis=1))
    if problem == "multi":
        return (logits > 0).astype(np.int64)  # a probability above a half
    return logits[:, 0].astype(np.float64)


def evaluate(labels: Sequence[Label], logits: NDArray[np.float32], problem: Problem) -> dict[str, float]:
    """The scores of a kind of problem, in percent; of errors, in the unit of the scores."""
    truth: NDArray[Any] = np.stack(labels)
    said = decide(logits, problem)
    if problem == "single":
        return {
            "accuracy": scores.accuracy(truth, said),
            "macro_f1": scores.f1(truth, said, average="macro"),
        }
    if problem == "multi":
        whole = truth.astype(np.int64)
        return {
            "micro_f1": scores.f1(whole, said, average="micro"),
            "macro_f1": scores.f1(whole, said, average="macro"),
            "exact": 100.0 * float((whole == said).all(axis=1).mean()),
        }
    return {
        "pearson": scores.pearson(truth, said),
        "spearman": scores.spearman(truth, said),
        "mean_absolute_error": float(np.abs(truth - said).mean()),
    }


def written(logits: NDArray[np.float32], scheme: Scheme) -> list[dict[str, object]]:
    """What logits say as rows of JSON: label and probability, labels and theirs, or the number."""
    if scheme.problem == "regression":
        return [{"score": float(value)} for value in logits[:, 0]]
    if scheme.problem == "multi":
        chances = sigmoid(logits.astype(np.float64))
        return [
            {
                "labels": [name for name, chance in zip(scheme.names, row, strict=True) if chance > 0.5],
                "scores": {name: float(chance) for name, chance in zip(scheme.names, row, strict=True)},
            }
            for row in chances
        ]
    exponents = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    shares = exponents / exponents.sum(axis=1, keepdims=True)
    return [{"label": scheme.names[int(row.argmax())], "score": float(row.max())} for row in shares]
