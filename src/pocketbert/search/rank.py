"""The passages that fit a query best: by their words, by their meaning, or by both.

Words find names, numbers and rare terms; vectors find what is said in other words. Their scores cannot be compared, but
their orders can: reciprocal rank fusion (Cormack, Clarke and Büttcher 2009) gives a passage 1 / (60 + its place) from
each order that it is in. A cross-encoder may then read the best of them together with the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from pocketbert.errors import InputError, SearchError, check_count
from pocketbert.runtime.embed import Embedder
from pocketbert.runtime.rerank import Reranker
from pocketbert.search.store import LARGEST_COUNT, Filter, Kept, Store

By = Literal["words", "vectors", "both"]

FUSION = 60
DEPTH = 100  # places of each order that are fused, at least
RERANKED = 50  # passages that a cross-encoder reads


@dataclass(frozen=True)
class Hit:
    """A passage that was found."""

    kept: Kept
    score: float
    """BM25, the cosine, the fused score or that of the reranker: comparable within one search only."""
    by_words: int | None
    """Its place in the order by words, from 1; None if it is not among the best of it, as for vectors."""
    by_vectors: int | None

    def to_json(self) -> dict[str, Any]:
        """The hit as `pocketbert search --json` prints it."""
        passage = self.kept.passage
        return {
            "file": self.kept.path,
            "page": self.kept.where.page,
            "line": self.kept.where.line,
            "start": passage.start,
            "end": passage.end,
            "score": round(self.score, 6),
            "by_words": self.by_words,
            "by_vectors": self.by_vectors,
            "text": passage.text,
        }


class Searcher:
    """Finds passages in a store; the embedder is the one that the store was made with, or None."""

    def __init__(
        self, store: Store, embedder: Embedder | None = None, *, reranker: Reranker | None = None
    ) -> None:
        self.store = store
        self._embedder = embedder
        self._reranker = reranker

    @property
    def usual(self) -> By:
        """How is searched if nothing is said: by both if there are vectors."""
        return "words" if self._embedder is None or self.store.settings.embedder is None else "both"

    def search(
        self, query: str, *, top: int = 10, by: By | None = None, where: Filter | None = None
    ) -> list[Hit]:
        """The best passages, the best first."""
        check_count("top", top)
        if top > LARGEST_COUNT:
            raise InputError(f"top is {top}; at most {LARGEST_COUNT} passages can be found at once")
        if not isinstance(query, str) or not query.strip():
            raise InputError("the query is empty; give some words")
        by = by or self.usual
        if by not in get_args(By):
            raise InputError(f"by is {by!r}; allowed are {', '.join(map(repr, get_args(By)))}")
        depth = min(max(top, DEPTH), LARGEST_COUNT)
        wanted = where or Filter()
        words = self.store.by_words(query, depth, wanted) if by != "vectors" else []
        vectors = self._by_vectors(query, depth, wanted) if by != "words" else []
        scores = fused(words, vectors) if by == "both" else dict(words or vectors)
        best = list(scores)[: top if self._reranker is None else max(top, RERANKED)]
        places = [{id: place for place, (id, _) in enumerate(order, 1)} for order in (words, vectors)]  # noqa: A001
        hits = [
            Hit(kept, scores[kept.id], places[0].get(kept.id), places[1].get(kept.id))
            for kept in self.store.fetch(best)
        ]
        return hits if self._reranker is None else self._reranked(query, hits)[:top]

    def _by_vectors(self, query: str, depth: int, where: Filter) -> list[tuple[int, float]]:
        if self._embedder is None:
            raise SearchError(
                f"{self.store.name} has no vectors, or no embedder is loaded; search by words, or index with a model"
            )
        vector = np.asarray(self._embedder.encode_query(query), dtype=np.float32)
        return self.store.by_vector(vector, depth, where)

    def _reranked(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        if self._reranker is None or not hits:
            return list(hits)
        ranked = self._reranker.rank(query, [hit.kept.passage.text.strip() for hit in hits])
        found = [(hits[row["corpus_id"]], row["score"]) for row in ranked]
        return [Hit(hit.kept, score, hit.by_words, hit.by_vectors) for hit, score in found]


def fused(*orders: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Ids with the sum of 1 / (60 + place) over the orders they are in, the best first; of equals the lower id.

    >>> fused([(7, 3.1), (8, 2.0)], [(8, 0.9)])
    {8: 0.03252247488101534, 7: 0.01639344262295082}
    """
    scores: dict[int, float] = {}
    for order in orders:
        for place, (number, _) in enumerate(order, start=1):
            scores[number] = scores.get(number, 0.0) + 1.0 / (FUSION + place)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
