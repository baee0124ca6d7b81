"""Okapi BM25 over a fixed set of texts, with numpy and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt


class Bm25:
    """An index that scores every text against a bag of terms (k1 = 1.2, b = 0.75)."""

    def __init__(self, texts: Sequence[Iterable[str]], *, k1: float = 1.2, b: float = 0.75) -> None:
        counts = [Counter(terms) for terms in texts]
        lengths = np.array([sum(count.values()) for count in counts], dtype=np.float64)
        penalty = k1 * (1 - b + b * lengths / max(lengths.mean(), 1.0)) if len(counts) else lengths
        places: dict[str, list[int]] = {}
        frequencies: dict[str, list[int]] = {}
        for index, count in enumerate(counts):
            for term, frequency in count.items():
                places.setdefault(term, []).append(index)
                frequencies.setdefault(term, []).append(frequency)
        self.size = len(counts)
        self._postings: dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = {}
        for term, where in places.items():
            ids = np.array(where, dtype=np.int64)
            counted = np.array(frequencies[term], dtype=np.float64)
            weight = _idf(len(where), self.size) * counted * (k1 + 1) / (counted + penalty[ids])
            self._postings[term] = (ids, weight)

    def frequency(self, term: str) -> int:
        """How many texts have a term."""
        return len(self._postings[term][0]) if term in self._postings else 0

    def scores(self, terms: Iterable[str]) -> npt.NDArray[np.float64]:
        """What each text scores for these terms; a term counts once, however often it is given."""
        scores = np.zeros(self.size)
        for term in sorted(set(terms)):
            if term in self._postings:
                ids, weights = self._postings[term]
                scores[ids] += weights
        return scores

    def nearest(self, terms: Iterable[str], count: int) -> list[int]:
        """The best texts for these terms, best first; ties by position, so the order never varies."""
        scores = self.scores(terms)
        count = min(count, self.size)
        if not count:
            return []
        top = np.argpartition(-scores, count - 1)[:count]
        best = top[np.lexsort((top, -scores[top]))]
        return [int(index) for index in best if scores[index] > 0]


def _idf(having: int, size: int) -> float:
    return float(np.log1p((size - having + 0.5) / (having + 0.5)))
