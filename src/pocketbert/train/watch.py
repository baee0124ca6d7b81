"""Somebody who looks at a run from outside, and may end it: a search, which has no time for what scores too low.

A recipe need not know. Whoever wants to look runs it within `watched`:

    with watched(look):
        recipe.run(settings)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pocketbert.errors import TrainingError


class Pruned(TrainingError):  # noqa: N818 - nothing went wrong
    """A run that was ended because others of the same search scored better."""


@dataclass(frozen=True)
class Sight:
    """An evaluation: the score that the best weights are chosen by, and after how many passes over the examples."""

    metric: str
    score: float
    greater_is_better: bool
    epoch: float


Watcher = Callable[[Sight], None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(look: Watcher) -> Iterator[None]:
    """Within, `look` is called after every evaluation; what it raises ends the run."""
    token = _watcher.set(look)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell(sight: Sight) -> None:
    """Let whoever watches see an evaluation."""
    look = _watcher.get()
    if look is not None:
        look(sight)
