"""Vectors on a plane, near where they are near: principal components first, then neighbours pull and strangers push.

The second step follows UMAP (McInnes et al. 2018, arXiv 1802.03426) in its simplest form: every neighbour counts alike
and all dots move at once. The same vectors always give the same picture.

Shapes: N vectors of D numbers, K neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pocketbert.vectors.search import nearest
from pocketbert.vectors.similarity import Floats, unit

Places = NDArray[np.float64]

NEIGHBOURS = 10
STRANGERS = 5  # others that push a dot in each step, drawn anew
STEPS = 200
# The curve 1 / (1 + a d^2b) of how near two dots look, for dots that may come as near as 0.1.
A, B = 1.577, 0.895
LARGEST = 4.0  # of one push or pull
RATE = 0.15


def on_a_plane(vectors: Floats, *, steps: int = STEPS) -> Places:
    """Where each vector is drawn (N, 2), between 0 and 1."""
    places = components(unit(vectors), 2)
    count = min(NEIGHBOURS, len(vectors) - 1)
    if count >= 2:
        places = 10 * framed(places)
        _, near = nearest(vectors, vectors, count + 1, "cosine")
        places = settled(places, near, steps)
    return framed(places)


def components(vectors: Floats, count: int) -> Places:
    """The first principal components (N, count); nought where vectors do not vary so much."""
    found = np.zeros((len(vectors), count))
    if not len(vectors):
        return found
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :count]
    # An axis may point either way; let the largest entry be positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    found[:, : axes.shape[1]] = centred @ axes
    return found


def settled(places: Places, near: NDArray[np.int64], steps: int) -> Places:
    """Dots moved until neighbours (N, K) are near and others are not."""
    generator = np.random.default_rng(0)
    among = len(places)
    left = np.repeat(np.arange(among), near.shape[1])
    right = near.ravel()
    left, right = left[left != right], right[left != right]  # a vector is its own neighbour
    for step in range(steps):
        rate = RATE * (1 - step / steps)
        apart = places[left] - places[right]
        squares = np.maximum(np.square(apart).sum(axis=1), 1e-12)  # dots of equal texts lie on each other
        pull = -2 * A * B * squares ** (B - 1) / (1 + A * squares**B)
        moves = _limited(pull[:, None] * apart)
        places = places + rate * (_summed(left, moves, among) - _summed(right, moves, among))
        others = generator.integers(among, size=(STRANGERS, among))
        for stranger in others:
            apart = places - places[stranger]
            squares = np.square(apart).sum(axis=1)
            push = 2 * B / ((0.001 + squares) * (1 + A * squares**B))
            places = places + rate * _limited(push[:, None] * apart)
    return places


def framed(places: Places) -> Places:
    """Places between 0 and 1, with the same scale both ways, in the middle."""
    if not len(places):
        return places
    low, high = places.min(axis=0), places.max(axis=0)
    size = float((high - low).max())
    return np.asarray((places - (low + high) / 2) / size + 0.5 if size > 0 else np.full_like(places, 0.5))


def _limited(moves: Places) -> Places:
    return np.clip(moves, -LARGEST, LARGEST)


def _summed(numbers: NDArray[np.int64], moves: Places, among: int) -> Places:
    """The sum of the moves of each dot."""
    return np.stack(
        [np.bincount(numbers, weights=moves[:, axis], minlength=among) for axis in (0, 1)], axis=1
    )
