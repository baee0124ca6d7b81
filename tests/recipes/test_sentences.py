"""Sentence vectors as a user trains them: every loss, from a table to a folder; a teacher; a kill on the way."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from pocketbert.cli import main
from pocketbert.errors import InputError
from pocketbert.heads import build, load_sentences, save, save_sentences, sentence_model
from pocketbert.recipes import _first_layer
from pocketbert.recipes._taught_vectors import Digest, taught_vectors
from pocketbert.tasks.sentences import metrics
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.tasks.sentences.texts import TextSource
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import Dense, SentenceConfig, read_sentence_config
from pocketbert.train.catalogue import find, presets_of
from pocketbert.train.log import read_log

TOPICS = {
    "fruit": ["apple", "pear", "plum", "cherry", "lemon"],
    "tools": ["hammer", "saw", "knife", "drill", "axe"],
    "animals": ["horse", "cow", "goat", "sheep", "pig"],
}
FRAMES = [
    "the {} on the table",
    "a {} for my neighbour",
    "who has seen the {}",
    "one {} is enough",
    "that {} is old",
]
QUICK = ["plot_curves=false", "max_seq_length=16", "save_minutes=none"]
LEARNING = ["max_steps=60", "learning_rate=5e-3", "eval_strategy=steps", "eval_steps=60", "warmup_ratio=0",
            "per_device_train_batch_size=16", "logging_steps=40"]  # fmt: skip


def sentence(topic: str, draw: random.Random) -> str:
    return draw.choice(FRAMES).format(draw.choice(TOPICS[topic]))


def write(file: Path, header: list[str], rows: list[list[object]]) -> Path:
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return file


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> dict[str, Path]:
    """Sentences about fruit, tools and animals: alike are those about the same."""
    folder, draw = tmp_path_factory.mktemp("data"), random.Random(3)
    names = list(TOPICS)
    triplets, pairs = [], []
    for number in range(150):
        own, other = draw.sample(names, 2)
        triplets.append([sentence(own, draw), sentence(own, draw), sentence(other, draw)])
        same = number % 2
        pairs.append([sentence(own, draw), sentence(own if same else other, draw), same, same * 5, own])
    header = ["sentence1", "sentence2", "label", "score", "topic"]
    lines = sorted({text for row in triplets for text in row})
    (folder / "lines.txt").write_text("\n".join(lines) + "\n")
    return {
        "triplets": write(folder / "triplets.csv", ["anchor", "positive", "negative"], triplets),
        "pairs": write(folder / "pairs.csv", header, pairs),
        "lines": folder / "lines.txt",
    }


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    save(build("bert-nano"), folder)
    Tokenizer.load().save(folder)
    return folder


@pytest.fixture(scope="module")
def teacher(tmp_path_factory) -> Path:
    """A model that has another width, and knows a text by its words alone."""
    folder = tmp_path_factory.mktemp("teacher")
    torch.manual_seed(9)
    encoder = build("bert-nano")
    with torch.no_grad():
        encoder.word_table.normal_(std=2.0)
    save_sentences(sentence_model(encoder, SentenceConfig(dimensions=24, dense=Dense(32, 24))), folder)
    Tokenizer.load().save(folder)
    return folder


GIVEN = {
    "ranking": ("triplets", []),
    "triplet": ("triplets", []),
    "cosent": ("pairs", []),
    "cosine": ("pairs", ["--score_scale", "5"]),
    "contrastive": ("pairs", []),
    "softmax": ("pairs", ["--label", "topic"]),
}


def train(loss: str, data: dict[str, Path], model: Path, out: Path, *more: str, preset: str = "toy") -> int:
    kind, flags = GIVEN.get(loss, ("lines", []))
    given = ["--loss", loss, "--preset", preset, "--model", str(model), "--output_dir", str(out), *flags]
    return main(["train", "sentences", str(data[kind]), *given, *QUICK, *more])


def evaluations(out: Path) -> list[dict[str, float]]:
    return [line["scores"] for line in read_log(out / "log.jsonl") if line["kind"] == "evaluation"]


def scores(out: Path) -> dict[str, float]:
    return json.loads((out / "scores.json").read_text())


@pytest.mark.parametrize(
    ("loss", "score"),
    [
        ("ranking", "ndcg@10"),
        ("triplet", "accuracy"),
        ("cosent", "spearman"),
        ("cosine", "spearman"),
        ("contrastive", "ap"),
        ("softmax", "accuracy"),
    ],
)
def test_every_loss_learns_what_is_alike(loss, score, data, encoder, tmp_path) -> None:
    more = ["validation_split=0.2", "eval_on_start=true", *LEARNING]
    more += ["gradient_cache_size=8"] if loss == "ranking" else []
    assert train(loss, data, encoder, tmp_path / "out", *more) == 0
    before, after = evaluations(tmp_path / "out")
    assert after[score] > before[score] + 15
    assert scores(tmp_path / "out") == after
    config = read_sentence_config(tmp_path / "out")
    assert config == SentenceConfig(dimensions=32, max_seq_length=16)
    assert (tmp_path / "out" / "README.md").read_text().count("sentence-transformers")
    vectors = TorchEmbedder.load(tmp_path / "out").encode(["an apple", "the pear"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_what_a_vector_is_made_of(data, encoder, tmp_path) -> None:
    more = ["--pooling", "cls", "--normalize", "no", "--dimensions", "12", "--dense_activation", "tanh",
            "--matryoshka_dimensions", "6,3"]  # fmt: skip
    assert train("ranking", data, encoder, tmp_path / "one", *more) == 0
    config = read_sentence_config(tmp_path / "one")
    assert config == SentenceConfig(
        dimensions=12,
        pooling="cls",
        normalize=False,
        max_seq_length=16,
        dense=Dense(32, 12, activation="tanh"),
    )
    lines = [line for line in read_log(tmp_path / "one" / "log.jsonl") if line["kind"] == "train"]
    assert {"loss_12", "loss_6", "loss_3"} <= set(lines[0])
    # A model that is gone on with keeps all that is not said anew.
    assert train("ranking", data, tmp_path / "one", tmp_path / "two", "--pooling", "max") == 0
    after = read_sentence_config(tmp_path / "two")
    assert (after.pooling, after.dense, after.normalize) == ("max", config.dense, False)


@pytest.mark.parametrize("preset", presets_of(find("sentences")))
def test_presets_run(preset, data, encoder, teacher, tmp_path) -> None:
    more = ["--teacher", str(teacher), "--dimensions", "24"] if preset == "student" else []
    loss = "distill" if preset == "student" else "ranking"
    assert train(loss, data, encoder, tmp_path / "out", "max_steps=2", *more, preset=preset) == 0


@pytest.mark.parametrize(
    "more",
    [
        ["--dimensions", "24"],
        ["--dimensions", "24", "--compare", "angle", "--matryoshka_dimensions", "8"],
        ["--dimensions", "16"],
        ["--projection", "learned"],
    ],
    ids=["same", "matryoshka", "pca", "learned"],
)
def test_a_student_comes_near_its_teacher(more, data, encoder, teacher, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_first_layer, "fit_dense", lambda *_, **__: None)  # which leaves little to learn here
    given = ["--teacher", str(teacher), "--cache_dir", str(tmp_path / "cache"), "eval_on_start=true",
             "validation_split=0.3", *LEARNING, *more]  # fmt: skip
    assert train("distill", data, encoder, tmp_path / "out", *given) == 0
    before, after = evaluations(tmp_path / "out")
    assert after["agreement"] > max(before["agreement"] + 5, 50)
    assert ("cosine" in after) == ("learned" not in more)
    if "cosine" in after:
        assert after["cosine"] > before["cosine"] + 20
    dimensions = int(more[1]) if more[0] == "--dimensions" else 32
    assert TorchEmbedder.load(tmp_path / "out").dimensions == dimensions


def test_a_new_layer_begins_near_the_teacher(data, encoder, teacher, tmp_path) -> None:
    given = ["--teacher", str(teacher), "eval_on_start=true", "validation_split=0.3", "max_steps=1"]
    assert train("distill", data, encoder, tmp_path / "out", *given, "--dimensions", "24") == 0
    assert evaluations(tmp_path / "out")[0]["cosine"] > 95


def test_a_teachers_vectors_are_read_once_and_go_on(data, teacher, tmp_path) -> None:
    source, folder = TextSource((str(data["lines"]),)), tmp_path / "cache"
    digest = Digest()
    texts = list(digest.watch(source))
    found, _ = taught_vectors(str(teacher), source, digest, folder, shard=16)
    expected = TorchEmbedder.load(teacher).encode(texts)
    everywhere = np.arange(len(texts))
    assert np.abs(found[everywhere] - expected).max() < 1e-3
    draw = np.random.default_rng(0).permutation(len(texts))[:20]
    assert np.array_equal(found[draw], found[everywhere][draw])

    files = sorted(folder.glob("*.npy"))
    times = [file.stat().st_mtime_ns for file in files]
    files[1].unlink()  # as if it had been stopped there
    again, _ = taught_vectors(str(teacher), source, digest, folder, shard=16)
    assert np.array_equal(again[everywhere], found[everywhere])
    assert [file.stat().st_mtime_ns for file in files if file != files[1]] == [times[0], *times[2:]]

    other = TextSource((str(data["lines"]),), limit=40)
    fewer = Digest()
    list(fewer.watch(other))
    with pytest.raises(InputError, match="of other texts"):
        taught_vectors(str(teacher), other, fewer, folder, shard=16)
    files[0].write_bytes(b"nothing")
    with pytest.raises(Exception, match="delete this file"):
        taught_vectors(str(teacher), source, digest, folder, shard=16)


def test_a_teacher_reads_in_the_precision_of_the_run(data, teacher, tmp_path) -> None:
    source, digest = TextSource((str(data["lines"]),)), Digest()
    everywhere = np.arange(len(list(digest.watch(source))))
    exact, fast = (
        taught_vectors(str(teacher), source, digest, tmp_path / precision, precision=precision)[0][everywhere]
        for precision in ("no", "bf16")
    )
    assert not np.array_equal(exact, fast)
    assert metrics.cosines(exact, fast).min() > 0.999


def test_the_main_directions_keep_cosines(data, teacher, tmp_path) -> None:
    source, digest = TextSource((str(data["lines"]),)), Digest()
    count = len(list(digest.watch(source)))
    everywhere = np.arange(count)
    found, _ = taught_vectors(str(teacher), source, digest, tmp_path)
    whole = found[everywhere]
    found.project(24)
    turned = found[everywhere]
    assert np.abs(turned @ turned.T - whole @ whole.T).max() < 1e-3
    share = np.cumsum((turned**2).sum(axis=0)) / (turned**2).sum()
    assert (np.diff(share, 2) <= 1e-6).all()  # each direction holds less than the one before
    with pytest.raises(InputError, match="at most so many"):
        found.project(25)


def test_lora_trains_few_weights_and_leaves_an_ordinary_model(data, encoder, tmp_path) -> None:
    more = ["--lora_rank", "2", "--dimensions", "12", "max_steps=3", "save_steps=3", "learning_rate=1e-2"]
    assert train("ranking", data, encoder, tmp_path / "out", *more) == 0
    saved = load_file(tmp_path / "out" / "checkpoint-3" / "model.safetensors")
    assert all("lora_" in name or "head" in name or "pooler" in name for name in saved)
    before, after = load_sentences(encoder), load_sentences(tmp_path / "out")
    name = "encoder.blocks.0.attention.query.weight"
    assert not torch.equal(before.get_parameter(name), after.get_parameter(name))
    words = "encoder.embeddings.word.weight"
    assert torch.equal(before.get_parameter(words), after.get_parameter(words))
    assert (tmp_path / "out" / "adapter" / "adapter_model.safetensors").is_file()


def test_the_layer_that_vectors_do_not_read_stays(data, encoder, tmp_path) -> None:
    assert train("ranking", data, encoder, tmp_path / "out", "learning_rate=1e-2") == 0
    before, after = (
        load_file(encoder / "model.safetensors"),
        load_file(tmp_path / "out" / "model.safetensors"),
    )
    assert before.keys() == after.keys()
    assert torch.equal(before["pooler.dense.weight"], after["pooler.dense.weight"])


def test_a_killed_run_goes_on_to_the_same_weights(data, encoder, tmp_path) -> None:
    steady = ["max_steps=12", "save_steps=2", "eval_strategy=no", "gradient_cache_size=3", "logging_steps=1"]
    assert train("softmax", data, encoder, tmp_path / "whole", *steady) == 0
    given = ["--loss", "softmax", "--label", "topic", "--preset", "toy", "--model", str(encoder), "--output_dir",
             str(tmp_path / "killed"), *QUICK, *steady]  # fmt: skip
    command = [sys.executable, "-m", "pocketbert", "train", "sentences", str(data["pairs"]), *given]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list((tmp_path / "killed").glob("checkpoint-*")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "checkpoint-12").is_dir()
    more = [*steady, "--resume_from_checkpoint", "latest"]
    assert train("softmax", data, encoder, tmp_path / "killed", *more) == 0
    whole, killed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert all(torch.equal(whole[name], killed[name]) for name in whole)


def test_an_sts_file_decides_what_is_best(data, encoder, tmp_path) -> None:
    more = ["--sts_file", str(data["pairs"]), "max_steps=4", "eval_strategy=steps", "eval_steps=2"]
    assert train("triplet", data, encoder, tmp_path / "out", *more) == 0
    assert {"sts_spearman", "sts_pearson", "accuracy"} == set(scores(tmp_path / "out"))


@pytest.mark.parametrize(
    ("loss", "more", "complaint"),
    [
        ("cosine", ["--score_scale", "1"], "--score_scale 5"),
        ("contrastive", ["--label", "topic"], "allowed are 1"),
        ("softmax", ["--label", "topik"], "did you mean 'topic'"),
        ("ranking", ["--texts", "anchor,other"], "no column 'other'"),
        ("ranking", ["--teacher", "x"], "loss = distill"),
        ("distill", [], "needs a teacher"),
        ("ranking", ["--matryoshka_dimensions", "64"], "a vector has 32"),
        ("ranking", ["--gradient_cache_size", "0"], "1 or more"),
        ("triplet", ["--texts", "anchor,positive"], "needs 3 columns, as in anchor,positive,negative"),
        ("ranking", ["--texts", "anchor"], "needs 2 columns or more, as in anchor,positive"),
        ("cosent", ["--texts", "sentence1,sentence2,topic"], "needs 2 columns, as in sentence1,sentence2"),
        ("distill", ["--texts", "text,topic"], "texts = text,topic: loss = distill needs one column"),
    ],
)
def test_what_cannot_be_learnt_is_said(loss, more, complaint, data, encoder, tmp_path, capsys) -> None:
    assert train(loss, data, encoder, tmp_path / "out", *more) == 2
    assert complaint in capsys.readouterr().err
