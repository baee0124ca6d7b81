"""Rerankers as a user trains them; sentence-transformers' CrossEncoder gives the same scores."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from pocketbert.cli import main
from pocketbert.heads import build, load, save
from pocketbert.recipes.rerank import measured, reranking_loss
from pocketbert.tasks.classify.examples import Example
from pocketbert.tasks.classify.features import featurise
from pocketbert.tasks.classify.predict import predict
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import sigmoid
from pocketbert.train.catalogue import find, presets_of

ANSWERS = {
    "when does the ferry leave": ["the ferry leaves at nine", "it sails every hour"],
    "who bakes the bread": ["ada bakes the bread", "the baker is called ada"],
    "where is the mill": ["the mill stands on a hill", "up on the hill, by the road"],
}
QUICK = ["plot_curves=false", "max_seq_length=32", "save_minutes=none"]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> dict[str, Path]:
    folder, draw = tmp_path_factory.mktemp("data"), random.Random(1)
    pairs, rows = [], []
    for number in range(60):
        query, other = draw.sample(list(ANSWERS), 2)
        asked = f"{query} {number % 10}"
        right, wrong = draw.choice(ANSWERS[query]), draw.choice(ANSWERS[other])
        pairs += [[asked, right, 1], [asked, wrong, 0]]
        rows.append([asked, right, wrong, draw.choice(ANSWERS[other])])
    for name, header, table in (
        ("binary", ["query", "passage", "label"], pairs),
        ("lists", ["query", "positive", "negative", "other"], rows),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([header, *table])
    return {name: folder / f"{name}.csv" for name in ("binary", "lists")}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    save(build("bert-nano"), folder)
    Tokenizer.load().save(folder)
    return folder


def train(loss: str, data: dict[str, Path], encoder: Path, out: Path, *more: str, preset: str = "toy") -> int:
    table = data["binary" if loss == "binary" else "lists"]
    flags = [] if loss == "binary" else ["--negatives", "negative,other"]
    given = ["--loss", loss, *flags, "--preset", preset, "--model", str(encoder), "--output_dir", str(out)]
    return main(["train", "rerank", str(table), *given, *QUICK, *more])


@pytest.mark.parametrize("loss", ["binary", "pairwise", "listwise"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_reranker_learns_and_is_a_cross_encoder(loss, data, encoder, tmp_path) -> None:
    more = ["max_steps=80", "learning_rate=5e-3", "per_device_train_batch_size=16", "warmup_ratio=0"]
    assert train(loss, data, encoder, tmp_path, *more) == 0
    found = json.loads((tmp_path / "scores.json").read_text())
    assert found["ap" if loss == "binary" else "accuracy"] > 65
    pairs = [(query, answers[0]) for query, answers in ANSWERS.items()]
    pairs += [("who bakes the bread", "the mill stands on a hill, and " * 20)]  # is cut
    tokenizer = Tokenizer.load(tmp_path)
    features = featurise([Example(*pair) for pair in pairs], tokenizer, max_length=32)
    ours = sigmoid(predict(load(tmp_path), features)[:, 0].astype(np.float64))
    import sentence_transformers as st

    theirs = st.CrossEncoder(str(tmp_path), device="cpu").predict(pairs)
    assert np.abs(theirs - ours).max() < 1e-5
    assert np.ptp(ours) > 0.01


@pytest.mark.parametrize("preset", presets_of(find("rerank")))
def test_presets_run(preset, data, tmp_path) -> None:
    torch.manual_seed(0)
    save(build("mobilebert-nano"), tmp_path / "encoder")
    Tokenizer.load().save(tmp_path / "encoder")
    assert train("binary", data, tmp_path / "encoder", tmp_path / "out", "max_steps=2", preset=preset) == 0


def test_losses_are_what_they_say() -> None:
    logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 0.5]])
    labels = torch.tensor([1.0, 0.25])
    chances = torch.sigmoid(logits[:, 0])
    binary = -(labels * chances.log() + (1 - labels) * (1 - chances).log()).mean()
    assert torch.allclose(reranking_loss(logits, labels, "binary"), binary)
    gaps = [(1 - 2.0), (-1 - 2.0), 3.0, 0.5]
    assert float(reranking_loss(logits, None, "pairwise")) == pytest.approx(
        float(torch.tensor(gaps).exp().log1p().mean())
    )
    listwise = -logits.log_softmax(-1)[:, 0].mean()
    assert torch.allclose(reranking_loss(logits, None, "listwise"), listwise)


def test_scores_of_rows_say_where_the_positive_stands() -> None:
    said = np.array([[3.0, 1, 2], [1, 3, 2], [2, 3, 1]], dtype=np.float32)
    assert measured(said, None) == pytest.approx(
        {"accuracy": 100 / 3, "mrr@10": 100 * (1 + 1 / 3 + 1 / 2) / 3}
    )
    graded = measured(np.array([[0.1], [0.9], [0.4]], dtype=np.float32), np.array([0.0, 1.0, 0.7]))
    assert graded["spearman"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--teacher", "x"], "no teacher"),
        (["--label", "passage"], "a number such as"),
        (["--passage", "pasage"], "did you mean 'passage'"),
    ],
)
def test_what_cannot_be_learnt_is_said(more, complaint, data, encoder, tmp_path, capsys) -> None:
    assert train("binary", data, encoder, tmp_path / "out", *more) == 2
    assert complaint in capsys.readouterr().err
