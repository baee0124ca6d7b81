"""`pocketbert evaluate` for sentence vectors, and the same model as MTEB sees it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import parity
from pocketbert.cli import main
from pocketbert.errors import InputError
from pocketbert.export.onnx import export_onnx
from pocketbert.heads import build, save_sentences, sentence_model
from pocketbert.tasks.sentences import metrics
from pocketbert.tasks.sentences.mteb import MtebModel
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import Dense, SentenceConfig

TEXTS = ["The ferry leaves at nine.", "A boat sails in the morning.", "Bread is baked at night.", "Ada bakes bread.",
         "The mill stands on a hill.", "A hill with a mill."]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(2)
    encoder = parity.redraw(build("bert-nano"))
    config = SentenceConfig(
        dimensions=10, dense=Dense(32, 10), max_seq_length=32, prompts={"query": "find: ", "document": ""}
    )
    save_sentences(sentence_model(encoder, config), folder)
    Tokenizer.load().save(folder)
    export_onnx(encoder, folder / "onnx" / "model.onnx")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    tables = {
        "sts": [
            ["sentence1", "sentence2", "score"],
            *zip(TEXTS, TEXTS[1:], [4.5, 0, 5, 1, 3.5], strict=False),
        ],
        "pairs": [["a", "b", "same"], *zip(TEXTS, TEXTS[1:], [1, 0, 1, 0, 1], strict=False)],
        "triplets": [["anchor", "positive", "negative"], TEXTS[:3], TEXTS[2:5]],
        "mining": [["sentence1", "sentence2"], TEXTS[:2], TEXTS[2:4], TEXTS[4:]],
    }
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows(rows)
    truths = {
        "questions": ["When does it leave?", "Who bakes?"],
        "candidates": TEXTS,
        "ground_truths": [[0], [2, 3]],
    }
    (folder / "retrieval.json").write_text(json.dumps(truths))
    return folder


def evaluate(capsys, model: Path, task: str, file: Path, *more: str) -> dict:
    assert main(["evaluate", str(model), "--task", task, "--data", str(file), "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_likeness(model, data, capsys) -> None:
    found = evaluate(capsys, model, "sts", data / "sts.csv")
    vectors = TorchEmbedder.load(model).encode(TEXTS)
    assert found == {"pairs": 5, **metrics.likeness(vectors[:-1], vectors[1:], [4.5, 0, 5, 1, 3.5])}
    cut = evaluate(capsys, model, "sts", data / "sts.csv", "--dimensions", "4")
    assert cut == {"pairs": 5, **metrics.likeness(vectors[:-1, :4], vectors[1:, :4], [4.5, 0, 5, 1, 3.5])}
    assert cut != found


def test_pairs_triplets_and_mining(model, data, capsys) -> None:
    named = ["--texts", "a,b", "--label", "same"]
    vectors = TorchEmbedder.load(model).encode(TEXTS)
    pairs = evaluate(capsys, model, "pairs", data / "pairs.csv", *named)
    assert pairs["ap"] == pytest.approx(
        metrics.same(metrics.cosines(vectors[:-1], vectors[1:]), [1, 0, 1, 0, 1])["ap"]
    )
    triplets = evaluate(capsys, model, "triplets", data / "triplets.csv")
    assert triplets == {"triplets": 2, **metrics.triplets(vectors[[0, 2]], vectors[[1, 3]], vectors[[2, 4]])}
    mining = evaluate(capsys, model, "mining", data / "mining.csv")
    assert mining == {"texts": 6, "pairs": 3, **metrics.mining(vectors, {(0, 1), (2, 3), (4, 5)})}


def test_a_part_of_a_set(model, data, tmp_path: Path, capsys) -> None:
    datasets = pytest.importorskip("datasets")
    with (data / "sts.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    parts = {"validation": rows[:3], "test": rows[2:]}
    made = {name: datasets.Dataset.from_list(part) for name, part in parts.items()}
    datasets.DatasetDict(made).save_to_disk(tmp_path / "set")
    assert evaluate(capsys, model, "sts", tmp_path / "set") == evaluate(
        capsys, model, "sts", data / "sts.csv", "--limit", "3"
    )
    vectors = TorchEmbedder.load(model).encode(TEXTS)
    tested = evaluate(capsys, model, "sts", tmp_path / "set", "--split", "test")
    assert tested == {
        "pairs": 3,
        **{
            name: pytest.approx(score)
            for name, score in metrics.likeness(vectors[2:-1], vectors[3:], [5, 1, 3.5]).items()
        },
    }
    missing = ["evaluate", str(model), "--task", "sts", "--data", str(tmp_path / "set"), "--split", "train"]
    assert main(missing) == 2
    assert "it has: validation, test" in capsys.readouterr().err


def test_retrieval_uses_the_prompts_and_has_a_baseline(model, data, capsys) -> None:
    found = evaluate(capsys, model, "retrieval", data / "retrieval.json", "--baseline", "bm25")
    embedder = TorchEmbedder.load(model)
    queries = embedder.encode(["find: When does it leave?", "find: Who bakes?"])
    order = np.argsort(-(queries @ embedder.encode(TEXTS).T), axis=1)
    ranks = [
        int(np.flatnonzero(order[0] == 0)[0]),
        min(int(np.flatnonzero(order[1] == n)[0]) for n in (2, 3)),
    ]
    assert found["mrr@10"] == pytest.approx(100 * sum(1 / (rank + 1) for rank in ranks) / 2)
    assert (found["texts"], found["queries"]) == (6, 2)
    assert found["bm25_mrr@10"] == 100


def test_an_exported_encoder_scores_the_same(model, data, capsys) -> None:
    torch_scores = evaluate(capsys, model, "sts", data / "sts.csv")
    exported = evaluate(capsys, model, "sts", data / "sts.csv", "--precision", "fp32")
    assert exported["pearson"] == pytest.approx(torch_scores["pearson"], abs=1e-3)


@pytest.mark.parametrize(
    ("task", "more", "complaint"),
    [
        ("sts", ["--dimensions", "11"], "have 10"),
        ("sts", ["--texts", "sentence1"], "2 columns are needed"),
        ("sts", ["--baseline", "bm25"], "--baseline is for --task retrieval"),
        ("sts", ["--out", "x"], "no predictions"),
    ],
)
def test_what_cannot_be_measured_is_said(task, more, complaint, model, data, capsys) -> None:
    assert main(["evaluate", str(model), "--task", task, "--data", str(data / "sts.csv"), *more]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "name", "content", "complaint"),
    [
        ("sts", "data.txt", "", "data.txt is no table by its ending"),
        ("sts", "data.csv", "sentence1,sentence2,score\na,b,1\n", "there is 1 pair; a correlation needs two"),
        ("mining", "data.csv", "sentence1,sentence2\na,a\n", "data.csv: no row holds two different texts"),
    ],
)
def test_data_that_measures_nothing(task, name, content, complaint, model, tmp_path: Path, capsys) -> None:
    (tmp_path / name).write_text(content)
    assert main(["evaluate", str(model), "--task", task, "--data", str(tmp_path / name)]) == 2
    assert complaint in capsys.readouterr().err


def test_mteb_gives_batches_and_gets_vectors(model) -> None:
    adapter, embedder = MtebModel(model), TorchEmbedder.load(model)
    batches = [{"text": TEXTS[:4]}, {"text": TEXTS[4:]}]
    task = SimpleNamespace(name="STSBenchmark", type="STS")
    found = adapter.encode(
        batches, task_metadata=task, hf_split="test", hf_subset="default", prompt_type=None
    )
    assert np.array_equal(found, embedder.encode(TEXTS))
    query = SimpleNamespace(value="query")
    asked = adapter.encode(batches, task_metadata=task, hf_split="test", hf_subset="en", prompt_type=query)
    assert np.array_equal(asked, embedder.encode(f"find: {text}" for text in TEXTS))
    assert np.allclose(adapter.similarity(found, found), found @ found.T, atol=1e-6)
    assert np.allclose(
        adapter.similarity_pairwise(found[:2], found[1:3]), (found[:2] * found[1:3]).sum(1), atol=1e-6
    )
    with pytest.raises(InputError, match="only tasks of text"):
        adapter.encode([{"image": [0]}])


@pytest.mark.filterwarnings("ignore")
def test_mteb_itself_takes_the_model(model, tmp_path) -> None:
    mteb = pytest.importorskip("mteb")
    from mteb.mocks.mock_tasks import MockRetrievalTask, MockSTSTask
    from mteb.models import EncoderProtocol

    adapter = MtebModel(model)
    assert isinstance(adapter, EncoderProtocol)
    assert adapter.mteb_model_meta.embed_dim == 10
    results = mteb.evaluate(adapter, [MockSTSTask(), MockRetrievalTask()], cache=None, co2_tracker=False)
    assert [result.task_name for result in results.task_results] == ["MockSTSTask", "MockRetrievalTask"]
    assert all(np.isfinite(result.get_score()) for result in results.task_results)
