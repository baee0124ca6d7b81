"""`pocketbert index`, `search` and `ask DIR`, as people and programs use them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toy_reader
from pocketbert.cli import main
from pocketbert.search.sqlite import SqliteStore
from small_sentences import toy_embedder, toy_reranker

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(toy_embedder(tmp_path_factory.mktemp("embedder")))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(toy_reader.save_reader(tmp_path_factory.mktemp("reader")))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder holds it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "notes").mkdir(parents=True)
    (tmp_path / "docs" / "river.txt").write_text("An old book.\nThey found gold\nin the river.\n")
    (tmp_path / "docs" / "notes" / "tea.md").write_text("# Tea\n\nBoil the water.\n")
    (tmp_path / "docs" / "x.png").write_bytes(b"\x89PNG")
    (tmp_path / "docs" / "bad.pdf").write_text("no PDF")
    return tmp_path / "docs"


def test_index_then_search(
    folder: Path, embedder: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["index", "docs", "--model", embedder]) == 0
    shown = capsys.readouterr()
    assert shown.out == (
        "docs/.pocketbert.db: 2 documents, 2 passages, with vectors\n"
        "2 added, 0 updated, 0 removed, 0 unchanged\n"
        "skipped: 1 without text, 1 that could not be read\n"
    )
    assert shown.err.startswith("pocketbert: bad.pdf is called a PDF but is none")
    monkeypatch.chdir(folder / "notes")  # the index is found above
    assert main(["search", "boiling water", "--top", "1"]) == 0
    assert re.fullmatch(r"0\.0\d\d  notes/tea\.md, line 1  Tea Boil the water\.\n", capsys.readouterr().out)
    assert main(["search", "gold", "--by", "words", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (hit,) = report["hits"]
    assert (report["by"], hit["file"], hit["line"], hit["page"]) == ("words", "river.txt", 1, None)
    text = (folder / "river.txt").read_text()
    assert hit["text"] == text[hit["start"] : hit["end"]]
    assert main(["search", "gold", "--by", "vectors", "--path", "notes/*", "--json"]) == 0
    assert [hit["file"] for hit in json.loads(capsys.readouterr().out)["hits"]] == ["notes/tea.md"]
    assert main(["search", "zebra", "--by", "words"]) == 3
    assert capsys.readouterr().out == "nothing was found\n"
    os.utime(folder / "river.txt", (10**9, 10**9))
    monkeypatch.chdir(folder.parent)
    assert main(["index", "docs"]) == 0  # the model is remembered
    assert "0 added, 0 updated, 0 removed, 2 unchanged" in capsys.readouterr().out
    index = ["--index", "docs/.pocketbert.db"]
    assert main(["search", "gold", "--by", "words", "--since", "2002-01-01", *index]) == 3
    assert main(["search", "gold", "--by", "words", "--since", "2001-01-01", *index]) == 0


def test_search_with_a_reranker(folder: Path, embedder: str, tmp_path: Path, capsys: Capture) -> None:
    reranker = str(toy_reranker(tmp_path / "reranker"))
    main(["index", "docs", "--model", embedder])
    capsys.readouterr()
    index = ["--index", "docs/.pocketbert.db", "--json"]
    assert main(["search", "gold", *index, "--reranker", reranker]) == 0
    scores = [hit["score"] for hit in json.loads(capsys.readouterr().out)["hits"]]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


def test_list_remove_verify(folder: Path, capsys: Capture) -> None:
    assert main(["index", "docs", "--no-vectors", "--index", "i.db", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["added"] == ["docs/river.txt", "docs/notes/tea.md"]
    assert (report["documents"], report["vectors"], report["unchanged"]) == (2, 0, 0)
    assert {row["file"]: row["why"] for row in report["skipped"]} == {
        "docs/bad.pdf": "failed",
        "docs/x.png": "binary",
    }
    assert main(["index", "--list", "--index", "i.db"]) == 0
    assert (
        capsys.readouterr().out == "     1  markdown  docs/notes/tea.md\n     1  plain     docs/river.txt\n"
    )
    assert main(["index", "--list", "--index", "i.db", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["file"] for row in rows] == ["docs/notes/tea.md", "docs/river.txt"]
    assert main(["index", "--verify", "--index", "i.db"]) == 0
    assert capsys.readouterr().out == "i.db is whole\n"
    assert main(["index", "--remove", "docs/nothing", "--index", "i.db"]) == 2
    assert main(["index", "--remove", "docs/notes", "--index", "i.db"]) == 0
    assert capsys.readouterr().out == "1 documents removed\n"
    assert main(["index", "--list", "--verify", "--index", "i.db"]) == 2
    data = bytearray(Path("i.db").read_bytes())
    data[4096 : 4096 * 3] = os.urandom(4096 * 2)
    Path("i.db").write_bytes(data)
    assert main(["index", "--verify", "--index", "i.db"]) == 1


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["index", "nowhere", "--no-vectors"], 2, "nowhere is not there"),
        (["index", "docs/river.txt", "--no-vectors"], 2, "is a file"),
        (["index", "docs", "docs/notes", "--no-vectors"], 2, "--index FILE"),
        (["index", "docs", "--no-vectors", "--model", "x"], 2, "not both"),
        (["index", "--no-vectors", "--index", "i.db"], 2, "Give the folder"),
        (["index", "docs", "--no-vectors", "--index", "docs/river.txt"], 1, "some other file"),
        (["index", "--list"], 1, "there is no index"),
        (["search", "gold"], 1, "there is no index"),
        (["search", "gold", "--index", "docs/river.txt"], 1, "some other file"),
        (["ask", "docs", "docs/river.txt", "What?"], 2, "a folder is asked alone"),
    ],
)
def test_misuse(folder: Path, arguments: list[str], status: int, message: str, capsys: Capture) -> None:
    assert main(arguments) == status
    assert message in capsys.readouterr().err
    assert not (folder / ".pocketbert.db").exists()


def test_a_locked_and_a_damaged_index(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteStore.__init__, "__kwdefaults__", {"patience": 50})
    assert main(["index", "docs", "--no-vectors"]) == 0
    index = folder / ".pocketbert.db"
    with SqliteStore(index) as writer:
        writer._database.execute("begin immediate")
        (folder / "new.txt").write_text("Something new.")
        assert main(["index", "docs"]) == 1
        assert "another process is writing to it; wait for it to end" in capsys.readouterr().err
        assert main(["search", "gold", "--index", str(index)]) == 0  # who reads is not held up
        writer._database.execute("rollback")
    capsys.readouterr()
    data = index.read_bytes()
    index.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    for arguments in (["search", "gold", "--index", str(index)], ["index", "docs"]):
        assert main(arguments) == 1
        assert ".pocketbert.db could not be read: it is damaged; delete it" in capsys.readouterr().err


def test_another_model(folder: Path, embedder: str, tmp_path: Path, capsys: Capture) -> None:
    main(["index", "docs", "--model", embedder])
    other = str(toy_embedder(tmp_path / "other", width=16))
    capsys.readouterr()
    assert main(["index", "docs", "--model", other]) == 1
    assert "made with another model" in capsys.readouterr().err
    assert main(["index", "docs", "--no-vectors"]) == 1
    assert "made with vectors" in capsys.readouterr().err


def test_ask_a_folder(folder: Path, reader: str, capsys: Capture) -> None:
    assert main(["ask", "docs", "What did they find?", "--model", reader]) == 0
    shown = capsys.readouterr()
    assert shown.out == "1.00  river.txt, line 2  They found **gold** in the river.\n"
    assert "bad.pdf is called a PDF but is none" in shown.err
    (folder / "bad.pdf").unlink()
    (folder / "river.txt").write_text("One line more.\nAn old book.\nThey found gold\nin the river.\n")
    assert main(["ask", "docs", "What did they find?", "--model", reader, "--json", "--why"]) == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    (answer,) = report["answers"]
    assert (answer["file"], answer["line"], answer["page"]) == ("river.txt", 3, None)
    assert (folder / "river.txt").read_text()[answer["start"] : answer["end"]] == "gold"
    assert report["read"] == {"passages": 2, "of": 2, "windows": 2, "of_windows": 2}
    assert {part["file"] for part in report["stretches"]} == {"river.txt", "notes/tea.md"}
    (folder / "river.txt").unlink()
    assert main(["ask", "docs", "What did they find?", "--model", reader, "--why"]) == 3
    assert capsys.readouterr().out.startswith(
        "not in these documents (probability 1.00)\nread 1 of 1 windows"
    )


def test_an_empty_folder(tmp_path: Path, reader: str, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["index", str(tmp_path / "empty"), "--no-vectors"]) == 0
    shown = capsys.readouterr()
    assert "0 documents" in shown.out
    assert "holds no documents; text, Markdown, HTML and PDF files can be read" in shown.err
    assert main(["ask", str(tmp_path / "empty"), "What?", "--model", reader]) == 2
    assert "holds no documents" in capsys.readouterr().err


def test_ask_with_vectors_reads_the_best(folder: Path, reader: str, embedder: str, capsys: Capture) -> None:
    main(["index", "docs", "--model", embedder])
    capsys.readouterr()
    arguments = ["ask", "docs", "What water is to boil?", "--model", reader, "--passages", "1"]
    assert main(arguments) == 3
    shown = capsys.readouterr().out
    assert shown.startswith("not in these documents (probability 1.00; the best 1 of 2 passages were read)")


def test_watch(folder: Path) -> None:
    """A process that goes on: it takes in what is new, takes out what is gone, and ends at once when interrupted."""
    arguments = ["index", "docs", "--no-vectors", "--watch", "--every", "0.1", "--json"]
    command = [sys.executable, "-m", "pocketbert", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores it
    ) as watching:  # fmt: skip
        try:
            assert json.loads(watching.stdout.readline())["documents"] == 2
            (folder / "new.txt").write_text("Something new.")
            report = json.loads(watching.stdout.readline())
            # The file may have been seen while it was still empty.
            if report["documents"] == 2:
                report = json.loads(watching.stdout.readline())
            assert report["added"] == ["new.txt"]
            time.sleep(0.05)
            (folder / "river.txt").unlink()
            assert json.loads(watching.stdout.readline())["removed"] == ["river.txt"]
            watching.send_signal(signal.SIGINT)
            rest, said = watching.communicate(timeout=60)
        finally:
            watching.kill()
    assert (watching.returncode, rest) == (130, "")
    assert "Traceback" not in said
    with SqliteStore(folder / ".pocketbert.db") as store:
        assert [document.path for document in store.documents()] == ["new.txt", "notes/tea.md"]
        assert store.verify() == []
