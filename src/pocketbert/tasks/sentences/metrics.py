"""How good vectors are, in percent: likeness of pairs, same or not, triplets, and pairs to be found among all texts.

Vectors are compared by their cosine. N pairs, D dimensions.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import InputError
from pocketbert.tasks import scores
from pocketbert.vectors.search import paraphrase_mining_embeddings
from pocketbert.vectors.similarity import unit

Vectors = NDArray[np.floating]


def cosines(left: Vectors, right: Vectors) -> NDArray[np.float64]:
    """The cosine of each pair (N,)."""
    found: NDArray[np.float64] = np.einsum("nd,nd->n", unit(left), unit(right), dtype=np.float64)
    return found


def likeness(left: Vectors, right: Vectors, truth: ArrayLike) -> dict[str, float]:
    """Semantic textual similarity: how the cosines of pairs go along with the scores that people gave them."""
    found = cosines(left, right)
    return {"pearson": scores.pearson(truth, found), "spearman": scores.spearman(truth, found)}


def same(said: ArrayLike, truth: ArrayLike) -> dict[str, float]:
    """Pairs that are alike (1) or not (0), told apart by a threshold on what is said of them.

    The best accuracy and the best F1 that a threshold gives, each with its own, and the average precision, which needs
    none: the mean, over the pairs that are alike, of the precision down to each of them.
    """
    values, labels = np.asarray(said, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if not 0 < labels.sum() < len(labels):
        raise InputError("all pairs have the same label; some must be alike (1) and some not (0)")
    order = np.argsort(-values, kind="stable")
    values, labels = values[order], labels[order]
    # A threshold lies between two different values: pairs with the same one go together.
    ends = np.append(np.flatnonzero(np.diff(values) != 0), len(values) - 1)
    alike = np.cumsum(labels)[ends]
    taken = ends + 1.0
    precision, recall = alike / taken, alike / labels.sum()
    f1 = 2 * alike / (taken + labels.sum())
    right = (alike + (len(labels) - labels.sum()) - (taken - alike)) / len(labels)
    none = 1 - labels.mean()  # what refusing every pair gives
    best = int(right.argmax())
    return {
        "accuracy": 100.0 * float(max(right[best], none)),
        "accuracy_threshold": _between(values, ends, best) if right[best] >= none else float(values[0]) + 1.0,
        "f1": 100.0 * float(f1.max()),
        "f1_threshold": _between(values, ends, int(f1.argmax())),
        "ap": 100.0 * float(np.sum(precision * np.diff(recall, prepend=0.0))),
    }


def triplets(anchor: Vectors, positive: Vectors, negative: Vectors) -> dict[str, float]:
    """How often the positive is nearer to its anchor than the negative."""
    return {"accuracy": 100.0 * float((cosines(anchor, positive) > cosines(anchor, negative)).mean())}


def mining(
    vectors: Vectors, pairs: Collection[tuple[int, int]], *, most: int = 100, limit: int = 500_000
) -> dict[str, float]:
    """Paraphrase mining: how early the true pairs come when all pairs of texts stand in the order of likeness.

    Each text offers its `most` nearest, and the first `limit` pairs are looked at. The average precision counts a true
    pair that is not among them as never found; F1 is the best that a threshold gives.
    """
    true = {(min(pair), max(pair)) for pair in pairs}
    if not true:
        raise InputError("there is no true pair to be found; give one or more")
    for pair in true:
        if not 0 <= pair[0] < pair[1] < len(vectors):
            raise InputError(
                f"the true pair {pair} must be two different numbers of texts, from 0 to {len(vectors) - 1}"
            )
    ranked = paraphrase_mining_embeddings(vectors, max_pairs=limit, top_k=most)
    hits = np.array([(low, high) in true for _, low, high in ranked], dtype=np.float64)
    found, place = np.cumsum(hits), np.arange(1, len(hits) + 1)
    f1 = 2 * found / (place + len(true))
    best = int(f1.argmax())
    return {
        "ap": 100.0 * float((hits * found / place).sum() / len(true)),
        "f1": 100.0 * float(f1[best]),
        "threshold": float((ranked[best][0] + ranked[min(best + 1, len(ranked) - 1)][0]) / 2),
    }


def _between(values: NDArray[np.float64], ends: NDArray[np.int64], place: int) -> float:
    """A threshold half-way between the last value that is taken and the first that is not."""
    last = values[ends[place]]
    after = values[ends[place] + 1] if place + 1 < len(ends) else last
    return float((last + after) / 2)
