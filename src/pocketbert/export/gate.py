"""Nothing leaves the lab that is worse than what went in: an exported model beside the one it was made from.

Two measures. The error of the outputs on real texts, relative to how much the outputs vary, finds mistakes. The task's
own score finds what users would: a reader may err by a hundredth everywhere and answer the same, or by less and not.
What a model is asked, and how it is scored, is the business of `pocketbert.export.exams`, a module for each task.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from pocketbert.errors import ExportError, InputError
from pocketbert.export.onnx import INPUTS, OUTPUT_NAMES
from pocketbert.runtime.session import Precision, Session
from pocketbert.text.label_config import LabelConfig

LARGEST_ERROR: dict[Precision, float] = {"fp32": 1e-3, "fp16": 0.05, "int8": 0.2, "int8-fast": 0.3}
"""Beyond this, outputs are not those of the same model any more, whatever the score says."""
MEASURED = 256
"""Rows that show a quantiser what the model reads; others examine the result.

A grid ends where the largest number was seen. With 40 windows a reader's outputs erred by 0.051 on others, with 160 by
0.038, with 480 by 0.037.
"""
COMPARED = 16
"""Rows on which outputs are compared."""

Batch = Mapping[str, Tensor]
Scores = dict[str, float]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Comparison:
    """An exported model beside the torch model that it was made from."""

    error: float
    torch: Scores | None = None
    exported: Scores | None = None
    equal: float | None = None
    """The share of questions, texts or words, in per cent, to which both say the same."""
    score: str | None = None
    """Which of the scores an export may not lose."""

    @property
    def lost(self) -> float:
        """How many points of the score the export lost; negative if it gained."""
        if self.torch is None or self.exported is None or self.score is None:
            return 0.0
        return self.torch[self.score] - self.exported[self.score]


class Exam(Protocol):
    """What a model and its exports are asked; torch is asked once, when the exam is made."""

    @property
    def shown(self) -> Sequence[Batch]:
        """Rows without padding that show a quantiser what is read; none of them is asked."""

    @property
    def asked(self) -> Sequence[Batch]:
        """Some rows without padding on which outputs are compared."""

    @property
    def labels(self) -> LabelConfig | None:
        """How a model with labels is to read, and the temperature that fits what it said."""

    def compare(self, session: Session, error: float) -> Comparison:
        """What an exported model says, beside what torch said."""


@dataclass(frozen=True)
class OutputsOnly:
    """An exam without a score: outputs alone are compared."""

    shown: Sequence[Batch]
    asked: Sequence[Batch]
    labels: LabelConfig | None = field(default=None)

    def compare(self, _session: Session, error: float) -> Comparison:
        return Comparison(error)


def divide(items: Sequence[Item], what: str) -> tuple[list[Item], list[Item]]:
    """Those to examine with, and at most a quarter to show to a quantiser."""
    shuffled = random.Random(0).sample(list(items), len(items))  # noqa: S311 -- no secret
    kept = min(MEASURED, max(1, len(shuffled) // 4))
    if not shuffled[kept:]:
        raise InputError(f"{len(items)} {what} is given to examine the export with; give at least two")
    return shuffled[kept:], shuffled[:kept]


@torch.no_grad()
def relative_error(model: nn.Module, session: Session, batches: Iterable[Batch]) -> float:
    """The error of all outputs on batches without padding, relative to how much the outputs vary.

    An infinite or missing number counts as an infinite error.
    """
    error = size = 0.0
    alone: list[float] = []  # outputs of one number, as a score is: they vary only between texts
    for batch in batches:
        output = model(**batch)
        given = session.run(*(batch[name].numpy() for name in INPUTS))
        for entry in fields(output):
            value = getattr(output, entry.name)
            found = given.get(OUTPUT_NAMES.get(entry.name, entry.name))
            if isinstance(value, Tensor) and found is not None:
                exact = value.double().numpy()
                error += float(np.square(exact - found).sum())
                size += float(np.square(exact - exact.mean()).sum())
                alone += exact.ravel().tolist() if exact.size == 1 else []
    size += float(np.var(alone) * len(alone)) if alone else 0.0
    return float(np.sqrt(error / max(size, 1e-30))) if np.isfinite(error) else np.inf


def pass_or_raise(precision: Precision, comparison: Comparison, tolerance: float) -> None:
    """Raise unless an export is as good as promised."""
    if not comparison.error <= LARGEST_ERROR[precision]:
        raise ExportError(
            f"{precision}: the outputs are {comparison.error:.2g} off those of torch, relative to how much they vary; "
            f"at most {LARGEST_ERROR[precision]:g} is allowed, so nothing was written. "
            "Give texts like those the model will read (--data), or choose another precision"
        )
    if comparison.lost > tolerance:
        assert comparison.torch and comparison.exported and comparison.score  # noqa: S101, PT018 -- it lost some
        raise ExportError(
            f"{precision}: {shown_name(comparison.score)} {comparison.exported[comparison.score]:.2f} where torch has "
            f"{comparison.torch[comparison.score]:.2f}, {comparison.lost:.2f} lost; at most {tolerance:g} is allowed, "
            "so nothing was written. Choose another precision, or allow more with --tolerance"
        )


def shown_name(score: str) -> str:
    """The name of a score as people write it.

    >>> shown_name("macro_f1")
    'macro F1'
    """
    return score.replace("_", " ").replace("f1", "F1")
