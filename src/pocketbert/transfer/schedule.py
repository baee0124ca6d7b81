"""What is learnt when: a schedule is a list of stages, and a stage is data.

    stages = schedule("progressive", Course(blocks=24, block_steps=10_000, distillation_steps=500_000))
    at(stages, 12_345)[0].layers        # (1,): the second block learns

The methods in `transfer/methods.py` write schedules; here is how one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pocketbert.errors import InputError

WORD_LOSSES = ("hard", "soft", "sentence")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stretch of a run: its losses with their weights, the student's blocks they look at, and who moves.

    `rates` are shares of the learning rate by part (`embeddings`, `block.0` …, `head`, `projection`); a part that is
    not named rests: neither its weights nor its moments move. Within the stage the rate rises over `warmup` steps and
    then stays, or falls in a straight line to the share `end`.
    """

    name: str
    steps: int
    losses: Mapping[str, float]
    layers: tuple[int, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    warmup: int = 0
    end: float = 1.0

    @property
    def depth(self) -> int | None:
        """How many blocks must run; None: all. Above the last layer of a stage nothing is looked at."""
        if any(self.losses.get(name) for name in ("cosine", *WORD_LOSSES)):
            return None
        return max(self.layers, default=-1) + 1

    def rate(self, step: int, part: str) -> float:
        """The factor on the learning rate of a part at a step of this stage (from 0)."""
        share = self.rates.get(part, 0.0)
        if step < self.warmup:
            return share * (step + 1) / self.warmup
        left = (self.steps - step) / max(1, self.steps - self.warmup)
        return share * (self.end + (1 - self.end) * left)


def at(stages: Sequence[Stage], step: int) -> tuple[Stage, int]:
    """The stage that a step of the run (from 0) lies in, and the step's number in that stage.

    This is all there is to know: the stage's losses and layers live at this step, and its rates move the student.
    """
    for stage in stages:
        if step < stage.steps:
            return stage, step
        step -= stage.steps
    raise InputError(f"the schedule has {total(stages)} steps; there is no step {step + total(stages)}")


def total(stages: Sequence[Stage]) -> int:
    """How many steps all stages have together."""
    return sum(stage.steps for stage in stages)


def rates(stages: Sequence[Stage]) -> Callable[[int, str], float]:
    """The schedule as the training loop takes it: (step, part) -> factor on the learning rate."""

    def rate(step: int, part: str) -> float:
        stage, number = at(stages, step)
        return stage.rate(number, part)

    return rate
