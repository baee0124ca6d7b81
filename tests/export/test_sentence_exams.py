"""Exports of embedders: their settings go along, their vectors are compared with torch's, worse ones are refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from pocketbert import Embedder
from pocketbert.cli import main
from pocketbert.export import gate
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.text.sentence_config import Dense, SentenceConfig, read_sentence_config
from small_sentences import sentence_folder

WORDS = ("lamp", "harbour", "quick", "broke", "lovely", "fan", "river", "letter", "bridge", "tram")
CONFIG = SentenceConfig(
    dimensions=12, dense=Dense(32, 12, activation="tanh"), max_seq_length=4000, prompts={"query": "find: "}
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("sentence-exams")
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(WORDS, draw.integers(3, 9))) for _ in range(40)]
    first = sentence_folder(root / "model", CONFIG)
    (first / "onnx" / "model.onnx").unlink()
    (root / "texts.txt").write_text("\n".join(texts))
    vectors = TorchEmbedder.load(first).encode(texts)
    with (root / "pairs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["one", "two", "alike"])
        for left, right in zip(range(0, 40, 2), range(1, 40, 2), strict=True):
            writer.writerow([texts[left], texts[right], float(vectors[left] @ vectors[right])])
    return root


def test_settings_go_along_and_vectors_are_those_of_torch(place: Path, capsys) -> None:
    out = place / "onnx"
    forms = [word for form in ("fp32", "int8", "int8-fast") for word in ("--precision", form)]
    data = ["--data", str(place / "texts.txt"), "--tolerance", "2"]
    assert main(["export", str(place / "model"), str(out), *forms, *data, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    for row, least in zip(rows, (99.999, 99.5, 98.0), strict=True):
        found = row["comparison"]["exported"]
        assert row["comparison"]["score"] == "cosine"
        assert least < found["cosine"] <= 100.0001
        assert found["least_cosine"] <= found["cosine"]
        assert 0 < row["comparison"]["equal"] <= 100
    config = read_sentence_config(out)
    assert config is not None
    assert config.max_seq_length == 128  # all that the encoder can read
    assert (config.dense, dict(config.prompts)) == (CONFIG.dense, {"query": "find: "})
    texts = ["The tram broke.", "A lovely letter."]
    ours = Embedder.load(out, precision="fp32").encode(texts)
    assert np.abs(ours - TorchEmbedder.load(place / "model").encode(texts)).max() < 1e-5


def test_pairs_are_scored_by_spearman(place: Path, capsys) -> None:
    columns = ["--text", "one", "--text_pair", "two", "--label", "alike"]
    command = ["export", str(place / "model"), str(place / "pairs"), "--data", str(place / "pairs.csv")]
    assert main([*command, *columns]) == 0
    shown = capsys.readouterr().out
    assert "cosine 100.00" in shown
    assert "spearman 100.00" in shown  # the pairs were labelled with the model's own cosines
    assert main([*command, "--text", "one", "--label", "alike"]) == 2
    assert "three columns" in capsys.readouterr().err


def test_vectors_that_stray_are_refused(place: Path, capsys) -> None:
    command = ["export", str(place / "model"), str(place / "bad"), "--precision", "int8"]
    assert main([*command, "--data", str(place / "texts.txt"), "--tolerance", "0"]) == 1
    said = capsys.readouterr().err
    assert "int8: cosine 99." in said or "int8: cosine 100.00" in said  # 99.999 is shown as 100.00
    assert "where torch has 100.00" in said
    assert "at most 0 is allowed" in said
    assert not (place / "bad" / "onnx").exists()
    assert not (place / "bad" / "modules.json").exists()


def test_the_score_that_lost_more_is_held_against_the_tolerance() -> None:
    comparison = gate.Comparison(
        0.0, {"cosine": 100.0, "spearman": 80.0}, {"cosine": 99.9, "spearman": 78.0}, 90.0, "spearman"
    )
    assert comparison.lost == 2.0
