"""What a recipe hands to the loop, and how a run ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.train.schedule import Rates
from pocketbert.train.settings import LoopSettings

Lengths = Sequence[int] | NDArray[np.int64]


@runtime_checkable
class Renewed(Protocol):
    """Examples that differ from epoch to epoch, in their masks for instance, but not in number and length."""

    def at(self, epoch: int) -> Sequence[Any]:
        """The examples of an epoch."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The arguments of `train`, which explains them."""

    model: nn.Module
    examples: Sequence[Any]
    collate: Callable[[list[Any]], Any]
    loss_function: Callable[[nn.Module, Any, int], tuple[Tensor, Mapping[str, float]]]
    settings: LoopSettings
    lengths: Lengths | None = None
    weight: Callable[[Any], float] | None = None
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None
    best: str | None = None
    greater_is_better: bool = True
    rates: Rates | None = None
    data_files: Sequence[Path] = ()
    identity: Mapping[str, Any] = field(default_factory=dict)

    def examples_at(self, epoch: int) -> Sequence[Any]:
        """The examples as they are in an epoch."""
        return self.examples.at(epoch) if isinstance(self.examples, Renewed) else self.examples

    def example_lengths(self) -> Lengths:
        """The length of every example in tokens."""
        if self.lengths is not None:
            if len(self.lengths) != len(self.examples):
                raise InputError(f"{len(self.lengths)} lengths for {len(self.examples)} examples")
            return self.lengths
        return [_length(self.examples[number]) for number in range(len(self.examples))]


@dataclass(frozen=True)
class Result:
    """How a run ended: `scores` are those of the weights that the model now has."""

    steps: int
    epochs: float
    seconds: float
    stopped: Literal["finished", "patience"]
    scores: Mapping[str, float]
    best_step: int
    checkpoint: Path


def _length(example: Any) -> int:
    ids = example.get("input_ids") if isinstance(example, Mapping) else getattr(example, "input_ids", None)
    if ids is None:
        raise InputError(
            f"an example of type {type(example).__name__} has no input_ids: give train(lengths=…), "
            "the token count of every example"
        )
    return len(ids)
