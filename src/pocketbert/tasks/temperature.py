"""Fit the temperature of a model with labels on texts that it has not seen: least log loss, nothing else changes.

A Gaussian prior of standard deviation 1 round a log temperature of 0 is worth one observation: it vanishes among
hundreds of texts, and keeps the number finite on a handful that are all right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pocketbert.errors import InputError

LIMITS = (0.05, 20.0)


def of_classes(logits: ArrayLike, truth: ArrayLike) -> float:
    """For one label a text or word: logits (N, labels), class numbers (N,)."""
    rows = np.asarray(logits, dtype=np.float64)
    right = np.asarray(truth, dtype=np.int64)
    _check(len(rows), len(right))

    def loss(temperature: float) -> float:
        scaled = rows / temperature
        peak = scaled.max(axis=1)
        totals = peak + np.log(np.exp(scaled - peak[:, None]).sum(axis=1))
        return float((totals - scaled[np.arange(len(right)), right]).sum())

    return _fit(loss)


def of_decisions(logits: ArrayLike, truth: ArrayLike) -> float:
    """For any number of labels a text: logits (N, labels), zeros and ones (N, labels)."""
    rows, right = np.asarray(logits, dtype=np.float64), np.asarray(truth) > 0.5
    _check(len(rows), len(right))

    def loss(temperature: float) -> float:
        scaled = rows / temperature
        return float(np.logaddexp(0.0, np.where(right, -scaled, scaled)).sum())

    return _fit(loss)


def least(loss: Callable[[float], float], low: float, high: float) -> float:
    """The value between two positive ones where a loss is least: a grid, then golden sections, on the log scale."""
    grid = np.geomspace(low, high, 25)
    place = int(np.argmin([loss(float(value)) for value in grid]))
    left, right = np.log(grid[max(place - 1, 0)]), np.log(grid[min(place + 1, len(grid) - 1)])
    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    while right - left > 1e-4:
        lower, upper = right - ratio * (right - left), left + ratio * (right - left)
        if loss(float(np.exp(lower))) <= loss(float(np.exp(upper))):
            right = upper
        else:
            left = lower
    return float(np.exp((left + right) / 2))


def _fit(loss: Callable[[float], float]) -> float:
    return least(lambda heat: loss(heat) + float(np.log(heat)) ** 2 / 2, *LIMITS)


def _check(rows: int, truth: int) -> None:
    if rows != truth or not rows:
        raise InputError(f"{rows} rows of logits came with {truth} truths; give as many of both, and some")
