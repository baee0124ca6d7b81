"""GLUE's official scores, in percent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tasks import scores
from pocketbert.tasks.classify.examples import Label
from pocketbert.tasks.classify.metrics import decide
from pocketbert.tasks.glue.benchmark import Score, Task

_SCORES: dict[Score, Callable[[NDArray[np.generic], NDArray[np.generic]], float]] = {
    "matthews": scores.matthews,
    "accuracy": scores.accuracy,
    "f1": lambda truth, said: scores.f1(truth, said, average="binary"),
    "pearson": scores.pearson,
    "spearman": scores.spearman,
}


def evaluate(task: Task, labels: Sequence[Label | None], logits: NDArray[np.float32]) -> dict[str, float]:
    """The task's scores, and their mean where there are two."""
    known = [label for label in labels if label is not None]
    if not known or len(known) != len(labels):
        raise InputError(f"{task.name}: the labels of this part are secret; it can be predicted, not scored")
    truth, said = np.stack(known), decide(logits, task.problem)
    found: dict[str, float] = {name: _SCORES[name](truth, said) for name in task.scores}
    if len(found) > 1:
        found["mean"] = sum(found.values()) / len(found)
    return found
