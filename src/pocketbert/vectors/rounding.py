"""Vectors in fewer bits, as sentence-transformers rounds them: a byte a number, or a bit."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import InputError

VectorPrecision = Literal["float32", "int8", "uint8", "binary", "ubinary"]
"""float32 is as computed; int8 and uint8 are 256 steps between the least and the most of each dimension; binary and
ubinary are a bit a dimension, eight to a byte, set where the number is above nought."""


def quantize_embeddings(
    embeddings: ArrayLike,
    precision: VectorPrecision,
    ranges: ArrayLike | None = None,
    calibration_embeddings: ArrayLike | None = None,
) -> NDArray[Any]:
    """Round vectors. `ranges` (2, D) are the least and the most of each dimension, for int8 and uint8.

    Without them they are taken from `calibration_embeddings`, or else from the vectors themselves, of which there must
    be more than one: vectors that are to be compared must have been rounded with the same ranges.

    >>> quantize_embeddings([[255.0, -510.0], [0.0, 0.0]], "uint8").tolist()
    [[255, 0], [0, 255]]
    """
    check_precision(precision)
    given = np.asarray(embeddings)
    if not np.issubdtype(given.dtype, np.floating):
        raise InputError(
            f"the vectors to round are {given.dtype}; give them as computed, in floating point: rounded ones "
            "cannot be rounded again"
        )
    if precision == "float32":
        return given.astype(np.float32)
    if precision in ("binary", "ubinary"):
        packed: NDArray[np.uint8] = np.packbits(given > 0, axis=-1)
        return packed if precision == "ubinary" else np.asarray(packed - 128, dtype=np.int8)
    if given.ndim == 2 and not len(given):
        return np.zeros(given.shape, dtype=precision)
    low, high = np.asarray(
        _ranges(given, precision, calibration_embeddings) if ranges is None else ranges, dtype=np.float32
    )
    steps = (high - low) / 255
    steps = np.where(steps == 0, 1, steps)
    whole = np.clip(np.floor((given - low) / steps), 0, 255)
    return np.asarray(whole if precision == "uint8" else whole - 128, dtype=precision)


def check_precision(precision: object) -> None:
    """Refuse what is no precision of vectors."""
    if precision not in get_args(VectorPrecision):
        allowed = ", ".join(map(repr, get_args(VectorPrecision)))
        raise InputError(f"precision is {precision!r}; allowed are {allowed}")


def _ranges(given: NDArray[Any], precision: str, calibration: ArrayLike | None) -> NDArray[Any]:
    shown = given if calibration is None else np.asarray(calibration)
    if shown.ndim == 1 or len(shown) < 2:
        raise InputError(
            f"one vector does not tell between which numbers {precision} has to tell apart; give ranges= or "
            "calibration_embeddings= to quantize_embeddings, from texts like those to come"
        )
    return np.stack([shown.min(axis=0), shown.max(axis=0)])
