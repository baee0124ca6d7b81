"""Comparing, searching, mining, grouping and rounding vectors: what sentence-transformers gives, on random vectors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pocketbert import (
    community_detection,
    paraphrase_mining_embeddings,
    quantize_embeddings,
    semantic_search,
    similarity,
    similarity_pairwise,
)
from pocketbert.errors import InputError
from pocketbert.vectors.communities import headline
from pocketbert.vectors.search import top

MEASURES = ("cosine", "dot", "euclidean", "manhattan")


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Clumps of vectors, so that some are near and groups can be found."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(12, 24))
    return (centres[generator.integers(12, size=300)] + generator.normal(size=(300, 24)) * 0.45).astype(
        np.float32
    )


@pytest.fixture(scope="module")
def theirs():
    import sentence_transformers as st

    return st.util


@pytest.mark.parametrize("name", MEASURES)
def test_measures(name: str, vectors: np.ndarray, theirs) -> None:
    from sentence_transformers.util import SimilarityFunction

    left, right = vectors[:40], vectors[40:80]
    whole = SimilarityFunction.to_similarity_fn(name)(left, right).numpy()
    pairs = SimilarityFunction.to_similarity_pairwise_fn(name)(left, right).numpy()
    assert similarity(left, right, similarity_fn_name=name) == pytest.approx(whole, abs=2e-5)
    assert similarity_pairwise(left, right, similarity_fn_name=name) == pytest.approx(pairs, abs=2e-5)
    assert np.diag(whole) == pytest.approx(pairs, abs=2e-5)
    assert similarity(left[0], right, similarity_fn_name=name).shape == (1, 40)


@pytest.mark.parametrize("sizes", [(100, 500_000), (7, 31)])
@pytest.mark.parametrize("name", ["cos_sim", "dot_score", "euclidean_sim"])
def test_search(name: str, sizes: tuple[int, int], vectors: np.ndarray, theirs) -> None:
    names = {"cos_sim": "cosine", "dot_score": "dot", "euclidean_sim": "euclidean"}
    function = getattr(theirs, name, None) or getattr(theirs.similarity, name)
    expected = theirs.semantic_search(vectors[:20], vectors, *sizes, top_k=6, score_function=function)
    for score in (names[name], lambda left, right: similarity(left, right, similarity_fn_name=names[name])):
        found = semantic_search(vectors[:20], vectors, *sizes, top_k=6, score_function=score)
        assert [[hit["corpus_id"] for hit in row] for row in found] == [
            [hit["corpus_id"] for hit in row] for row in expected
        ]
        scores = [[[hit["score"] for hit in row] for row in part] for part in (found, expected)]
        # Their distance of a vector from itself is far from nought, for they compute it in single precision.
        assert np.array(scores[0]) == pytest.approx(np.array(scores[1]), abs=5e-3 if "eucl" in name else 1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_pairs": 40},
        {"max_pairs": 40, "top_k": 3},
        {"top_k": 2},
        {"query_chunk_size": 11, "corpus_chunk_size": 17, "top_k": 5},
    ],
)
def test_mining(options: dict[str, int], vectors: np.ndarray, theirs) -> None:
    import torch

    expected = theirs.paraphrase_mining_embeddings(torch.from_numpy(vectors), **options)
    found = paraphrase_mining_embeddings(vectors, **options)
    assert len(found) == len(expected)
    assert {(first, second) for _, first, second in found} == {
        (first, second) for _, first, second in expected
    }
    assert [row[0] for row in found] == pytest.approx([row[0] for row in expected], abs=1e-5)
    assert [row[1:] for row in found[:20]] == [row[1:] for row in expected[:20]]
    assert all(first < second for _, first, second in found)


@pytest.mark.parametrize(("threshold", "least"), [(0.75, 10), (0.6, 3), (0.9, 2), (0.99, 5), (-1.0, 2)])
def test_groups(threshold: float, least: int, vectors: np.ndarray, theirs) -> None:
    expected = theirs.community_detection(vectors, threshold=threshold, min_community_size=least)
    assert community_detection(vectors, threshold, least) == expected
    assert community_detection(vectors, threshold, least, batch_size=13) == expected
    assert threshold != 0.6 or len(expected) > 3


def test_groups_with_progress(vectors: np.ndarray, capsys) -> None:
    shown = community_detection(vectors, min_community_size=2, show_progress_bar=True)
    assert capsys.readouterr().err.endswith(f"\r{len(vectors)} of {len(vectors)} vectors\n")
    assert shown == community_detection(vectors, min_community_size=2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("precision", ["float32", "int8", "uint8", "binary", "ubinary"])
def test_rounding(precision: str, vectors: np.ndarray, theirs) -> None:
    from sentence_transformers.util import quantize_embeddings as their_way

    for given in (vectors, vectors[:1, :20]):
        ranges = np.stack([vectors.min(0), vectors.max(0)])[:, : given.shape[1]]
        expected = their_way(given, precision, ranges=ranges)
        found = quantize_embeddings(given, precision, ranges=ranges)  # type: ignore[arg-type]
        assert found.dtype == expected.dtype
        assert (found == expected).all()
    found = quantize_embeddings(vectors, precision)  # type: ignore[arg-type]
    assert (found == their_way(vectors, precision)).all()


def test_equal_scores_come_in_the_order_of_their_numbers() -> None:
    same = np.ones((50, 4), dtype=np.float32)
    for sizes in ((100, 500_000), (3, 7)):
        hits = semantic_search(same[:2], same, *sizes, top_k=4)
        assert [[hit["corpus_id"] for hit in row] for row in hits] == [[0, 1, 2, 3]] * 2
    expected = [[1.0, 0, 1], [1.0, 0, 2], [1.0, 0, 3]]
    assert paraphrase_mining_embeddings(same, max_pairs=3) == expected  # half of the products
    assert paraphrase_mining_embeddings(same, max_pairs=3, top_k=2, query_chunk_size=8)[0] == expected[0]
    assert community_detection(same, 1.0) == [list(range(50))]
    assert top(np.array([[1.0, 3.0, 3.0, 2.0]], dtype=np.float32), 3)[1].tolist() == [[1, 2, 3]]


def test_the_quick_way_to_the_best_pairs_is_the_slow_one(vectors: np.ndarray) -> None:
    quick = paraphrase_mining_embeddings(vectors, max_pairs=30, top_k=30)
    slow = paraphrase_mining_embeddings(
        vectors, max_pairs=30, top_k=29
    )  # too few neighbours for the quick way
    assert [row[1:] for row in quick] == [row[1:] for row in slow]
    assert [row[0] for row in quick] == pytest.approx([row[0] for row in slow], abs=1e-6)
    every = paraphrase_mining_embeddings(vectors[:10], max_pairs=1000, top_k=1000)
    assert len(every) == 45
    assert all(row[0] > -2 for row in every)


def test_memory_stays_bounded() -> None:
    many = (
        np.random.default_rng(1).normal(size=(6000, 8)).astype(np.float32)
    )  # all products would take 144 MB
    for run in (
        lambda: paraphrase_mining_embeddings(many, max_pairs=10),
        lambda: paraphrase_mining_embeddings(many, max_pairs=1000, top_k=4),
        lambda: semantic_search(many, many, query_chunk_size=10_000, top_k=3),
        lambda: community_detection(many, -1.0, 2),  # all are near to all
    ):
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100e6


def test_the_headline_is_nearest_to_the_centre() -> None:
    found = np.array([[1.0, 0.0], [1.0, 0.3], [1.0, 0.6], [0.0, 1.0]], dtype=np.float32)
    assert headline([0, 1, 2], found) == 1
    assert headline([2, 3], found) in (2, 3)


def test_nothing_in_nothing_out(vectors: np.ndarray) -> None:
    assert semantic_search(vectors[:2], np.empty((0, 24))) == [[], []]
    assert semantic_search(np.empty((0, 24)), vectors) == []
    assert paraphrase_mining_embeddings(vectors[:1]) == []
    assert community_detection([]) == []
    assert community_detection(vectors[:5]) == []
    assert quantize_embeddings(np.empty((0, 24), dtype=np.float32), "int8").shape == (0, 24)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v: similarity(v, v[:, :3]), "24 and of 3"),
        (lambda v: similarity(v, v, similarity_fn_name="cos"), "'cosine', 'dot'"),
        (lambda v: similarity([["a"]], v), "no array of numbers"),
        (lambda v: similarity(v[None], v), "shape"),
        (lambda v: similarity(v * np.nan, v), "infinite or none"),
        (lambda v: similarity_pairwise(v, v[:2]), "as many of both"),
        (lambda v: semantic_search(v, v[:, :3]), "24 numbers and the corpus 3"),
        (lambda v: semantic_search(v, v, top_k=0), "top_k is 0"),
        (lambda v: semantic_search(v, v, score_function=lambda a, b: a), "a score for each two"),
        (lambda v: paraphrase_mining_embeddings(v, max_pairs=0), "max_pairs is 0"),
        (lambda v: community_detection(v, threshold=75), "from -1 to 1"),
        (lambda v: quantize_embeddings(v, "int4"), "'float32', 'int8'"),
        (lambda v: quantize_embeddings(v[:1], "int8"), "ranges="),
        (lambda v: quantize_embeddings(v.astype(np.int8), "int8"), "rounded again"),
    ],
)
def test_what_cannot_be_is_said(call, words: str, vectors: np.ndarray) -> None:
    with pytest.raises(InputError, match=words):
        call(vectors)
