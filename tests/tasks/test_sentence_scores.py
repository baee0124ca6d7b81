"""Scores of sentence vectors against scikit-learn, scipy and values worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics

from pocketbert.errors import InputError
from pocketbert.tasks.sentences import metrics, retrieval
from pocketbert.tasks.sentences.collections import read_collection
from pocketbert.tasks.sentences.retrieval import Collection
from pocketbert.vectors.similarity import unit

DRAW = np.random.default_rng(4)


def vectors(count: int, dimensions: int = 6) -> np.ndarray:
    return DRAW.normal(size=(count, dimensions)).astype(np.float32) * 3


def test_likeness_is_the_correlation_of_cosines() -> None:
    left, right, truth = vectors(40), vectors(40), DRAW.uniform(0, 5, 40)
    cosines = [
        1 - float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))
        for a, b in zip(left, right, strict=True)
    ]
    found = metrics.likeness(left, right, truth)
    assert found["pearson"] == pytest.approx(-100 * stats.pearsonr(truth, cosines).statistic, rel=1e-4)
    assert found["spearman"] == pytest.approx(-100 * stats.spearmanr(truth, cosines).statistic, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_same_or_not_agrees_with_scikit_learn_at_every_threshold(seed: int) -> None:
    draw = np.random.default_rng(seed)
    said, truth = draw.integers(0, 12, 60) / 10, draw.integers(0, 2, 60)  # many ties
    found = metrics.same(said, truth)
    cuts = [*(np.unique(said) - 0.01), 9.0]
    accuracy = max(sklearn_metrics.accuracy_score(truth, said > cut) for cut in cuts)
    f1 = max(sklearn_metrics.f1_score(truth, said > cut, zero_division=0) for cut in cuts)
    assert found["accuracy"] == pytest.approx(100 * accuracy)
    assert found["f1"] == pytest.approx(100 * f1)
    assert found["ap"] == pytest.approx(100 * sklearn_metrics.average_precision_score(truth, said))
    at = said >= found["accuracy_threshold"]
    assert 100 * sklearn_metrics.accuracy_score(truth, at) == pytest.approx(found["accuracy"])
    assert 100 * sklearn_metrics.f1_score(truth, said >= found["f1_threshold"]) == pytest.approx(found["f1"])


def test_pairs_of_one_kind_cannot_be_told_apart() -> None:
    with pytest.raises(InputError, match="all pairs have the same label"):
        metrics.same([0.1, 0.2], [1, 1])


def test_triplets_count_the_nearer_positive() -> None:
    anchor = np.array([[1.0, 0], [1, 0], [1, 0]])
    near, far = np.array([[1, 0.1], [0, 1], [5, 1]]), np.array([[0, 1], [1, 0.1], [1, 1]])
    assert metrics.triplets(anchor, near, far)["accuracy"] == pytest.approx(200 / 3)


def test_mining_finds_pairs_in_the_order_of_their_cosines() -> None:
    angles = np.radians([0, 10, 100, 125, 200, 215])  # the nearest: 0-1, 4-5, 2-3, then 3-4
    found = metrics.mining(np.stack([np.cos(angles), np.sin(angles)], axis=1), {(1, 0), (2, 3)})
    # 0-1 (10°), 4-5 (15°), 2-3 (25°): the true ones stand first and third.
    assert found["ap"] == pytest.approx(100 * (1 / 1 + 2 / 3) / 2)
    assert found["f1"] == pytest.approx(100 * 2 * 2 / (3 + 2))


def test_a_text_is_no_pair_of_its_own() -> None:
    with pytest.raises(InputError, match="two different numbers of texts, from 0 to 29"):
        metrics.mining(vectors(30), {(3, 3)})
    with pytest.raises(InputError, match="no true pair"):
        metrics.mining(vectors(30), set())


def test_search_is_exact_and_its_order_never_varies() -> None:
    corpus, queries = vectors(50), vectors(7)
    corpus[30] = corpus[10]
    queries[0] = corpus[10]
    found = retrieval.search(queries, corpus, count=20)
    values = unit(queries) @ unit(corpus).T
    for row, order in zip(values, found, strict=True):
        assert order.tolist() == np.argsort(-row, kind="stable")[:20].tolist()
    assert found[0, :2].tolist() == [10, 30]


def test_retrieval_scores_by_hand() -> None:
    order, relevant = [7, 3, 9, 1, 4], {3: 1.0, 4: 2.0, 8: 1.0}
    found = retrieval.evaluate([order], [relevant])
    gained, ideal = (
        1 / math.log2(3) + 2 / math.log2(6),
        2 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4),
    )
    assert found == pytest.approx(
        {
            "mrr@10": 100 / 2,
            "ndcg@10": 100 * gained / ideal,
            "recall@1": 0,
            "recall@10": 100 * 2 / 3,
            "recall@100": 100 * 2 / 3,
            "map@100": 100 * (1 / 2 + 2 / 5) / 3,
        }
    )


def test_ndcg_agrees_with_scikit_learn() -> None:
    grades, values = DRAW.integers(0, 4, 30).astype(float), DRAW.normal(size=30)
    relevant = {place: grade for place, grade in enumerate(grades) if grade > 0}
    ours = retrieval.ndcg(np.argsort(-values).tolist(), relevant)
    assert ours == pytest.approx(sklearn_metrics.ndcg_score([grades], [values], k=10))


def test_what_lies_below_the_cut_is_not_found() -> None:
    order = list(range(200))
    found = retrieval.evaluate([order], [{10: 1.0, 150: 1.0}])
    assert (found["mrr@10"], found["ndcg@10"], found["recall@10"], found["recall@100"]) == (0, 0, 0, 50)
    assert found["map@100"] == pytest.approx(100 * (1 / 11) / 2)


def test_queries_without_a_relevant_text_do_not_count() -> None:
    assert retrieval.evaluate([[0, 1], [0, 1]], [{0: 1.0}, {}])["mrr@10"] == 100
    with pytest.raises(InputError, match="nothing to measure"):
        Collection(("a",), ("b",), ({},))


CORPUS = ["The ferry leaves at nine.", "Bread is baked at night.", "Mills stand on hills."]


def test_bm25_finds_words_in_other_forms() -> None:
    collection = Collection(
        tuple(CORPUS), ("When do ferries leave?", "a mill", "baking"), ({0: 1}, {2: 1}, {1: 1})
    )
    assert [order[:1] for order in retrieval.bm25_order(collection)[:2]] == [[0], [2]]
    assert retrieval.evaluate(retrieval.bm25_order(collection), collection.judged)["recall@1"] >= 200 / 3


def beir(folder: Path) -> Path:
    rows = [{"_id": f"d{n}", "title": "Title" if n else "", "text": text} for n, text in enumerate(CORPUS)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [
        {"_id": "q1", "text": "the boat"},
        {"_id": "q2", "text": "nothing"},
        {"_id": "q3", "text": "hill"},
    ]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    (folder / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", "q1\td0\t2", "q1\td1\t0", "q3\td2\t1"]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_collection_as_beir_has_it(tmp_path: Path) -> None:
    found = read_collection([str(beir(tmp_path))])
    assert found.corpus == (CORPUS[0], f"Title {CORPUS[1]}", f"Title {CORPUS[2]}")
    assert (found.queries, found.judged) == (("the boat", "hill"), ({0: 2.0}, {2: 1.0}))
    files = [str(tmp_path / name) for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")]
    assert read_collection(files) == found


def test_a_collection_of_reqa(tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    data = {"questions": ["When?", "Who?"], "candidates": CORPUS, "ground_truths": [[0, 2], [1]]}
    file.write_text(json.dumps(data))
    found = read_collection([str(file)])
    assert (found.queries, found.judged) == (("When?", "Who?"), ({0: 1.0, 2: 1.0}, {1: 1.0}))
    file.write_text(json.dumps(data | {"ground_truths": [[0], [3]]}))
    with pytest.raises(InputError, match="no place in the 3 candidates"):
        read_collection([str(file)])


def test_a_collection_as_cranfield_has_it(tmp_path: Path) -> None:
    (tmp_path / "cran.all.1400").write_text(
        ".I 1\n.T\na wing\n.A\nb.\n.B\nj. 1\n.W\na wing\n  in a wind .\n.I 2\n.T\nan empty one\n.A\n.B\n.W\n"
    )
    (tmp_path / "cran.qry").write_text(".I 001\n.W\nwhat wing\nis it .\n.I 004\n.W\nwhat else .\n")
    (tmp_path / "cranqrel").write_text("1 1 2\n1 2 -1\n2 2 4 \n")
    found = read_collection([str(tmp_path)])
    assert found.corpus == ("a wing in a wind .", "an empty one")
    assert (found.queries, found.judged) == (("what wing is it .", "what else ."), ({0: 1.0}, {1: 1.0}))


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        (["none"], "no such file or folder"),
        (["corpus.jsonl"], "a collection is a folder"),
        (["corpus.jsonl", "queries.jsonl", "bad.tsv"], "must be ids"),
        (["qrels"], "holds neither"),
    ],
)
def test_what_is_no_collection_is_refused(files: list[str], complaint: str, tmp_path: Path) -> None:
    beir(tmp_path)
    (tmp_path / "bad.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tdx\t1\n")
    with pytest.raises(InputError, match=complaint):
        read_collection([str(tmp_path / file) for file in files])
