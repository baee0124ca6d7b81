"""`pocketbert index`, `search` and `ask DIR` with an index in PostgreSQL; and what is said where psycopg is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import toy_reader
from pocketbert.cli import main
from pocketbert.errors import install_command
from small_sentences import toy_embedder

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder holds it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "notes").mkdir(parents=True)
    (tmp_path / "docs" / "river.txt").write_text("An old book.\nThey found gold\nin the river.\n")
    (tmp_path / "docs" / "notes" / "tea.md").write_text("# Tea\n\nBoil the water.\n")
    return tmp_path.resolve() / "docs"


def test_all_verbs(folder: Path, address: str, tmp_path: Path, capsys: Capture) -> None:
    index = ["--index", address]
    model = str(toy_embedder(tmp_path / "embedder"))
    assert main(["search", "gold", *index]) == 1
    assert "there is no index postgresql://postgres@/" in capsys.readouterr().err
    assert main(["index", "docs", "--model", model, *index, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["added"] == [f"{folder}/river.txt", f"{folder}/notes/tea.md"]
    assert (report["documents"], report["vectors"], report["skipped"]) == (2, 2, [])
    assert main(["index", "docs", *index]) == 0  # the model is remembered
    assert capsys.readouterr().out.endswith(
        "#index_of_a_test: 2 documents, 2 passages, with vectors\n"
        "0 added, 0 updated, 0 removed, 2 unchanged\n"
    )
    for by in ("words", "vectors", "both"):
        assert main(["search", "boil water", "--by", by, *index, "--path", "*.md", "--json"]) == 0
        (hit,) = json.loads(capsys.readouterr().out)["hits"]
        assert (hit["file"], hit["line"]) == (f"{folder}/notes/tea.md", 1)
    assert main(["search", "gold", *index, "--since", "2100-01-01"]) == 3
    assert capsys.readouterr().out == "nothing was found\n"
    reader = str(toy_reader.save_reader(tmp_path / "reader"))
    (folder / "river.txt").write_text("One line more.\nAn old book.\nThey found gold\nin the river.\n")
    assert main(["ask", "docs", "What did they find?", "--model", reader, *index]) == 0
    assert capsys.readouterr().out == f"1.00  {folder}/river.txt, line 3  They found **gold** in the river.\n"
    assert main(["index", "--list", *index]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(kind, path) for _, kind, _, path in shown] == [
        ("markdown", f"{folder}/notes/tea.md"),
        ("plain", f"{folder}/river.txt"),
    ]
    assert main(["index", "--verify", *index]) == 0
    assert capsys.readouterr().out.endswith("#index_of_a_test is whole\n")
    assert main(["index", "--remove", f"{folder}/notes", *index]) == 0
    assert capsys.readouterr().out == "1 documents removed\n"
    assert main(["index", "docs", "--no-vectors", *index]) == 1
    assert "made with vectors" in capsys.readouterr().err
    moved = str((tmp_path / "embedder").rename(tmp_path / "moved"))
    assert main(["search", "gold", *index]) == 1
    assert main(["index", "docs", "--model", moved, *index]) == 0
    assert main(["search", "gold", *index]) == 0
    other = str(toy_embedder(tmp_path / "other", width=16))
    assert main(["index", "docs", "--model", other, *index]) == 1
    assert "made with another model" in capsys.readouterr().err


def test_a_wrong_address(folder: Path, capsys: Capture) -> None:
    assert main(["index", "docs", "--no-vectors", "--index", "postgresql://localhost:1/nowhere"]) == 1
    assert "postgresql://localhost:1/nowhere could not be opened" in capsys.readouterr().err
    assert main(["index", "docs", "--no-vectors", "--index", "postgresql://localhost/books#A b"]) == 2
    assert "an index cannot be called 'A b'" in capsys.readouterr().err


def test_without_psycopg_the_exact_command_is_named(folder: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None; from pocketbert.cli import main\n"
        "sys.exit(main(['search', 'gold', '--index', 'postgresql://localhost/books']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"install it with: {install_command('postgres')}\n")
    assert "[postgres]" in done.stderr
