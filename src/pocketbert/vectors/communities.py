"""Groups of like vectors: sentence-transformers' fast community detection, and the one that stands for each group.

A group is a vector and all that are at least so near to it. The largest groups are formed first, and each vector is of
one group at most. How many are near is counted for all vectors first; who they are is looked up again for those
whose turn comes, so that memory does not grow with the square of their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import InputError, check_count
from pocketbert.vectors.progress import Progress
from pocketbert.vectors.similarity import ELEMENTS, Floats, matrix, unit


def community_detection(
    embeddings: ArrayLike,
    threshold: float = 0.75,
    min_community_size: int = 10,
    batch_size: int = 1024,
    show_progress_bar: bool = False,
) -> list[list[int]]:
    """Groups of vectors whose cosine to the first of their group is `threshold` or more, the largest group first.

    In a group the centre comes first, then the others, the nearest first.

    >>> community_detection([[1, 0], [0, 1], [1, 0.1], [0.1, 1], [1, 0.2]], min_community_size=2)
    [[0, 2, 4], [1, 3]]
    """
    check_count("min_community_size", min_community_size)
    check_count("batch_size", batch_size)
    if not isinstance(threshold, (int, float)) or isinstance(threshold, bool) or not -1 <= threshold <= 1:
        raise InputError(f"threshold is {threshold!r}; it must be a cosine, from -1 to 1")
    vectors = unit(matrix(embeddings)) if np.size(embeddings) else np.empty((0, 0), dtype=np.float32)
    if len(vectors) < min_community_size:
        return []
    counts = []
    with Progress(show_progress_bar, "vectors", len(vectors)) as progress:
        for near in _near(vectors, vectors, threshold, batch_size):
            counts.append(np.count_nonzero(near, axis=1))
            progress.add(len(near))
    sizes = np.concatenate(counts)
    centres = np.argsort(-sizes, kind="stable")
    centres = centres[sizes[centres] >= min_community_size]
    used = np.zeros(len(vectors), dtype=np.bool_)
    found = [
        group
        for start in range(0, len(centres), 64)
        for group in _claimed(centres[start : start + 64], vectors, threshold, min_community_size, used)
    ]
    return sorted(found, key=len, reverse=True)


def headline(group: Sequence[int], vectors: Floats) -> int:
    """The member of a group that is nearest to its centre, the mean direction of all members."""
    members = unit(vectors[list(group)])
    return group[int((members @ members.mean(axis=0)).argmax())]


def _near(some: Floats, vectors: Floats, threshold: float, batch_size: int) -> Iterator[NDArray[np.bool_]]:
    """Which vectors are near to each of some, block by block."""
    block = max(1, min(batch_size, ELEMENTS // len(vectors)))
    for start in range(0, len(some), block):
        yield some[start : start + block] @ vectors.T >= np.float32(threshold)


def _claimed(
    centres: NDArray[np.int64], vectors: Floats, threshold: float, least: int, used: NDArray[np.bool_]
) -> Iterator[list[int]]:
    """The groups that form around centres, in their order, of vectors that are not in use yet."""
    waiting = centres[~used[centres]]
    for centre, scores in zip(waiting.tolist(), vectors[waiting] @ vectors.T, strict=True):
        if used[centre]:
            continue
        free = np.flatnonzero((scores >= np.float32(threshold)) & ~used)
        if len(free) < least:
            continue
        nearest_first = free[np.argsort(-scores[free], kind="stable")]
        group = [centre, *nearest_first[nearest_first != centre].tolist()]
        used[group] = True
        yield group
