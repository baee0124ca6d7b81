"""`pocketbert classify`, `tag` and `features`: texts from anywhere, results for people, programs and tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import small_models
from pocketbert import Classifier, Features
from pocketbert.cli import main
from pocketbert.errors import InputError
from pocketbert.tables import TableWriter, read_rows

LABELS = ("bad", "good", "mixed")
TAGS = ("O", "B-person", "I-person", "B-place", "I-place")
REVIEWS = Path(__file__).resolve().parents[2] / "examples" / "data" / "reviews.csv"


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    return str(small_models.exported(tmp_path_factory.mktemp("classes"), "classification", labels=LABELS))


@pytest.fixture(scope="module")
def tagger(tmp_path_factory) -> str:
    tags = {"mira": "B-person", "holt": "I-person", "turin": "B-place"}
    return str(small_models.toy_tagger(tmp_path_factory.mktemp("tags"), tags, TAGS))


@pytest.fixture
def run(capsys):
    """Run a verb that must succeed; what it prints on stdout."""

    def call(*words: object) -> str:
        status = main([str(word) for word in words])
        shown = capsys.readouterr()
        assert status == 0, shown.err
        return shown.out

    return call


class TestClassify:
    def test_a_text(self, model, run) -> None:
        expected = Classifier.load(model)("The lid broke.")
        assert run("classify", model, "The lid broke.") == (
            f"{expected.score:.2f} {expected.label}  The lid broke.\n"
        )
        found = json.loads(run("classify", model, "The lid broke.", "--json"))
        assert found == {"text": "The lid broke.", **expected.to_json()}
        assert all(label in run("classify", model, "The lid broke.", "--top", 3) for label in LABELS)

    def test_pairs(self, model, run) -> None:
        found = json.loads(run("classify", model, "One.", "--pair", "Two.", "--json"))
        assert found["text_pair"] == "Two."
        assert found["scores"] == pytest.approx(
            Classifier.load(model)("One.", "Two.").to_json()["scores"], abs=1e-5
        )

    def test_lines_of_the_input_and_of_a_file(self, model, run, monkeypatch, tmp_path) -> None:
        (tmp_path / "texts.txt").write_text("One text.\n\nAnother one.\n")
        lines = run("classify", model, "--file", tmp_path / "texts.txt", "--json").splitlines()
        assert [json.loads(line)["text"] for line in lines] == ["One text.", "Another one."]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"One text.\nAnother one.\n")))
        assert run("classify", model, "-", "--json").splitlines() == lines

    @pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
    def test_a_table_in_and_out(self, ending, model, run, tmp_path) -> None:
        out = tmp_path / "new" / f"said.{ending}"
        assert (
            run("classify", model, "--file", REVIEWS, "--text", "review", "--out", out)
            == f"{out}: 24 texts\n"
        )
        before, after = list(read_rows(REVIEWS)), list(read_rows(out))
        assert len(after) == 24
        found = Classifier.load(model)([row.text("review") for row in before])
        for row, said, result in zip(before, after, found, strict=True):
            assert dict(row.cells).items() <= dict(said.cells).items()
            assert said.cells["prediction"] == result.label
            assert said.number("probability") == pytest.approx(result.score, abs=1e-5)
        assert [path.name for path in out.parent.iterdir()] == [out.name]

    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_a_row_without_a_text_has_no_prediction(self, ending, model, capsys, tmp_path) -> None:
        (tmp_path / "in.csv").write_text("number,text,other\n1,,x\n2,The lid broke.,y\n3, ,z\n")
        out = tmp_path / f"out.{ending}"
        command = ["classify", model, "--file", str(tmp_path / "in.csv"), "--out", str(out)]
        assert main([*command, "--text", "text"]) == 0
        shown = capsys.readouterr()
        assert shown.out == f"{out}: 3 texts\n"
        assert shown.err == "2 of 3 rows have no text, so they have no prediction; the first is row 1\n"
        rows = [row.cells for row in read_rows(out)]
        assert [row["number"] for row in rows] == ["1", "2", "3"]
        assert [row["prediction"] or "" for row in rows] == [
            "",
            Classifier.load(model)("The lid broke.").label,
            "",
        ]
        assert [bool(row["probability"]) for row in rows] == [False, True, False]
        assert main([*command, "--text", "other", "--text_pair", "text"]) == 0
        assert "2 of 3 rows have no text" in capsys.readouterr().err

    def test_what_was_not_read_is_said(self, model, capsys) -> None:
        assert main(["classify", model, "short", "long " * 40, "--window", "12"]) == 0
        assert "1 of 2 texts are longer than 12 tokens: their ends were not read" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--file", str(REVIEWS)], "which column of"),
            (["--file", str(REVIEWS), "--text", "reveiw"], "did you mean 'review'?"),
            (["a text", "--file", str(REVIEWS)], "Give texts or --file, not both"),
            (["a text", "--text", "review"], "a column is named, but no table is given"),
            (["--file", str(REVIEWS), "--text", "review", "--pair", "x"], "name it by --text_pair"),
            (["--file", str(REVIEWS), "--text", "review", "--out", "x.xlsx"], "which form is that?"),
            ([" "], "the text is empty"),
            (["a text", "--window", "4096"], "this model reads at most"),
            (["--file", "nowhere.txt"], "nowhere.txt cannot be read"),
        ],
    )
    def test_misuse(self, model, arguments, message, capsys, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert main(["classify", model, *arguments]) == 2
        assert message in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []

    def test_a_table_without_rows(self, model, capsys, tmp_path) -> None:
        (tmp_path / "in.csv").write_text("text,other\n")
        assert main(["classify", model, "--file", str(tmp_path / "in.csv"), "--text", "text"]) == 2
        assert "holds no rows" in capsys.readouterr().err

    def test_a_column_is_not_written_over(self, model, capsys, tmp_path) -> None:
        (tmp_path / "in.csv").write_text("text,prediction\nOne.,good\n")
        command = ["--file", str(tmp_path / "in.csv"), "--text", "text", "--out", str(tmp_path / "out.csv")]
        assert main(["classify", model, *command]) == 2
        assert "has a column 'prediction' already" in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]

    def test_several_labels_and_scores(self, run, tmp_path) -> None:
        multi = small_models.exported(tmp_path / "m", "classification", labels=LABELS, problem="multi")
        result = Classifier.load(multi)("One.")
        run("classify", multi, "One.", "--out", tmp_path / "m.jsonl")
        assert json.loads((tmp_path / "m.jsonl").read_text())["prediction"] == ",".join(result.labels)
        shown = run("classify", multi, "One.")
        assert all(f"{result.scores[name]:.2f} {name}" in shown for name in result.labels)
        score = small_models.exported(
            tmp_path / "r", "classification", labels=["stars"], problem="regression"
        )
        number = Classifier.load(score)("One.").score
        assert run("classify", score, "One.") == f"{number:.2f}  One.\n"
        assert set(json.loads(run("classify", score, "One.", "--json"))) == {"text", "score"}


class TestTag:
    def test_a_text(self, tagger, run) -> None:
        text = "Mira Holt left Turin."
        assert run("tag", tagger, text) == (
            "0.99  person          0-9  Mira Holt\n0.99  place         15-20  Turin\n"
        )
        found = json.loads(run("tag", tagger, text, "--json"))
        assert found["text"] == text
        assert [(row["text"], row["start"], row["end"], row["label"]) for row in found["entities"]] == [
            ("Mira Holt", 0, 9, "person"), ("Turin", 15, 20, "place"),
        ]  # fmt: skip
        words = json.loads(run("tag", tagger, text, "--words", "--json"))["words"]
        assert [row["label"] for row in words] == ["B-person", "I-person", "O", "B-place", "O"]

    def test_a_long_file_is_one_text(self, tagger, run, tmp_path) -> None:
        text = "nobody was here .\n" * 200 + "but Mira Holt\n"
        (tmp_path / "page.txt").write_text(text)
        (row,) = json.loads(run("tag", tagger, "--file", tmp_path / "page.txt", "--json"))["entities"]
        assert text[row["start"] : row["end"]] == row["text"] == "Mira Holt"
        lines = run("tag", tagger, "--file", tmp_path / "page.txt", "--lines", "--json").splitlines()
        assert len(lines) == 201
        assert json.loads(lines[-1])["entities"][0]["start"] == 4
        assert run("tag", tagger, "--file", tmp_path / "page.txt", "--lines").startswith(" 201  0.99  person")

    def test_a_table_in_and_out(self, tagger, run, tmp_path) -> None:
        (tmp_path / "in.jsonl").write_text(
            '{"id": 7, "line": "Mira left."}\n{"id": 8, "line": "Nobody did."}\n'
        )
        out = tmp_path / "out.csv"
        run("tag", tagger, "--file", tmp_path / "in.jsonl", "--text", "line", "--out", out)
        rows = list(csv.DictReader(io.StringIO(out.read_text())))
        assert [row["id"] for row in rows] == ["7", "8"]
        assert [len(json.loads(row["entities"])) for row in rows] == [1, 0]

    def test_another_model(self, model, capsys) -> None:
        assert main(["tag", model, "A text."]) == 1
        assert "is a classifier" in capsys.readouterr().err


def test_features(run, tmp_path, capsys) -> None:
    encoder = small_models.exported(tmp_path / "encoder", None)
    expected = Features.load(encoder)(["One text.", "Another"])
    lines = run("features", encoder, "One text.", "Another", "--json").splitlines()
    assert json.loads(lines[0])["tokens"] == ["one", "text", "."]
    assert np.array(json.loads(lines[1])["features"]) == pytest.approx(expected[1].vectors, abs=1e-5)
    out = tmp_path / "out.npz"
    assert run("features", encoder, "One text.", "Another", "--out", out) == f"{out}: 2 texts, 4 tokens\n"
    with np.load(out) as held:
        assert held["texts"].tolist() == [0, 0, 0, 1]
        assert held["offsets"].tolist() == [[0, 3], [4, 8], [8, 9], [0, 7]]
        assert held["vectors"] == pytest.approx(np.concatenate([each.vectors for each in expected]), abs=1e-5)
    assert run("features", encoder, "One").startswith("one ")
    assert main(["features", str(encoder), "One", "--out", "x.csv"]) == 2
    assert "written to an .npz file" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_what_is_written_is_read_again(ending, tmp_path) -> None:
    rows = [
        {"text": 'She said "so", twice; ünlü', "number": 1.5, "empty": None},
        {"text": '"quoted"', "number": 2, "empty": ""},
    ]
    if ending != "tsv":
        rows.append({"text": "two\nlines, and a\ttab", "number": -1, "empty": None})
    with TableWriter(tmp_path / f"t.{ending}") as table:
        for row in rows:
            table.write(row)
    found = list(read_rows(tmp_path / f"t.{ending}"))
    assert [row.cells["text"] for row in found] == [row["text"] for row in rows]
    assert [row.number("number") for row in found] == [row["number"] for row in rows]


def test_a_table_that_cannot_be_written(tmp_path) -> None:
    with pytest.raises(InputError, match="a tab or a line break"), TableWriter(tmp_path / "t.tsv") as table:
        table.write({"text": "a\tb"})
    with pytest.raises(InputError, match="which the first one lacks"):
        _write_two(tmp_path / "t.csv")
    with pytest.raises(InputError, match="is not open"):
        TableWriter(tmp_path / "t.csv").write({"a": 1})
    assert list(tmp_path.iterdir()) == []


def _write_two(path: Path) -> None:
    with TableWriter(path) as table:
        table.write({"a": 1})
        table.write({"b": 1})
