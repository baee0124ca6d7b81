"""Tables part by part on this machine: every row once, whatever was killed; and clear words for what cannot be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

import small_models
from big_tables import LABELS, columns, hidden, parts, questions_table, texts_table, vectors
from pocketbert import BulkError, Classifier, Embedder, InputError, QuestionAnswerer
from pocketbert.bulk.jobs import Answer, Classify, Embed
from pocketbert.bulk.on_ray import TRIES, tried
from pocketbert.bulk.plan import Part, Plan
from pocketbert.bulk.run import run
from pocketbert.cli import main
from small_sentences import toy_embedder
from toy_reader import save_reader


@pytest.fixture(scope="module")
def embedder(tmp_path_factory) -> Path:
    return toy_embedder(tmp_path_factory.mktemp("embedder"))


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Path:
    return save_reader(tmp_path_factory.mktemp("reader"))


@pytest.fixture
def refused(capsys):
    def call(*words: object) -> str:
        assert main([str(word) for word in words]) in (1, 2)
        return capsys.readouterr().err

    return call


def said(capsys, *words: object) -> tuple[str, str]:
    status = main([str(word) for word in words])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    return shown.out, shown.err


class TestResults:
    def test_vectors_of_a_folder_keep_all_columns_and_the_order(self, embedder, tmp_path, capsys) -> None:
        texts_table(tmp_path / "in" / "a.parquet", 25)
        texts_table(tmp_path / "in" / "b.parquet", 8, first=25)
        out = tmp_path / "out"
        words = (
            "embed",
            tmp_path / "in",
            "--text",
            "text",
            "-o",
            out,
            "--model",
            embedder,
            "--part_rows",
            10,
        )
        assert said(capsys, *words) == (f"{out}: 33 rows in 4 parts\n", "")
        found = columns(out)
        assert list(found) == ["number", "text", "tags", "vector"]
        assert found["number"] == list(range(33))
        assert found["tags"][32] == ["a", "32"]
        assert np.abs(vectors(out) - Embedder.load(embedder).encode(found["text"])).max() < 1e-5
        assert parquet.read_schema(out / "part-000003.parquet").field("vector").type == arrow.list_(
            arrow.float32(), 32
        )
        assert hidden(out) == []
        assert said(capsys, *words)[0] == f"{out}: 33 rows in 4 parts, 4 of them from before\n"

    def test_what_a_dead_worker_left_half_written_goes_at_the_end(self, embedder, tmp_path) -> None:
        file, out = texts_table(tmp_path / "in.parquet", 20), tmp_path / "out"

        def leaving_a_draft(made):
            for part in made:
                (out / f".{part.name}.elsewhere.7.draft").write_bytes(b"PAR1")
                yield part

        run(Embed("text", model=str(embedder)), [file], out, part_rows=10, progress=leaving_a_draft)
        assert hidden(out) == []

    def test_vectors_as_bits_and_shorter(self, embedder, tmp_path, capsys) -> None:
        file = texts_table(tmp_path / "in.parquet", 5)
        words = ("--text", "text", "--model", embedder, "--as", "ubinary", "--truncate_dim", 16)
        said(capsys, "embed", file, *words, "-o", tmp_path / "parts")
        said(capsys, "embed", file, *words, "-o", tmp_path / "whole.parquet")
        assert columns(tmp_path / "parts")["vector"] == columns(tmp_path / "whole.parquet")["vector"]

    @pytest.mark.parametrize("problem", ["single", "multi", "regression"])
    def test_labels(self, problem, tmp_path, capsys) -> None:
        labels = LABELS[:1] if problem == "regression" else LABELS
        model = small_models.exported(tmp_path / "model", "classification", labels=labels, problem=problem)
        file = texts_table(tmp_path / "in.parquet", 9)
        words = ("classify", model, "--file", file, "--text", "text", "--text_pair", "text")
        said(capsys, *words, "--out", tmp_path / "parts", "--part_rows", 4)
        said(capsys, *words, "--out", tmp_path / "whole.jsonl")
        expected = [json.loads(line) for line in (tmp_path / "whole.jsonl").read_text().splitlines()]
        found = parquet.read_table(tmp_path / "parts").to_pylist()
        for mine, theirs in zip(found, expected, strict=True):
            for name in ("prediction", "probability"):
                if isinstance(theirs.get(name), float):
                    assert mine[name] == pytest.approx(theirs[name], abs=1e-5)
                else:
                    assert mine.get(name) == theirs.get(name)
        assert Classifier.load(model).problem == problem

    def test_answers_and_rows_that_have_none(self, reader, tmp_path, capsys) -> None:
        file = questions_table(tmp_path / "in.parquet")
        out, err = said(capsys, "ask", file, "--out", tmp_path / "out", "--model", reader, "--json")
        assert json.loads(out)["skipped"] == 3
        assert "3 of 12 rows have no result (null); the first: in.parquet, row 4: 'context' is empty" in err
        found = parquet.read_table(tmp_path / "out").to_pylist()
        answerer = QuestionAnswerer.load(reader)
        for row in found:
            if row["id"] in (4, 7, 9):
                assert row["answer"] is row["score"] is row["windows"] is None
                continue
            result = answerer(row["question"], row["context"])
            assert (row["answer"], row["start"], row["end"]) == (result.text, result.start, result.end)
            assert row["context"][row["start"] : row["end"]] == row["answer"]
            assert (row["score"], row["no_answer"]) == pytest.approx(
                (result.score, result.no_answer), abs=1e-6
            )
            assert (row["windows_read"], row["windows"]) == (1, 1)
        assert {row["answer"] for row in found} == {"gold", "", None}

    def test_cut_texts_are_counted(self, embedder, tmp_path, capsys) -> None:
        file = texts_table(tmp_path / "in.parquet", 12, repeat=12)
        words = ("--text", "text", "--model", embedder, "--long", "truncate")
        _, err = said(capsys, "embed", file, *words, "-o", tmp_path / "out", "--part_rows", 5)
        assert "of 12 texts are longer than the model reads at once: their ends were not read" in err


class TestKilled:
    def test_a_run_that_was_killed_is_gone_on_with(self, embedder, tmp_path, capsys) -> None:
        file = texts_table(tmp_path / "in.parquet", 400)
        out = tmp_path / "out"
        words = [
            *("embed", str(file), "--text", "text", "-o", str(out)),
            *("--model", str(embedder), "--part_rows", "2"),
        ]
        with subprocess.Popen([sys.executable, "-m", "pocketbert", *words]) as process:
            while process.poll() is None and len(parts(out) if out.is_dir() else []) < 3:
                time.sleep(0.002)
            process.kill()
        before = parts(out)
        assert process.returncode == -signal.SIGKILL
        assert 3 <= len(before) < 200
        assert all(parquet.read_metadata(out / name).num_rows == 2 for name in before)
        times = {name: (out / name).stat().st_mtime_ns for name in before}
        (out / ".part-000150.parquet.elsewhere.1.draft").write_bytes(b"half")
        (out / parts(out)[1]).write_bytes(b"PAR1 damaged")
        assert "from before" in said(capsys, *words)[0]
        assert columns(out)["number"] == list(range(400))
        assert hidden(out) == []
        unchanged = [name for name, moment in times.items() if (out / name).stat().st_mtime_ns == moment]
        assert len(unchanged) == len(before) - 1

    def test_what_was_done_otherwise_is_not_mixed_in(
        self, embedder, reader, tmp_path, refused, capsys
    ) -> None:
        file = texts_table(tmp_path / "in.parquet", 6)
        words = ("embed", file, "--text", "text", "--model", embedder, "-o", tmp_path / "out")
        said(capsys, *words)
        assert "(normalize differ)" in refused(*words, "--normalize")
        other = toy_embedder(tmp_path / "other", width=16)
        assert "(model differ)" in refused(*words[:4], "--model", other, "-o", tmp_path / "out")
        texts_table(file, 7)
        assert "(files differ)" in refused(*words)
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "letter.txt").write_text("Dear")
        assert "holds other files" in refused(*words[:-1], tmp_path / "full")
        assert "folder of their own" in refused(*words[:-1], tmp_path / "nowhere" / "..")

    def test_a_part_that_kills_workers_ends_the_run(self, tmp_path) -> None:
        part = Part(3, tmp_path / "in.parquet", 30, 10)
        for _ in range(TRIES):
            tried(part, tmp_path).__enter__()  # and never leaves, as one that was killed
        with (
            pytest.raises(BulkError, match=f"{TRIES} workers have died at rows 30 to 39"),
            tried(part, tmp_path),
        ):
            pass
        another = Part(4, tmp_path / "in.parquet", 40, 10)
        with tried(another, tmp_path):
            assert len(hidden(tmp_path)) == TRIES + 1
        assert len(hidden(tmp_path)) == TRIES


class TestRefused:
    def test_tables(self, embedder, tmp_path, refused) -> None:
        file = texts_table(tmp_path / "in.parquet", 5)
        rest = ("--model", embedder, "-o", tmp_path / "out")
        assert "did you mean 'text'?" in refused("embed", file, "--text", "texts", *rest)
        assert "'number' holds int64; texts are needed" in refused("embed", file, "--text", "number", *rest)
        assert "--text" in refused("embed", file, *rest)
        empty = texts_table(tmp_path / "empty.parquet", 0)
        assert "there are no rows" in refused("embed", empty, "--text", "text", *rest)
        (tmp_path / "bad.parquet").write_bytes(b"no table at all")
        assert "cannot be read as a Parquet file" in refused(
            "embed", tmp_path / "bad.parquet", "--text", "text", *rest
        )
        assert "is not there" in refused("embed", tmp_path / "none.parquet", "--text", "text", *rest)
        (tmp_path / "folder").mkdir()
        assert "holds no .parquet file" in refused("embed", tmp_path / "folder", "--text", "text", *rest)
        other = questions_table(tmp_path / "other.parquet")
        assert "has other columns than" in refused("embed", file, other, "--text", "text", *rest)
        taken = arrow.table({"text": ["One."], "vector": [1]})
        parquet.write_table(taken, tmp_path / "taken.parquet")
        assert "a column 'vector' already" in refused(
            "embed", tmp_path / "taken.parquet", "--text", "text", *rest
        )
        assert not (tmp_path / "out").exists()

    def test_choices(self, embedder, reader, tmp_path, refused) -> None:
        file = texts_table(tmp_path / "in.parquet", 5)
        words = ("embed", file, "--text", "text", "--model", embedder)
        assert "which no part knows" in refused(*words, "-o", tmp_path / "out", "--as", "int8")
        assert "a name without an ending" in refused(*words, "-o", tmp_path / "v.npy", "--engine", "ray")
        assert "--part_rows is for" in refused(*words, "-o", tmp_path / "v.npy", "--part_rows", 5)
        assert "give the engine 'ray'" in refused(*words, "-o", tmp_path / "out", "--ray_address", "auto")
        assert "prompt_name is 'none'" in refused(*words, "-o", tmp_path / "out", "--prompt_name", "none")
        assert "nothing is said" in refused("ask", file, "--engine", "ray")
        assert "--top is not for tables" in refused("ask", file, "--out", tmp_path / "out", "--top", 2)
        assert "go to a folder" in refused("ask", file, "--out", tmp_path / "out.csv")
        assert "--file TABLE" in refused("classify", "model", "A text.", "--out", tmp_path / "out")
        with pytest.raises(InputError, match="engine is 'spark'"):
            run(Embed("text"), [file], tmp_path / "out", engine="spark")

    def test_a_missing_package_is_named(self, embedder, tmp_path, refused, monkeypatch) -> None:
        file = texts_table(tmp_path / "in.parquet", 5)
        monkeypatch.setitem(sys.modules, "ray", None)
        words = (
            "embed",
            file,
            "--text",
            "text",
            "--model",
            embedder,
            "-o",
            tmp_path / "out",
            "--engine",
            "ray",
        )
        complaint = refused(*words)
        assert "'ray', which is not installed" in complaint
        assert "pip" in complaint
        assert "[ray]" in complaint


def test_plans_and_jobs_are_plain(tmp_path) -> None:
    plan = Plan.of([texts_table(tmp_path / "in.parquet", 10)], part_rows=4)
    assert [(part.first, part.rows) for part in plan.parts] == [(0, 4), (4, 4), (8, 2)]
    for job in (Embed("text", model="m"), Classify("m", "text"), Answer(model="m")):
        json.dumps(plan.described(job.described()))
        assert os.sep not in json.dumps(job.described())
