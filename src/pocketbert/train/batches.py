"""Which examples form a batch: like lengths together, shuffled anew each epoch, the same on every run.

Nothing is remembered between batches: the batches of an epoch follow from the seed and the epoch's number, so a
run resumes at any step, and how a step is split into batches (accumulation, processes) never changes the step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError

Indices = NDArray[np.int64]
_POOL_STEPS = 50  # examples are sorted within pools of so many steps: little padding, still random


class Batches:
    """The batches of every epoch; a step is up to `batches_per_step` batches that are used together."""

    def __init__(
        self,
        lengths: Sequence[int] | NDArray[np.int64],
        *,
        batch_size: int,
        batches_per_step: int = 1,
        max_tokens: int | None = None,
        by_length: bool = True,
        seed: int = 0,
    ) -> None:
        """Take the length of every example, in tokens."""
        self.lengths = np.asarray(lengths, dtype=np.int64)
        if self.lengths.size == 0:
            raise InputError("there are no training examples")
        if max_tokens is not None and int(self.lengths.max()) > max_tokens:
            raise InputError(
                f"example {int(self.lengths.argmax())} has {int(self.lengths.max())} tokens, more than "
                f"max_tokens_per_batch {max_tokens}: raise it or shorten max_seq_length"
            )
        self.batch_size, self.batches_per_step = batch_size, batches_per_step
        self.max_tokens, self.by_length, self.seed = max_tokens, by_length, seed
        self._plan = lru_cache(maxsize=2)(self._make_plan)

    def steps(self, epoch: int) -> int:
        """How many steps an epoch has; with a cap on tokens this differs from epoch to epoch."""
        if self.max_tokens is None:
            return -(-len(self.lengths) // (self.batch_size * self.batches_per_step))
        return len(self._plan(epoch)[2])

    def step(self, epoch: int, position: int) -> list[Indices]:
        """The batches of one step, each an array of example numbers."""
        order, bounds, steps = self._plan(epoch)
        first = int(steps[position]) * self.batches_per_step
        last = min(first + self.batches_per_step, len(bounds) - 1)
        return [order[bounds[batch] : bounds[batch + 1]] for batch in range(first, last)]

    def padded(self, indices: Indices) -> int:
        """The tokens of a batch, padding included."""
        return int(self.lengths[indices].max()) * len(indices)

    def _make_plan(self, epoch: int) -> tuple[Indices, Indices, Indices]:
        """The examples in order, where each batch begins, and the order of the steps."""
        random = np.random.default_rng([self.seed, epoch])
        order = random.permutation(len(self.lengths))
        pool_size = _POOL_STEPS * self.batches_per_step * self.batch_size
        if self.by_length:
            pools = np.arange(len(order)) // pool_size
            order = order[np.lexsort((-self.lengths[order], pools))]
        if self.max_tokens is None:
            bounds = np.arange(0, len(order), self.batch_size)
        else:
            bounds = self._bounds_by_tokens(order, pool_size if self.by_length else len(order))
        steps = random.permutation(-(-len(bounds) // self.batches_per_step))
        return order, np.append(bounds, len(order)), steps

    def _bounds_by_tokens(self, order: Indices, pool_size: int) -> Indices:
        bounds, start = [], 0
        lengths = self.lengths[order]
        while start < len(order):
            bounds.append(start)
            end = min(start + self.batch_size, (start // pool_size + 1) * pool_size, len(order))
            # The longest so far times the count, for each possible end: the first that exceeds the cap closes.
            longest = np.maximum.accumulate(lengths[start:end])
            fits = longest * np.arange(1, end - start + 1) <= (self.max_tokens or 0)
            start += int(fits.argmin()) if not fits.all() else end - start
        return np.asarray(bounds, dtype=np.int64)


class Course:
    """The way of a run through its epochs: how many steps in all, and where each of them lies."""

    def __init__(self, batches: Batches, *, epochs: float, max_steps: int | None) -> None:
        """Count the steps of the whole run."""
        self._starts = [0]  # the first step of each epoch that the run enters, and of the one after
        while self._starts[-1] < max_steps if max_steps is not None else len(self._starts) <= epochs:
            self._starts.append(self._starts[-1] + batches.steps(len(self._starts) - 1))
        self.total = self._starts[-1] if max_steps is None else max_steps
        part = epochs - int(epochs)
        if max_steps is None and part > 0:
            size = batches.steps(int(epochs))
            self.total += max(1, round(part * size))
            self._starts.append(self._starts[-1] + size)

    def at(self, step: int) -> tuple[int, int]:
        """The epoch of a step and its position in it."""
        epoch = bisect_right(self._starts, step) - 1
        return epoch, step - self._starts[epoch]

    def epoch(self, done: int) -> float:
        """How many epochs so many steps are."""
        epoch, position = self.at(done)
        return epoch + (position / (self._starts[epoch + 1] - self._starts[epoch]) if position else 0.0)

    def ends_epoch(self, done: int) -> bool:
        """Whether an epoch, or the run, is complete after so many steps."""
        return done == self.total or self.at(done)[1] == 0
