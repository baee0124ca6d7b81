"""`pocketbert export`: files that passed an examination, or none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import parity
import pocketbert
from pocketbert.cli import main
from pocketbert.export import gate
from pocketbert.heads import build, save
from pocketbert.model import preset
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import Calibration

CONTEXT = "The lamp was made in Turin. A clockmaker named Odone built it in 1788 for the harbour."
CONFIG = replace(preset("mobilebert-nano"), hidden_size=64, embedding_size=32, intermediate_size=64)


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Path:
    """A reader with random weights: it answers anything, but always the same."""
    folder = tmp_path_factory.mktemp("reader")
    model = parity.redraw(build(CONFIG, "question-answering"))
    model.head.linear.weight.data *= 10
    save(model, folder)
    Tokenizer.load().save(folder)
    Calibration(window=64, overlap=16, threshold=1.0).save(folder)
    return folder


QUESTIONS = (
    "Where was the lamp made?",
    "Who built the lamp?",
    "When was it built?",
    "What was it built for?",
)


@pytest.fixture(scope="module")
def data(reader, tmp_path_factory) -> Path:
    """Questions to most of which the random reader happens to know the answers."""
    folder = tmp_path_factory.mktemp("data")
    assert main(["export", str(reader), str(folder)]) == 0
    answerer = QuestionAnswerer.load(folder)
    questions = []
    for number, question in enumerate(QUESTIONS):
        found = answerer(question, CONTEXT)
        answers = [{"text": found.text, "answer_start": found.start}]
        questions.append({"id": str(number), "question": question, "answers": answers})
    paragraphs = [{"context": CONTEXT, "qas": questions}]
    path = folder / "lamp.json"
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "Lamp", "paragraphs": paragraphs}]}))
    return path


def test_every_precision_is_written_and_answers(reader, data, tmp_path, capsys) -> None:
    precisions = ("fp32", "int8", "int8-fast", "fp16")
    options = [part for precision in precisions for part in ("--precision", precision)]
    # Of four questions one shows the quantiser what is read: each of the others is 33 points of F1.
    status = main(
        ["export", str(reader), str(tmp_path), *options, "--data", str(data), "--tolerance", "100", "--json"]
    )
    assert status == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["precision"] for row in rows] == list(precisions)
    for row in rows:
        assert Path(row["path"]).stat().st_size == row["bytes"]
        assert row["comparison"]["torch"] == rows[0]["comparison"]["torch"]
    assert rows[0]["comparison"]["torch"]["f1"] > 60
    assert rows[0]["comparison"]["equal"] == 100
    assert rows[0]["comparison"]["error"] < 1e-4
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}*")), "nothing is left behind"
    for precision in precisions:
        answerer = QuestionAnswerer.load(tmp_path, precision=precision)
        assert answerer("Who built the lamp?", CONTEXT).text in CONTEXT


def test_without_data_outputs_are_compared(reader, tmp_path, capsys) -> None:
    assert main(["export", str(reader), str(tmp_path / "new" / "folder")]) == 0
    out = capsys.readouterr().out
    assert "model.onnx" in out
    assert "error" in out
    assert "F1" not in out
    there = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert {"onnx", "config.json", "qa_config.json", "tokenizer.json"} <= there


def test_a_folder_may_be_exported_into_itself(reader, tmp_path) -> None:
    model = pocketbert.load(reader)
    save(model, tmp_path)
    Tokenizer.load(reader).save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["export", str(tmp_path), str(tmp_path)]) == 0
    assert (tmp_path / "onnx" / "model.onnx").is_file()
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_a_worse_export_is_not_written(reader, data, tmp_path, capsys, monkeypatch) -> None:
    """The export is broken on purpose: what was likely is unlikely."""
    from pocketbert.export import fold, folder, onnx

    def spoilt(model, *_rest):
        copy = fold(model)
        copy.head.linear.weight.data *= -1
        return onnx.to_onnx(copy)

    monkeypatch.setitem(folder._MAKERS, "fp32", spoilt)
    place = tmp_path / "out"
    assert main(["export", str(reader), str(place), "--data", str(data)]) == 1
    assert "relative to how much they vary" in capsys.readouterr().err
    monkeypatch.setitem(gate.LARGEST_ERROR, "fp32", 1e9)
    assert main(["export", str(reader), str(place), "--data", str(data)]) == 1
    error = capsys.readouterr().err
    assert "where torch has" in error
    assert "--tolerance" in error
    assert not place.exists()
    assert main(["export", str(reader), str(place), "--data", str(data), "--tolerance", "100"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--precision", "int4"], "int4"),
        (["--tolerance", "-1"], "tolerance"),
        (["--precision", "int8-fast"], "need texts"),
        (["--data", "nowhere.json"], "nowhere.json"),
    ],
)
def test_misuse(reader, tmp_path, capsys, arguments, message) -> None:
    assert main(["export", str(reader), str(tmp_path / "out"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_data_of_another_kind(data, tmp_path, capsys) -> None:
    for head in ("choice", None):
        save(build(CONFIG, head), tmp_path / "model")
        Tokenizer.load().save(tmp_path / "model")
        assert main(["export", str(tmp_path / "model"), str(tmp_path / "out"), "--data", str(data)]) == 2
        told = {"choice": "head is choice, and there is no exam", None: "which column of"}[head]
        assert told in capsys.readouterr().err
    assert main(["export", str(tmp_path / "model"), str(tmp_path / "out"), "--text", "line"]) == 2
    assert "options about data are given, but none" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "model"), str(tmp_path / "out")]) == 0
