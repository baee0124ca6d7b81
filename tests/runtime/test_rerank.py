"""Reranker: the scores of sentence-transformers' CrossEncoder, and long documents read to their end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import small_models
from pocketbert import Reranker
from pocketbert.errors import CheckpointError, ConfigError, InputError

QUERY = "How do I mend a puncture?"
DOCUMENTS = [
    "Take the wheel off and find the hole.",
    "The ferry leaves at nine.",
    "",
    "Patches stick better to a clean tube, so rub it first, and wait until the glue is nearly dry.",
    "The ferry leaves at nine.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = small_models.exported(
        tmp_path_factory.mktemp("rerank"), "classification", labels=("score",), problem="regression"
    )
    assert json.loads((made / "config.json").read_text())["id2label"] == {"0": "score"}
    return made


@pytest.fixture(scope="module")
def reranker(folder) -> Reranker:
    return Reranker.load(folder)


def test_scores_are_those_of_a_cross_encoder(folder, reranker) -> None:
    import sentence_transformers as st

    theirs = st.CrossEncoder(str(folder), device="cpu")
    pairs = [(QUERY, text) for text in DOCUMENTS]
    expected = theirs.predict(pairs)
    assert reranker.predict(pairs) == pytest.approx(expected, abs=1e-5)
    assert reranker.predict([list(pair) for pair in pairs]) == pytest.approx(expected, abs=1e-5)
    assert reranker.predict(pairs[0]) == pytest.approx(expected[0], abs=1e-5)
    assert reranker.predict(iter(pairs), batch_size=1) == pytest.approx(expected, abs=1e-5)
    assert np.ptp(expected) > 1e-3
    ranked = reranker.rank(QUERY, DOCUMENTS, top_k=3, return_documents=True)
    for found, wanted in zip(
        ranked, theirs.rank(QUERY, DOCUMENTS, top_k=3, return_documents=True), strict=True
    ):
        assert found["score"] == pytest.approx(wanted["score"], abs=1e-5)
        assert found["text"] == wanted["text"] == DOCUMENTS[found["corpus_id"]]
    bare = theirs.predict(pairs, activation_fn=__import__("torch").nn.Identity())
    assert reranker.predict(pairs, activation_fn=lambda logits: logits) == pytest.approx(bare, abs=1e-4)


def test_order_and_ties(reranker) -> None:
    ranked = reranker.rank(QUERY, iter(DOCUMENTS))
    assert [hit["score"] for hit in ranked] == sorted((hit["score"] for hit in ranked), reverse=True)
    assert [hit["corpus_id"] for hit in ranked if hit["corpus_id"] in (1, 4)] == [1, 4]  # equal: as they came
    assert reranker.rank(QUERY, []) == []


def test_a_long_document_is_read_to_its_end(reranker) -> None:
    short = Reranker(reranker.session, reranker.tokenizer, max_length=32)
    parts = ["the ferry leaves at nine " * 40, "glue " * 10]
    whole = short.predict((QUERY, " ".join(parts)))
    with pytest.warns(UserWarning, match="1 of 1 pairs are longer than 32 tokens.*long='windows' reads them"):
        cut = short.predict((QUERY, " ".join(parts)), long="truncate")
    assert whole >= cut - 1e-6
    ids, query = (short.tokenizer.ids([text])[0] for text in (" ".join(parts), QUERY))
    rows = short._windows(query, ids)
    assert rows is not None
    assert len(rows) > 5
    assert max(len(row) for row in rows) == 32
    logits = [
        short.session.run(*(np.array([side]) for side in (row.ids, [1] * len(row), row.types)))["logits"]
        for row in rows
    ]
    best = max(float(one.item()) for one in logits)
    assert whole == pytest.approx(1 / (1 + np.exp(-best)), abs=1e-5)


def test_a_query_that_leaves_no_room_is_cut_and_said(reranker) -> None:
    short = Reranker(reranker.session, reranker.tokenizer, max_length=32)
    with pytest.warns(UserWarning, match="their ends were not read; a shorter query"):
        short.predict(("why " * 40, "Because."))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.predict("a text"), "a pair of texts"),
        (lambda r: r.predict([("a", "b"), ("a",)]), "pair 1 is of the type tuple"),
        (lambda r: r.predict([("a", 3)]), "pair 0 has a text that is of the type int"),
        (lambda r: r.predict([("a", "b")], batch_size=0), "batch_size is 0"),
        (lambda r: r.predict([("a", "b")], long="cut"), "'windows', 'truncate'"),
        (lambda r: r.predict([("a", "b")], convert_to_tensor=True), "torch.from_numpy"),
        (lambda r: r.rank("a", ["b"], device="cuda"), "device is 'cuda'"),
        (lambda r: r.rank("a", "b"), "the documents are one text"),
        (lambda r: r.rank("a", ["b"], top_k=0), "top_k is 0"),
    ],
)
def test_what_cannot_be_is_said(call, words: str, reranker) -> None:
    with pytest.raises(InputError, match=words):
        call(reranker)


def test_calls_that_were_written_for_sentence_transformers(reranker, capsys) -> None:
    pairs = [(QUERY, "At nine."), (QUERY, "Bread.")]
    plain = reranker.predict(pairs)
    assert isinstance(plain, np.ndarray)
    listed = reranker.predict(iter(pairs), show_progress_bar=True, convert_to_numpy=False, device="cpu")
    assert listed == plain.tolist()
    assert capsys.readouterr().err == "\r2 pairs\n"
    reranker.rank(QUERY, ["At nine."], show_progress_bar=True, device="cpu")
    assert capsys.readouterr().err == "\r1 of 1 pairs\n"


def test_folders_that_are_no_rerankers(folder, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="3 labels"):
        Reranker.load(changed(folder, tmp_path / "a", id2label={"0": "a", "1": "b", "2": "c"}))
    with pytest.raises(CheckpointError, match="a bare encoder"):
        Reranker.load(changed(folder, tmp_path / "b", architectures=["BertModel"]))


def test_the_activation_that_the_folder_asks_for(folder, tmp_path: Path) -> None:
    identity = "torch.nn.modules.linear.Identity"
    new = changed(folder, tmp_path / "new", sentence_transformers={"activation_fn": identity})
    old = changed(folder, tmp_path / "old", sbert_ce_default_activation_function=identity)
    assert Reranker.load(new).activation == Reranker.load(old).activation == "identity"
    with pytest.raises(ConfigError, match=r"os\.system"):
        Reranker.load(changed(folder, tmp_path / "evil", sbert_ce_default_activation_function="os.system"))


def changed(folder: Path, copy: Path, **entries: object) -> Path:
    """A copy of a model folder with other entries in its config.json."""
    shutil.copytree(folder, copy)
    config = json.loads((folder / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | entries))
    return copy
