"""`benchmarks/search.py` on toy data: both verbs end, their numbers make sense, and tables and a picture follow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toy_reader
from pocketbert.tasks.squad.reading import read_questions
from postgres_server import Server
from small_sentences import toy_embedder

ROOT = Path(__file__).resolve().parents[2]
DATA = [ROOT / "examples" / "data" / f"squad-{name}.json" for name in ("train", "dev")]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_embedder(tmp_path_factory.mktemp("embedder"))


def run(*arguments: object) -> str:
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def measured(verb: str, embedder: Path, *arguments: object) -> dict[str, Any]:
    command = [ROOT / "benchmarks" / "search.py", verb, "--data", *DATA, "--embedder", embedder, "--dry"]
    return json.loads(run(*command, "--threads", 1, *arguments).splitlines()[-1])


def table(name: str, value: dict[str, Any], folder: Path) -> str:
    """A table of a result that was not recorded."""
    document = {name: {"value": value, "circumstances": {"machine": "a small machine"}}}
    (folder / "search.json").write_text(json.dumps(document))
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); import record; from pathlib import Path\n"
        f"record.RESULTS = Path({str(folder)!r}); from tables import TABLES; print(TABLES['search-{name}']())"
    )
    return run("-c", code)


def test_quality(embedder: Path, tmp_path: Path) -> None:
    reader = toy_reader.save_reader(tmp_path / "reader")
    sizes = ["--questions", 4, "--passages", 2, "--sample", 3, "--sample_questions", 2]
    nobody = {
        "context": "Nobody asks about the old lighthouse.",
        "qas": [{"id": "1", "question": "Why?", "answers": []}],
    }
    (tmp_path / "beside.json").write_text(json.dumps({"data": [{"paragraphs": [nobody]}]}))
    found = measured("quality", embedder, "--reader", reader, "--beside", tmp_path / "beside.json", *sizes)
    asked = {one.context for one in read_questions(DATA) if one.answers}
    assert found["all"]["paragraphs"] == len(asked) + 1
    assert (found["all"]["questions"], found["sample"]["questions"]) == (4, 2)
    assert (found["sample"]["paragraphs"], found["passages_read"]) == (3, 2)
    assert list(found["all"]["ways"]) == ["words", "vectors", "both"]
    assert list(found["sample"]["ways"]) == ["words", "vectors", "both", "everything"]
    for way in found["all"]["ways"].values():
        for what in ("paragraph_at", "answer_at"):
            shares = [way[what][depth] for depth in ("1", "5", "20")]
            assert shares == sorted(shares)
        assert way["answer_at"]["20"] <= way["paragraph_at"]["20"]
        assert 0 <= way["exact"] <= way["f1"] <= 100
        assert way["ask_milliseconds"] > 0
    assert found["sample"]["ways"]["words"]["paragraph_at"]["20"] == 100  # there are no more than three
    rows = table("quality", found, tmp_path).splitlines()
    assert len(rows) == 2 + 3 + 4 + 2
    assert rows[-1].endswith("on a small machine.")


def test_growth(embedder: Path, postgres: Server, tmp_path: Path) -> None:
    sizes = ["--sizes", 5, 300, "--embedded", 30, "--queries", 7, "--address", postgres.address]
    found = measured("growth", embedder, *sizes)
    assert (found["embedded_passages"], found["dimensions"], found["queries"]) == (30, 32, 7)
    assert list(found["stores"]) == ["sqlite", "postgres"]
    for store, rows in found["stores"].items():
        assert [row["passages"] for row in rows] == [5, 300]
        assert [row["vectors_embedded"] for row in rows] == [5, 30]
        assert rows[0]["passages_from_data"] == 5
        assert 5 <= rows[1]["passages_from_data"] < 300
        for row in rows:
            assert row["stored_a_second"] > 0
            assert row["peak_megabytes"] >= row["peak_megabytes_before"] > 0
            assert all(0 < way["p50"] <= way["p95"] for way in row["latency"].values())
        assert rows[0]["megabytes"] < rows[1]["megabytes"]
        assert ("server_peak_megabytes" in rows[0]) == (store == "postgres")
        assert rows[0]["software"].startswith({"sqlite": "SQLite 3.", "postgres": "PostgreSQL "}[store])
    same = [[row["passages_from_data"] for row in rows] for rows in found["stores"].values()]
    assert same[0] == same[1]
    left = postgres.run("select nspname from pg_namespace where nspname like 'pocketbert_benchmark%'")
    assert left == []
    rows = table("growth", found, tmp_path).splitlines()
    assert len(rows) == 2 + 4 + 2
    assert rows[2].startswith("| SQLite | 5 |")
    run(ROOT / "scripts" / "draw_search.py", tmp_path / "search.svg", tmp_path / "search.json")
    assert "PostgreSQL" in (tmp_path / "search.svg").read_text()
