"""Classifiers: texts with labels from a table, or a task of GLUE, with the scores that they are trained by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from pocketbert.errors import InputError
from pocketbert.export.exams.labels import batches_of, reading_of, training_settings
from pocketbert.export.gate import COMPARED, Comparison, Exam, Scores, divide
from pocketbert.runtime.session import Session
from pocketbert.tasks import temperature
from pocketbert.tasks.classify import metrics
from pocketbert.tasks.classify.examples import (
    Columns,
    Example,
    Label,
    Problem,
    Scheme,
    examples_of,
    read_table,
)
from pocketbert.tasks.classify.features import featurise
from pocketbert.tasks.classify.predict import predict
from pocketbert.tasks.glue.benchmark import Task, find_task
from pocketbert.tasks.glue.metrics import evaluate as official
from pocketbert.tasks.glue.reading import read_part
from pocketbert.text import Tokenizer
from pocketbert.text.label_config import LabelConfig

CLOSE = 0.01
"""How near two scores must be, as a share of how much scores vary, to count as the same."""


@dataclass(frozen=True)
class Labelled:
    """Examples, and how what is said of them is scored."""

    examples: Sequence[Example]
    problem: Problem
    best: str
    """The score that counts."""
    measure: Callable[[Sequence[Label], NDArray[np.float32]], Scores]
    order: list[int]
    """Where the model has each of the labels by which examples are numbered."""


def read_labelled(
    model: Any,
    source: Path,
    files: tuple[str, ...],
    *,
    text: str | None,
    pair: str | None,
    label: str | None,
    columns: tuple[str, ...] | None,
) -> Labelled:
    """The examples of tables, with the columns that the model was trained on or others; of a GLUE model, of GLUE."""
    before = training_settings(source)
    problem: Problem = model.head.problem
    if before.get("task") and label is None:
        task = find_task(before["task"])
        examples = [example for file in files for example in read_part(task, file, "dev").examples]
        return Labelled(
            examples, problem, task.best, lambda *given: official(task, *given), _order(model, task)
        )
    named = Columns(
        _column("text", text or before.get("text")),
        pair or before.get("text_pair"),
        _column("label", label or before.get("label")),
        columns or tuple(before.get("columns") or ()) or None,
    )
    scheme = Scheme(problem, model.labels, before.get("label_separator", ","))
    examples = examples_of(read_table(files, named, split="validation"), named, scheme)

    def measure(labels: Sequence[Label], logits: NDArray[np.float32]) -> Scores:
        return metrics.evaluate(labels, logits, problem)

    return Labelled(examples, problem, metrics.BEST[problem], measure, list(range(len(model.labels))))


def examine(
    given: Labelled, model: Any, tokenizer: Tokenizer, source: Path, *, limit: int | None = None
) -> Exam:
    """Ask torch, and fit the temperature to what it says."""
    asked, others = divide(given.examples[:limit], "text")
    return ClassExam(model, given, asked, others, tokenizer, reading_of(model, source))


class ClassExam:
    """Texts that a classifier and its exports are given."""

    def __init__(
        self,
        model: nn.Module,
        given: Labelled,
        asked: Sequence[Example],
        others: Sequence[Example],
        tokenizer: Tokenizer,
        reading: LabelConfig,
    ) -> None:
        self._given, self._pad_id = given, tokenizer.pad_id
        self._truth = [example.label for example in asked if example.label is not None]
        self._features, shown = (
            featurise(part, tokenizer, max_length=reading.window) for part in (asked, others)
        )
        self.shown = batches_of(shown, self._pad_id)
        self.asked = batches_of(self._features[:COMPARED], self._pad_id)
        self._said = self._ask(model)
        fit = _FITS.get(given.problem)
        self.labels = replace(
            reading, temperature=None if fit is None else fit(self._said, np.stack(self._truth))
        )

    def compare(self, session: Session, error: float) -> Comparison:
        said = self._ask(session)
        before, after = (self._given.measure(self._truth, logits) for logits in (self._said, said))
        same = _same(self._said, said, self._given.problem)
        return Comparison(error, before, after, 100 * float(same.mean()), self._given.best)

    def _ask(self, model: nn.Module | Session) -> NDArray[np.float32]:
        """The logits of every text, in the order of its labels' numbers."""
        return predict(model, self._features, pad_id=self._pad_id)[:, self._given.order]


# A score has no temperature.
_FITS: dict[Problem, Callable[[ArrayLike, ArrayLike], float]] = {
    "single": temperature.of_classes,
    "multi": temperature.of_decisions,
}


def _same(left: NDArray[np.float32], right: NDArray[np.float32], problem: Problem) -> NDArray[np.bool_]:
    """Of which texts both say the same."""
    if problem == "regression":
        return np.asarray(np.abs(left - right)[:, 0] <= CLOSE * max(float(left.std()), 1e-9))
    said = [metrics.decide(each, problem).reshape(len(left), -1) for each in (left, right)]
    return np.asarray((said[0] == said[1]).all(axis=1))


def _order(model: Any, task: Task) -> list[int]:
    names = list(model.labels)
    if sorted(names) == sorted(task.labels):
        return [names.index(label) for label in task.labels]
    if task.problem == "regression" and len(names) == 1:
        return [0]
    raise InputError(
        f"the model knows the labels {', '.join(names)}, but {task.name} has {', '.join(task.labels)}; "
        "name the columns of a table with its own labels by --text and --label"
    )


def _column(option: str, value: str | None) -> str:
    if value is None:
        raise InputError(f"which column of the data holds the {option}? Name it by --{option}")
    return value
