"""Information retrieval: which texts of a corpus belong to a query, best first, and how good the order is.

The scores are those of trec_eval and BEIR, in percent, means over the queries. Q queries, N texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tasks.sentences.metrics import Vectors
from pocketbert.text.bm25 import Bm25
from pocketbert.vectors.search import nearest
from pocketbert.vectors.similarity import matrix

DEEP = 100  # how far down an order is looked at


@dataclass(frozen=True)
class Collection:
    """A corpus, queries, and which texts people judged to belong to a query, by their places."""

    corpus: tuple[str, ...]
    queries: tuple[str, ...]
    judged: tuple[Mapping[int, float], ...]
    """For each query: place in the corpus -> how relevant, above 0."""

    def __post_init__(self) -> None:
        if len(self.queries) != len(self.judged):
            raise InputError(f"{len(self.queries)} queries came with judgements of {len(self.judged)}")
        if not any(self.judged):
            raise InputError("no query has a relevant text in the corpus; there is nothing to measure")

    def first(self, count: int | None) -> Collection:
        """The same corpus with the first so many queries."""
        return Collection(self.corpus, self.queries[:count], self.judged[:count])


def search(queries: Vectors, corpus: Vectors, *, count: int = DEEP) -> NDArray[np.int64]:
    """The nearest texts of each query by cosine, best first (Q, count); of equals the earlier comes first."""
    return nearest(matrix(queries), matrix(corpus), count, "cosine")[1]


def evaluate(
    ranked: Sequence[Sequence[int]] | NDArray[np.int64], judged: Sequence[Mapping[int, float]]
) -> dict[str, float]:
    """MRR@10, nDCG@10, recall@1, @10 and @100, MAP@100, over the queries that have a relevant text."""
    found: dict[str, list[float]] = {}
    for order, relevant in zip(ranked, judged, strict=True):
        if relevant:
            for name, measure in MEASURES.items():
                found.setdefault(name, []).append(measure([int(place) for place in order], relevant))
    if not found:
        raise InputError("no query has a relevant text; there is nothing to measure")
    return {name: 100.0 * sum(values) / len(values) for name, values in found.items()}


def reciprocal_rank(order: Sequence[int], relevant: Mapping[int, float], *, top: int = 10) -> float:
    """One divided by the place of the first relevant text, and nothing if there is none down to `top`."""
    return next((1 / place for place, text in enumerate(order[:top], start=1) if text in relevant), 0.0)


def ndcg(order: Sequence[int], relevant: Mapping[int, float], *, top: int = 10) -> float:
    """Relevance divided by log2(place + 1), summed, beside what the best order would give."""
    best = sorted(relevant.values(), reverse=True)[:top]
    ideal = sum(gain / math.log2(place + 1) for place, gain in enumerate(best, start=1))
    gained = sum(
        relevant.get(text, 0.0) / math.log2(place + 1) for place, text in enumerate(order[:top], start=1)
    )
    return gained / ideal


def recall(order: Sequence[int], relevant: Mapping[int, float], *, top: int) -> float:
    """The share of the relevant texts that are found."""
    return sum(text in relevant for text in order[:top]) / len(relevant)


def average_precision(order: Sequence[int], relevant: Mapping[int, float], *, top: int = DEEP) -> float:
    """The precision down to each relevant text, summed, and divided by how many there are."""
    hits, total = 0, 0.0
    for place, text in enumerate(order[:top], start=1):
        if text in relevant:
            hits += 1
            total += hits / place
    return total / len(relevant)


MEASURES: dict[str, Callable[[Sequence[int], Mapping[int, float]], float]] = {
    "mrr@10": reciprocal_rank,
    "ndcg@10": ndcg,
    "recall@1": lambda order, relevant: recall(order, relevant, top=1),
    "recall@10": lambda order, relevant: recall(order, relevant, top=10),
    "recall@100": lambda order, relevant: recall(order, relevant, top=100),
    "map@100": average_precision,
}

WORD = re.compile(r"[^\W_]+")
COMMON = """
    a an and are as at be but by did do does for from had has have he her his how if in into is it its no not of on or
    our she so such than that the their them then there these they this to was we were what when where which who why
    will with you your
"""
STOP = frozenset(COMMON.split())


def terms(text: str) -> list[str]:
    """The words of a text for BM25: in lower case, without the commonest, and without the commonest endings.

    >>> terms("When do the ferries leave?")
    ['ferry', 'leave']
    """
    return [_stem(word) for word in WORD.findall(text.lower()) if word not in STOP]


def bm25_order(collection: Collection, *, count: int = DEEP) -> list[list[int]]:
    """The texts that BM25 finds for each query: the baseline that every embedder is to beat."""
    index = Bm25([terms(text) for text in collection.corpus])
    return [index.nearest(terms(query), count) for query in collection.queries]


def _stem(word: str) -> str:
    """Plurals and -ed, -ing, as a light stemmer cuts them."""
    for ending, other, least in (
        ("ies", "y", 2),
        ("sses", "ss", 1),
        ("ing", "", 4),
        ("ed", "", 4),
        ("s", "", 3),
    ):
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= least
            and not word.endswith(("ss", "us", "is"))
        ):
            return word[: -len(ending)] + other
    return word
