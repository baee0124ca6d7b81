"""Exports of models with labels and of masked language models: examined by their task's score, calibrated, refused."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import parity
from pocketbert import Classifier, Features, Filler, Tagger
from pocketbert.cli import main
from pocketbert.export import gate
from pocketbert.heads import build, save
from pocketbert.model import preset
from pocketbert.tables import read_rows
from pocketbert.text import Tokenizer
from pocketbert.text.label_config import LabelConfig

CONFIG = replace(preset("bert-nano"), num_hidden_layers=1)
LABELS = ("bad", "good", "mixed")
TAGS = ("O", "B-person", "I-person")
WORDS = ("lamp", "harbour", "quick", "broke", "lovely", "fan", "river", "letter", "bridge", "tram")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Models with random weights, and data that says what most of them say; some is wrong, so that no score is 100."""
    root = tmp_path_factory.mktemp("exams")
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(WORDS, draw.integers(3, 9))) for _ in range(40)]
    for name, head, options in (
        ("single", "classification", {"labels": LABELS}),
        ("multi", "classification", {"labels": LABELS, "problem": "multi"}),
        ("score", "classification", {"labels": ["stars"], "problem": "regression"}),
        ("tags", "tags", {"labels": TAGS}),
        ("words", "masked-lm", {}),
    ):
        model = parity.redraw(build(CONFIG, head, **options))
        if head != "masked-lm":
            decide(model, texts)
        save(model, root / name)
        Tokenizer.load().save(root / name)
        assert main(["export", str(root / name), str(root / f"{name}-onnx")]) == 0
    rows = []
    kinds = [Classifier.load(root / f"{name}-onnx") for name in ("single", "multi", "score")]
    for number, (text, *said) in enumerate(zip(texts, *(kind(texts) for kind in kinds), strict=True)):
        wrong = number % 5 == 0
        label = LABELS[(LABELS.index(said[0].label) + wrong) % 3]
        several = ",".join(LABELS[:2] if wrong else said[1].labels)
        rows.append([text, label, several, said[2].score + 0.1 * wrong])
    with (root / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "one", "several", "stars"], *rows])
    lines = []
    for text, found in zip(texts, Tagger.load(root / "tags-onnx")(texts), strict=True):
        assert [word.text for word in found.words] == text.split()
        lines += [
            f"{word.text}\t{word.tag if number else 'O'}" for number, word in enumerate(found.words)
        ] + [""]
    (root / "tags.conll").write_text("\n".join(lines))
    (root / "texts.txt").write_text("\n".join(texts))
    return root


@torch.no_grad()
def decide(model: Any, texts: list[str]) -> None:
    """As a trained one: sure of itself, and not of the same label for all texts."""
    model.head.linear.weight *= 15
    tokenizer = Tokenizer.load()
    logits = [model(torch.tensor([tokenizer.encode(text).ids])).logits.flatten(0, -2) for text in texts]
    model.head.linear.bias -= torch.cat(logits).mean(0)


CASES = {
    "single": (["texts.csv", "--text", "text", "--label", "one"], "macro_f1"),
    "multi": (["texts.csv", "--text", "text", "--label", "several"], "micro_f1"),
    "score": (["texts.csv", "--text", "text", "--label", "stars"], "spearman"),
    "tags": (["tags.conll"], "f1"),
    "words": (["texts.txt"], "accuracy"),
}


def data(place: Path, name: str) -> list[str]:
    file, *columns = CASES[name][0]
    return ["--data", str(place / file), *columns]


@pytest.mark.parametrize("name", CASES)
def test_the_task_is_examined(name, place, tmp_path, capsys) -> None:
    precisions = ["--precision", "fp32", "--precision", "int8"]
    status = main(
        [
            "export",
            str(place / name),
            str(tmp_path),
            *data(place, name),
            *precisions,
            "--tolerance",
            "100",
            "--json",
        ]
    )
    shown = capsys.readouterr()
    assert status == 0, shown.err
    plain, small = json.loads(shown.out)
    for row in (plain, small):
        assert row["comparison"]["score"] == CASES[name][1]
        assert row["comparison"]["torch"] == plain["comparison"]["torch"]
    assert plain["comparison"]["exported"] == pytest.approx(plain["comparison"]["torch"], abs=1e-3)
    assert plain["comparison"]["equal"] == 100
    assert small["comparison"]["error"] < 0.2
    if name != "words":
        assert plain["comparison"]["torch"][CASES[name][1]] > 20
        config = LabelConfig.load(tmp_path)
        assert config.window == 128, "as many positions as the model has"
        assert (config.temperature is None) == (name == "score")


def test_calibrated_scores_hold(place, tmp_path, capsys) -> None:
    """The random model is far too sure: a fifth of its labels is wrong."""
    assert main(["export", str(place / "single"), str(tmp_path), *data(place, "single")]) == 0
    assert "macro F1 " in capsys.readouterr().out
    bare, fitted = Classifier.load(place / "single-onnx"), Classifier.load(tmp_path)
    assert (bare.calibrated, fitted.calibrated) == (False, True)
    rows = [(row.text("text"), row.label("one")) for row in read_rows(place / "texts.csv")]
    before, after = (classifier([text for text, _ in rows]) for classifier in (bare, fitted))
    assert [found.label for found in before] == [found.label for found in after]
    losses = [
        -np.mean([np.log(found.scores[label]) for found, (_, label) in zip(results, rows, strict=True)])
        for results in (before, after)
    ]
    assert losses[1] < 0.8 * losses[0], "wrong labels are less of a surprise"


def test_a_calibration_survives_another_export(place, tmp_path) -> None:
    """Precisions that are added later, without data, keep the temperature that was fitted."""
    LabelConfig(window=64, temperature=1.7).save(place / "multi-onnx")
    assert main(["export", str(place / "multi-onnx"), str(tmp_path / "again"), "--precision", "int8"]) == 0
    assert LabelConfig.load(tmp_path / "again") == LabelConfig(window=64, temperature=1.7)


def test_what_training_read_at_once_is_read(place, tmp_path) -> None:
    (tmp_path / "model").mkdir()
    for file in (place / "tags").iterdir():
        (tmp_path / "model" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model" / "settings.json").write_text(json.dumps({"max_seq_length": 48, "column": None}))
    assert main(["export", str(tmp_path / "model"), str(tmp_path / "out")]) == 0
    assert Tagger.load(tmp_path / "out").config.window == 48


@pytest.mark.parametrize("name", ["single", "tags", "words"])
def test_a_worse_export_is_not_written(name, place, tmp_path, capsys, monkeypatch) -> None:
    """The export is broken on purpose: what was likely is unlikely."""
    from pocketbert.export import fold, folder, onnx

    def spoilt(model, *_rest):
        copy = fold(model)
        last = copy.head.transform if name == "words" else copy.head.linear
        last.weight.data *= -1
        return onnx.to_onnx(copy)

    monkeypatch.setitem(folder._MAKERS, "fp32", spoilt)
    monkeypatch.setitem(gate.LARGEST_ERROR, "fp32", 1e9)
    command = ["export", str(place / name), str(tmp_path / "out"), *data(place, name)]
    if name == "words":  # random weights guess nothing, so there is nothing to lose
        assert main(command) == 0
        assert "equal answers" in capsys.readouterr().out
        return
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "where torch has" in error
    assert CASES[name][1].replace("_", " ").replace("f1", "F1") in error
    assert not (tmp_path / "out").exists()


def test_another_part_of_a_model(place, tmp_path, capsys) -> None:
    assert main(["export", str(place / "single"), str(tmp_path / "encoder"), "--head", "none"]) == 0
    found = Features.load(tmp_path / "encoder")("A text.")
    assert found.vectors.shape == (3, 32)
    assert "id2label" not in json.loads((tmp_path / "encoder" / "config.json").read_text())
    assert not (tmp_path / "encoder" / "label_config.json").exists()
    save(parity.redraw(build(CONFIG, "pretraining")), tmp_path / "both")
    Tokenizer.load().save(tmp_path / "both")
    words = []
    for head in ("auto", "masked-lm"):
        assert main(["export", str(tmp_path / "both"), str(tmp_path / head), "--head", head]) == 0
        words.append([guess.id for guess in Filler.load(tmp_path / head)("a [MASK] c")[0]])
    assert words[0] == words[1]
    capsys.readouterr()
    assert main(["export", str(place / "single"), str(tmp_path / "none"), "--head", "masked-lm"]) == 2
    assert "has no weights for the masked-lm head" in capsys.readouterr().err
    assert main(["export", str(place / "single"), str(place / "single"), "--head", "none"]) == 2
    assert "give another folder" in capsys.readouterr().err


def test_an_encoder_is_compared_on_texts(place, tmp_path, capsys) -> None:
    command = ["export", str(place / "tags"), str(tmp_path), "--head", "none", "--precision", "int8-fast"]
    assert main([*command, "--data", str(place / "texts.txt")]) == 0
    assert "error" in capsys.readouterr().out


def test_a_glue_model_is_examined_with_glue(tmp_path, capsys) -> None:
    folder = Path(__file__).resolve().parents[2] / "examples" / "data" / "glue"
    model = parity.redraw(build(CONFIG, "classification", labels=["1", "0"]))
    save(model, tmp_path / "model")
    Tokenizer.load().save(tmp_path / "model")
    (tmp_path / "model" / "settings.json").write_text(json.dumps({"task": "sst-2", "max_seq_length": 64}))
    command = ["export", str(tmp_path / "model"), str(tmp_path / "out"), "--data", str(folder), "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)[0]["comparison"]["score"] == "accuracy"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("single", ["--data", "texts.csv"], "which column of the data holds the text? Name it by --text"),
        ("single", ["--data", "texts.csv", "--text", "txt", "--label", "one"], "did you mean 'text'?"),
        (
            "single",
            ["--data", "texts.csv", "--text", "text", "--label", "several"],
            "is unknown; allowed are",
        ),
        ("single", ["--data", "tags.conll", "--column", "2"], "--column is given, but the model's head is"),
        ("tags", ["--data", "nowhere.conll"], "there is no such file"),
        ("tags", ["--data", "tags.conll", "--text", "a"], "read with --format, --column"),
        ("words", ["--data", "texts.csv"], "which column of"),
    ],
)
def test_misuse(name, arguments, message, place, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(place)
    assert main(["export", name, str(tmp_path / "out"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
