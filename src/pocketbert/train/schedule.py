"""How the rate moves: a plain function of the step, so there is no scheduler state to save or to lose."""

from __future__ import annotations

from collections.abc import Callable

from pocketbert.errors import InputError
from pocketbert.train.settings import LoopSettings

Rates = Callable[[int, str], float]
"""The factor on the peak rate at a step (from 0) for a part: `embeddings`, `block.0` …, `head`, `projection`.

A part whose factor is 0 is left alone in that step: neither its weights nor its moments move, and no gradient is
computed for it.
"""


def linear(step: int, *, total: int, warmup: int, end: float = 0.0) -> float:
    """Rise over `warmup` steps, then fall in a straight line to `end` after the last step.

    No step is wasted at a rate of 0: the first has 1/warmup, the last is one stride above `end`.
    """
    if step < warmup:
        return (step + 1) / warmup
    left = (total - step) / max(1, total - warmup)
    return end + (1.0 - end) * min(1.0, max(0.0, left))


def constant(step: int, *, warmup: int) -> float:
    """Rise over `warmup` steps, then stay."""
    return (step + 1) / warmup if step < warmup else 1.0


def from_settings(settings: LoopSettings, total: int) -> Rates:
    """The schedule that the settings ask for."""
    warmup = settings.warmup_steps
    if warmup is None:
        warmup = round(settings.warmup_ratio * total)
    if warmup > total:
        raise InputError(f"warmup_steps = {warmup}, but the whole run has {total} steps")
    if settings.lr_scheduler_type == "constant":
        return lambda step, _part: constant(step, warmup=warmup)
    return lambda step, _part: linear(step, total=total, warmup=warmup, end=settings.lr_end_ratio)
