"""How alike vectors are, by sentence-transformers' four measures; distances count as negative, so that more is nearer.

Shapes: N and M vectors of D numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import InputError
from pocketbert.text.sentence_config import Similarity

Floats = NDArray[np.float32]
Score = Similarity | Callable[[Any, Any], ArrayLike]
"""The name of a measure, or a function that takes (N, D) and (M, D) and gives (N, M)."""
ELEMENTS = 1 << 22
"""Numbers of a block that is computed at once: 16 MB."""


def similarity(
    embeddings1: ArrayLike, embeddings2: ArrayLike, *, similarity_fn_name: Similarity = "cosine"
) -> Floats:
    """How alike each vector of the first is to each of the second, (N, M); one vector may stand for a list of one.

    >>> similarity([[1.0, 0.0]], [[1.0, 0.0], [0.0, 2.0]]).tolist()
    [[1.0, 0.0]]
    """
    left, right = matrix(embeddings1), matrix(embeddings2)
    _check_widths(left, right)
    return _MEASURES[_known(similarity_fn_name)](left, right)


def similarity_pairwise(
    embeddings1: ArrayLike, embeddings2: ArrayLike, *, similarity_fn_name: Similarity = "cosine"
) -> Floats:
    """How alike the first vector is to the first, the second to the second, and so on: (N,).

    >>> similarity_pairwise([[1.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [1.0, 0.0]]).tolist()
    [1.0, 0.0]
    """
    left, right = _floats(embeddings1), _floats(embeddings2)
    _check_widths(left, right)
    if left.ndim == right.ndim == 2 and len(left) != len(right):
        raise InputError(f"there are {len(left)} and {len(right)} vectors; give as many of both")
    name = _known(similarity_fn_name)
    if name == "cosine":
        left, right = unit(left), unit(right)
    if name in ("cosine", "dot"):
        return np.asarray((left * right).sum(axis=-1), dtype=np.float32)
    difference = left - right
    size = np.abs(difference).sum(axis=-1) if name == "manhattan" else np.linalg.norm(difference, axis=-1)
    return np.asarray(-size, dtype=np.float32)


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Vectors of length one; one that is nought stays so."""
    found = np.asarray(vectors, dtype=np.float32)
    made: Floats = found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-12)
    return made


def matrix(vectors: ArrayLike) -> Floats:
    """Vectors as one array (N, D) of float32; a single vector is a row."""
    found = _floats(vectors)
    return found[None] if found.ndim == 1 else found


def scorer(given: Score) -> Callable[[Floats, Floats], Floats]:
    """The function that a measure's name stands for, or the given one."""
    if callable(given):
        function = given

        def score(left: Floats, right: Floats) -> Floats:
            made = np.asarray(function(left, right), dtype=np.float32)
            if made.shape != (len(left), len(right)):
                raise InputError(
                    f"the score function gave {made.shape} for {len(left)} and {len(right)} vectors; a matrix with "
                    "a score for each two is needed"
                )
            return made

        return score
    return _MEASURES[_known(given)]


def _floats(vectors: ArrayLike) -> Floats:
    try:
        found = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"the vectors are no array of numbers ({error}); give a list of rows") from error
    if found.ndim not in (1, 2):
        raise InputError(f"the vectors have the shape {found.shape}; give one vector, or rows of them (N, D)")
    if not np.isfinite(found.sum()):
        raise InputError(
            "the vectors hold numbers that are infinite or none at all (nan); nothing is near to those"
        )
    return found


def _check_widths(left: Floats, right: Floats) -> None:
    if left.shape[-1] != right.shape[-1]:
        raise InputError(
            f"vectors of {left.shape[-1]} and of {right.shape[-1]} numbers cannot be compared; encode both with the "
            "same model and truncate_dim"
        )


def _known(name: object) -> Similarity:
    for known in get_args(Similarity):
        if name == known:
            return known  # type: ignore[no-any-return]
    allowed = ", ".join(map(repr, get_args(Similarity)))
    raise InputError(f"similarity_fn_name is {name!r}; allowed are {allowed}")


def _cosine(left: Floats, right: Floats) -> Floats:
    return unit(left) @ unit(right).T


def _dot(left: Floats, right: Floats) -> Floats:
    return left @ right.T


def _euclidean(left: Floats, right: Floats) -> Floats:
    # In double precision: the squares of near vectors nearly cancel out.
    wide = right.astype(np.float64)
    squares = np.square(wide).sum(axis=1)
    found = np.empty((len(left), len(right)), dtype=np.float32)
    block = max(1, ELEMENTS // max(len(right), 1))
    for start in range(0, len(left), block):
        part = left[start : start + block].astype(np.float64)
        apart = np.square(part).sum(axis=1)[:, None] + squares - 2 * part @ wide.T
        found[start : start + block] = -np.sqrt(np.maximum(apart, 0))
    return found


def _manhattan(left: Floats, right: Floats) -> Floats:
    found = np.empty((len(left), len(right)), dtype=np.float32)
    for number, row in enumerate(left):
        found[number] = -np.abs(right - row).sum(axis=1)
    return found


_MEASURES: dict[Similarity, Callable[[Floats, Floats], Floats]] = {
    "cosine": _cosine,
    "dot": _dot,
    "euclidean": _euclidean,
    "manhattan": _manhattan,
}
