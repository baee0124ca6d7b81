"""The nearest of many vectors: for queries, or for all pairs of a list; in blocks, so that memory stays bounded.

Equal scores come in the order of their numbers, whatever the blocks.

Shapes: Q queries, C vectors of a corpus, N vectors of a list, K nearest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import InputError, check_count
from pocketbert.vectors.similarity import ELEMENTS, Floats, Score, matrix, scorer, unit

Integers = NDArray[np.int64]
LOWEST = float(np.finfo(np.float32).min)
WIDEST = 1 << 16
"""Vectors of a corpus in a block: more would leave too few queries beside them."""


def semantic_search(
    query_embeddings: ArrayLike,
    corpus_embeddings: ArrayLike,
    query_chunk_size: int = 100,
    corpus_chunk_size: int = 500_000,
    top_k: int = 10,
    score_function: Score = "cosine",
) -> list[list[dict[str, int | float]]]:
    """For each query the nearest vectors of a corpus, the best first: [[{"corpus_id", "score"}, …], …].

    >>> semantic_search([1.0, 0.0], [[0.0, 1.0], [2.0, 0.0]], top_k=1)
    [[{'corpus_id': 1, 'score': 1.0}]]
    """
    for name, value in (("query_chunk_size", query_chunk_size), ("corpus_chunk_size", corpus_chunk_size)):
        check_count(name, value)
    check_count("top_k", top_k)
    queries, corpus = matrix(query_embeddings), matrix(corpus_embeddings)
    _check_same_width(queries, corpus)
    if not len(corpus):
        return [[] for _ in queries]
    scores, ids = nearest(
        queries, corpus, top_k, score_function, rows=query_chunk_size, columns=corpus_chunk_size
    )
    return [
        [{"corpus_id": place, "score": score} for place, score in zip(*row, strict=True)]
        for row in zip(ids.tolist(), scores.tolist(), strict=True)
    ]


def paraphrase_mining_embeddings(
    embeddings: ArrayLike,
    query_chunk_size: int = 5000,
    corpus_chunk_size: int = 100_000,
    max_pairs: int = 500_000,
    top_k: int = 100,
    score_function: Score = "cosine",
) -> list[list[float | int]]:
    """The vectors of a list that are most alike: [[score, first, second], …], the most alike first.

    Of each vector its `top_k` nearest are considered, and `max_pairs` are given. The score is taken to be the same both
    ways round.

    >>> paraphrase_mining_embeddings([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], max_pairs=1)
    [[1.0, 0, 2]]
    """
    sizes = {
        "query_chunk_size": query_chunk_size,
        "corpus_chunk_size": corpus_chunk_size,
        "max_pairs": max_pairs,
        "top_k": top_k,
    }
    for name, value in sizes.items():
        check_count(name, value)
    vectors = matrix(embeddings)
    if len(vectors) < 2:
        return []
    # Of the best pairs of all, none has a vector with `top_k` better neighbours, if there are so few of them.
    if max_pairs <= top_k and score_function in ("cosine", "dot"):
        found = best_pairs(unit(vectors) if score_function == "cosine" else vectors, max_pairs)
    else:
        found = _mined(vectors, query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function)
    columns = (column.tolist() for column in found.best())
    return [[score, first, second] for score, first, second in zip(*columns, strict=True)]


class BestPairs:
    """The best pairs of vectors so far, at most so many; each once, by the score that came first."""

    def __init__(self, most: int, among: int) -> None:
        self._most, self._among = most, among
        self._parts: list[tuple[Floats, Integers, Integers]] = []
        self._waiting = 0  # pairs that came since the best were chosen
        self._floor = -np.inf

    def add(self, scores: Floats, firsts: Integers, seconds: Integers) -> None:
        """Take pairs in, in which the smaller number is the first."""
        self._parts.append((scores, firsts, seconds))
        self._waiting += len(scores)

    @property
    def floor(self) -> float:
        """A score that a pair must reach to be among the best."""
        if self._waiting >= self._most:  # seldom, for choosing takes longer than collecting
            self.best()
        return self._floor

    def best(self) -> tuple[Floats, Integers, Integers]:
        """Scores and numbers of the best pairs, the best first."""
        nothing = np.empty(0, dtype=np.int64)
        self._parts.append((nothing.astype(np.float32), nothing, nothing))
        scores = np.concatenate([part[0] for part in self._parts])
        firsts = np.concatenate([part[1] for part in self._parts])
        seconds = np.concatenate([part[2] for part in self._parts])
        _, once = np.unique(firsts * self._among + seconds, return_index=True)
        order = np.lexsort((seconds[once], firsts[once], -scores[once]))
        chosen = once[order[: self._most]]
        best = scores[chosen], firsts[chosen], seconds[chosen]
        self._parts, self._waiting = [best], 0
        if len(chosen) == self._most:
            self._floor = float(best[0][-1])
        return best


def best_pairs(vectors: Floats, most: int) -> BestPairs:
    """The pairs with the largest dot products. Half of all products are computed: those of later vectors with earlier.

    Of a block only what beats the worst pair so far is looked at, which after the first block is next to nothing.
    """
    among = len(vectors)
    kept = BestPairs(most, among)
    block = max(1, min(1024, ELEMENTS // among))
    for start in range(0, among, block):
        rows = vectors[start : start + block]
        scores = rows @ vectors[start:].T  # (rows, N - start)
        scores[np.tril_indices(len(rows))] = -np.inf  # itself, and pairs that another row has
        floor = kept.floor
        if floor == -np.inf and most < scores.size:
            floor = float(np.partition(scores, -most, axis=None)[-most])
        hopeful = np.flatnonzero(scores.max(axis=1) >= floor)
        left, right = np.nonzero(scores[hopeful] >= max(floor, LOWEST))
        left = hopeful[left]
        kept.add(scores[left, right], left + start, right + start)
    return kept


def top(scores: Floats, count: int) -> tuple[Floats, Integers]:
    """The largest numbers of each row (Q, K), and where they stand; of equal ones the first.

    >>> top(np.array([[0.5, 0.9, 0.9, 0.1]], dtype=np.float32), 2)[1].tolist()
    [[1, 2]]
    """
    count = min(count, scores.shape[1])
    least = np.partition(scores, -count, axis=1)[:, -count]
    rows, columns = np.nonzero(scores >= least[:, None])  # more than asked for, if some are equal
    order = np.lexsort((columns, -scores[rows, columns], rows))
    begins = np.searchsorted(rows, np.arange(len(scores)))  # lexsort keeps rows in their order
    chosen = order[begins[:, None] + np.arange(count)]
    places = columns[chosen]
    return np.take_along_axis(scores, places, axis=1), places


def nearest(
    queries: Floats,
    corpus: Floats,
    count: int,
    score: Score,
    *,
    rows: int = 5000,
    columns: int = WIDEST,
) -> tuple[Floats, Integers]:
    """Scores and numbers (Q, K) of the nearest vectors."""
    parts = list(_nearest_by_block(queries, corpus, count, score, rows=rows, columns=columns))
    empty = np.empty((0, min(count, len(corpus))))
    if not parts:
        return empty.astype(np.float32), empty.astype(np.int64)
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _nearest_by_block(
    queries: Floats, corpus: Floats, count: int, score: Score, *, rows: int, columns: int
) -> Iterator[tuple[Floats, Integers]]:
    if score == "cosine":
        queries, corpus, score = unit(queries), unit(corpus), "dot"
    function = scorer(score)
    columns = min(columns, len(corpus), WIDEST)
    rows = max(1, min(rows, ELEMENTS // columns))
    for start in range(0, len(queries), rows):
        some = queries[start : start + rows]
        best: tuple[Floats, Integers] | None = None
        for first in range(0, len(corpus), columns):
            scores, places = top(function(some, corpus[first : first + columns]), count)
            places = places + first
            if best is not None:
                scores, places = np.hstack([best[0], scores]), np.hstack([best[1], places])
                scores, chosen = top(scores, count)
                places = np.take_along_axis(places, chosen, axis=1)
            best = scores, places
        if best is not None:
            yield best


def _mined(vectors: Floats, rows: int, columns: int, most: int, count: int, score: Score) -> BestPairs:
    kept = BestPairs(most, len(vectors))
    start = 0
    for scores, places in _nearest_by_block(vectors, vectors, count + 1, score, rows=rows, columns=columns):
        itself = np.arange(start, start + len(scores))[:, None]
        start += len(scores)
        other = places != itself
        # One more than wanted was looked for, because a vector is its own neighbour; nearly always the first.
        wanted = other & (np.cumsum(other, axis=1) <= count) & (scores >= kept.floor)
        firsts, seconds = np.broadcast_to(itself, places.shape)[wanted], places[wanted]
        kept.add(scores[wanted], np.minimum(firsts, seconds), np.maximum(firsts, seconds))
    return kept


def _check_same_width(queries: Floats, corpus: Floats) -> None:
    if len(corpus) and queries.shape[1] != corpus.shape[1]:
        raise InputError(
            f"queries have {queries.shape[1]} numbers and the corpus {corpus.shape[1]}; encode both with the same "
            "model and truncate_dim"
        )
