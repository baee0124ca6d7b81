"""`pocketbert compare`, with real processes, on models of two blocks."""

from __future__ import annotations

import json

import pytest

import parity
from pocketbert.cli import main
from pocketbert.compare.picture import table
from pocketbert.compare.rows import Comparison, Row, smaller_but_slower
from pocketbert.compare.timing import Timing
from pocketbert.heads import build, save
from pocketbert.text import Tokenizer

QUICK = ["--rounds", "2", "--length", "16"]


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    save(parity.redraw(build("mobilebert-nano", "question-answering")), folder)
    Tokenizer.load().save(folder)
    return folder


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "questions.json"
    context = "The ferry to the island leaves at noon."
    answers = [{"text": "noon", "answer_start": context.index("noon")}]
    qas = [{"id": "1", "question": "When does the ferry leave?", "answers": answers}]
    file.write_text(
        json.dumps({"data": [{"title": "Ferry", "paragraphs": [{"context": context, "qas": qas}]}]})
    )
    return file


def test_models_side_by_side(reader, questions, tmp_path, capsys) -> None:
    forms = ["--form", "torch", "--form", "fp32", "--form", "int8"]
    plot = tmp_path / "plot.png"
    arguments = ["compare", "bert-nano", str(reader), *forms, *QUICK, "--data", str(questions), "--json"]
    assert main([*arguments, "--plot", str(plot), "--against", "f1"]) == 0
    found = json.loads(capsys.readouterr().out)
    preset, folder = found["rows"]
    assert preset["family"] == "bert"
    assert preset["scores"] == {}, "a preset has learnt nothing"
    assert set(folder["scores"]) == {"f1", "exact"}
    for row in (preset, folder):
        assert set(row["timings"]) == set(row["megabytes"]) == {"torch", "fp32", "int8"}
        for timing in row["timings"].values():
            assert 0 < timing["low"] <= timing["milliseconds"] <= timing["high"]
        assert row["timings"]["fp32"]["peak_megabytes"] < row["timings"]["torch"]["peak_megabytes"], (
            "no torch in the process of an export"
        )
        assert row["megabytes"]["int8"] < row["megabytes"]["fp32"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert found["settings"] == {"batch": 1, "length": 16, "threads": 1}


def test_rows_of_an_earlier_run_join_if_they_can(tmp_path, capsys) -> None:
    assert main(["compare", "bert-nano", "--form", "torch", *QUICK, "--json"]) == 0
    earlier = tmp_path / "earlier.json"
    earlier.write_text(capsys.readouterr().out)
    joining = ["compare", "mobilebert-nano", "--form", "torch", "--rounds", "1", "--join", str(earlier)]
    assert main([*joining, "--length", "16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["mobilebert-nano", "bert-nano"], "the smallest first"
    assert main([*joining, "--length", "8"]) == 2
    assert "length: 16 there, 8 here" in capsys.readouterr().err
    other = json.loads(earlier.read_text())
    other["machine"]["processor"] = "Abacus 3000"
    earlier.write_text(json.dumps(other))
    assert main([*joining, "--length", "16"]) == 2
    assert "another machine (processor: Abacus 3000 there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["bert-nano", "--length", "129"], 2, "128 tokens at most"),
        (["bert-nano", "--rounds", "0"], 2, "rounds is 0"),
        (["bert-nano", "--against", "beauty"], 2, "size, f1 or exact"),
        (["bert-nono"], 1, "bert-nono"),
        (["bert-nano", "--join", "nowhere.json"], 2, "cannot read nowhere.json"),
    ],
)
def test_it_says_what_is_wrong(arguments, status, message, capsys, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(["compare", *arguments]) == status
    assert message in capsys.readouterr().err


def test_a_plot_needs_something_to_draw(tmp_path, capsys) -> None:
    plot = ["--plot", str(tmp_path / "plot.png"), "--against", "f1"]
    assert main(["compare", "bert-nano", "--form", "torch", *QUICK, *plot]) == 2
    assert "scores come with --data" in capsys.readouterr().err
    assert not (tmp_path / "plot.png").exists()


def test_a_file_that_is_no_comparison(tmp_path) -> None:
    file = tmp_path / "list.json"
    file.write_text("[1, 2]")
    with pytest.raises(Exception, match="is no comparison"):
        Comparison.read(file)


def test_smaller_but_slower_counts_only_beyond_the_spread() -> None:
    def row(name: str, parameters: int, low: float, high: float) -> Row:
        return Row(name, "bert", parameters, 1.0, {}, {"torch": Timing((low + high) / 2, low, high, 1.0)})

    shared, thin, twin = row("shared", 11, 90, 110), row("thin", 25, 40, 60), row("twin", 12, 85, 95)
    found = smaller_but_slower([thin, shared, twin], "torch")
    assert [(small.model, large.model) for small, large, _ in found] == [("shared", "thin"), ("twin", "thin")]
    assert found[0][2] == pytest.approx(2.0)


def test_the_table_says_who_is_smaller_but_slower_in_every_form() -> None:
    def row(name: str, parameters: int, **milliseconds: float) -> Row:
        timings = {form: Timing(value, value - 1, value + 1, 100.0) for form, value in milliseconds.items()}
        return Row(name, "bert", parameters, 1.0, dict.fromkeys(timings, 9.0), timings)

    rows = (row("thin", 25_000_000, torch=50, fp32=40), row("shared", 11_000_000, torch=100, fp32=100))
    shown = table(
        Comparison({"cores": 2, "processor": "Abacus 3000"}, {"batch": 1, "length": 128, "threads": 1}, rows)
    )
    claim = "shared is smaller than thin (11.0 against 25.0 million parameters) and takes"
    assert shown.splitlines()[-2:] == [
        f"torch: {claim} 2.0 times as long",
        f"fp32: {claim} 2.5 times as long",
    ]
