"""`benchmarks/ask.py` on toy data: every verb runs, and what it says is what the toy reader does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pocketbert.tasks.squad import Answer, Question, write_questions

ROOT = Path(__file__).resolve().parents[2]
FILLER = "The weather was fine and the people went to the market as they did on every day of the week. "
TOWNS = ["Ulm", "Bonn", "Graz", "Linz", "Bern", "Basel", "Genoa", "Turin", "Lyon", "Nice", "Ghent", "Delft"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twelve paragraphs, each with a question on its town; every third town has no gold."""
    questions = []
    for number, town in enumerate(TOWNS):
        context = f"{FILLER}In {town} they found {'nothing' if number % 3 == 2 else 'gold'}. {FILLER}"
        start = context.find("gold")
        answers = () if start < 0 else (Answer("gold", start),)
        questions.append(
            Question(str(number), town, f"What did they find in {town}?", context, answers, not answers)
        )
    path = tmp_path_factory.mktemp("data") / "towns.json"
    write_questions(path, questions)
    return str(path)


def run(verb: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(ROOT / "benchmarks" / "ask.py"), verb, "--dry", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_order(data: str) -> None:
    report = run("order", "--data", data, "--words", "400", "--window", "64")
    assert report["questions"] == 7  # the last paragraphs are too few for a document
    assert report["windows"] > 5
    assert report["within"]["25%"] == 100.0


def test_trade(data: str, toy_folder: Path) -> None:
    report = run("trade", "--data", data, "--words", "80", "--model", str(toy_folder))
    assert report["questions"] == 12
    everything, fast = (
        report["settings"]["own threshold: all"],
        report["settings"]["own threshold: least 1, miss 0.3"],
    )
    assert everything["answerable"] == {
        "questions": 8, "exact": 100.0, "f1": 100.0, "read": 100.0, "always_f1": 100.0,
    }  # fmt: skip
    assert fast["answerable"]["f1"] == 100.0
    assert fast["answerable"]["read"] < 100.0
    # The toy finds gold in another town's paragraph, if there is one.
    assert everything["unanswerable"]["questions"] == 4


def test_start(toy_folder: Path) -> None:
    report = run("start", "--model", str(toy_folder), "--rounds", "1")
    assert {"python", "import numpy", "import onnxruntime", "session", "window", "all"} <= set(
        report["milliseconds"]
    )
    assert report["pocketbert ask, wall"] > 0


def test_memory(toy_folder: Path) -> None:
    report = run("memory", "--model", str(toy_folder), "--words", "0", "2000")
    assert report["0 words"]["windows"] == 0
    assert report["2000 words"]["windows"] > 20
    assert 20 < report["0 words"]["peak_megabytes"] <= report["2000 words"]["peak_megabytes"] < 500


def test_latency(data: str, nano_folder: Path) -> None:
    arguments = ["--data", data, "--model", str(nano_folder), "--rounds", "1", "--words", "150"]
    report = run("latency", *arguments, "--contenders", "onnxruntime", "pocketbert")
    whole = {"one window", "one paragraph", "ragged texts", "paragraphs", "long page, all"}
    assert set(report["cases"]) == whole | {"long page, fast"}
    for case in whole:
        rows = report["cases"][case]
        assert set(rows) == {"onnxruntime", "pocketbert"}
        assert rows["onnxruntime"]["windows"] == rows["pocketbert"]["windows"]  # the same work for everybody
    fast = report["cases"]["long page, fast"]
    assert set(fast) == {"pocketbert"}
    assert fast["pocketbert"]["windows"] <= report["cases"]["long page, all"]["pocketbert"]["windows"]
