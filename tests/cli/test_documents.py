"""`pocketbert index`, `search` and `ask DIR`, as people and programs use them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import toy_reader
from pocketbert.cli import main
from pocketbert.search.sqlite import SqliteStore
from processes import obey_permissions
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


def test_until_takes_the_whole_day(folder: Path, capsys: Capture) -> None:
    last = datetime(2020, 2, 29, 23, 59, 59, 999_999).timestamp()
    os.utime(folder / "river.txt", (last, last))
    assert main(["index", "docs", "--no-vectors"]) == 0
    searching = ["search", "gold", "--index", "docs"]
    for status, *options in [
        (0, "--until", "2020-02-29"),
        (3, "--until", "2020-02-28"),
        (0, "--since", "2020-02-29", "--until", "2020-02-29"),
        (3, "--since", "2020-03-01"),
        (2, "--until", "yesterday"),
    ]:
        assert main([*searching, *options]) == status


def test_the_index_of_a_folder_below_is_found(folder: Path, capsys: Capture) -> None:
    main(["index", "docs", "--no-vectors"])
    assert main(["search", "gold"]) == 0
    assert main(["index", "--list"]) == 0
    capsys.readouterr()
    other = folder.parent / "other"
    other.mkdir()
    (other / "tea.txt").write_text("Tea from the hills.\n")
    main(["index", "other", "--no-vectors"])
    capsys.readouterr()
    assert main(["search", "gold"]) == 1
    assert "several below: docs, other; say which: --index DIR" in capsys.readouterr().err
    assert main(["search", "tea", "--index", "other"]) == 0
    assert "tea.txt, line 1  Tea from the hills." in capsys.readouterr().out


def test_what_may_not_be_looked_at_is_named_and_stays(folder: Path) -> None:
    (folder / "old.txt").write_text("An old letter.")
    command = [sys.executable, "-m", "pocketbert", "index", "docs", "--no-vectors", "--json"]

    def indexed() -> dict[str, Any]:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, preexec_fn=obey_permissions
        )
        return json.loads(done.stdout)

    assert indexed()["added"] == ["old.txt", "river.txt", "notes/tea.md"]
    (folder / "new.txt").write_text("Something new.")
    (folder / "river.txt").write_text("They found silver in the river.")
    for path in (folder / "new.txt", folder / "river.txt", folder / "notes"):
        path.chmod(0)
    (folder / "old.txt").unlink()
    try:
        report = indexed()
    finally:
        (folder / "notes").chmod(0o755)
    named = {row["file"] for row in report["skipped"] if row["reason"] == "cannot be read: Permission denied"}
    assert named == {"new.txt", "river.txt", "notes"}
    assert (report["removed"], report["added"], report["updated"]) == (["old.txt"], [], [])
    assert report["documents"] == 2


def test_a_folder_whose_name_is_no_text(folder: Path, reader: str, capsys: Capture) -> None:
    strange = str(folder.rename(folder.with_name(os.fsdecode(b"nu\xff ?#%41"))))
    assert main(["index", strange, "--no-vectors"]) == 0
    shown = capsys.readouterr()
    assert "2 documents, 2 passages" in shown.out
    assert main(["index", strange, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["index"] == f"{strange}/.pocketbert.db"
    assert main(["search", "gold", "--index", strange]) == 0
    assert "river.txt, line 1" in capsys.readouterr().out
    assert main(["ask", strange, "What did they find?", "--model", reader]) == 0
    assert "river.txt, line 2" in capsys.readouterr().out


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
    for name, moment in {"river.txt": (2020, 2, 29, 23, 59, 59), "notes/tea.md": (2021, 1, 1)}.items():
        changed = int(datetime(*moment).timestamp()) * 10**9 + 999_999_999
        os.utime(folder / name, ns=(changed, changed))
    assert main(["index", "docs", "--no-vectors", "--index", "i.db", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["added"] == ["docs/river.txt", "docs/notes/tea.md"]
    assert (report["documents"], report["vectors"], report["unchanged"]) == (2, 0, 0)
    assert {row["file"]: row["why"] for row in report["skipped"]} == {
        "docs/bad.pdf": "failed",
        "docs/x.png": "binary",
    }
    assert main(["index", "--list", "--index", "i.db"]) == 0
    assert capsys.readouterr().out == (
        "     1  markdown  2021-01-01  docs/notes/tea.md\n     1  plain     2020-02-29  docs/river.txt\n"
    )
    assert main(["index", "--list", "--index", "i.db", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["file"] for row in rows] == ["docs/notes/tea.md", "docs/river.txt"]
    changed = [datetime.fromisoformat(row["modified"]) for row in rows]
    assert changed == [datetime(2021, 1, 1).astimezone(), datetime(2020, 2, 29, 23, 59, 59).astimezone()]
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
        (
            ["ask", "docs/river.txt", "What?", "--path", "*.md"],
            2,
            "--path is for a folder, and docs/river.txt",
        ),
        (["ask", "docs/river.txt", "What?", "--since", "2001-01-01"], 2, "--since is for a folder"),
        (["ask", "docs/river.txt", "What?", "--until", "2001-01-01"], 2, "--until is for a folder"),
        (["ask", "docs/river.txt", "What?", "--by", "words"], 2, "--by is for a folder"),
        (["ask", "docs/river.txt", "What?", "--reranker", "x"], 2, "--reranker is for a folder"),
        (["ask", "docs/river.txt", "What?", "--passages", "3"], 2, "--passages is for a folder"),
        (["ask", "docs/river.txt", "What?", "--index", "i.db"], 2, "--index is for a folder"),
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


def test_a_foreign_file_where_the_index_should_be(folder: Path, reader: str, capsys: Capture) -> None:
    index = folder / ".pocketbert.db"
    index.write_bytes(b"garbage" * 1000)
    asking = ["ask", "docs", "What did they find?", "--model", reader]
    for arguments in (["index", "docs"], ["search", "gold", "--index", "docs"], asking):
        assert main(arguments) == 1
        assert "--index FILE, or delete it if nothing needs it" in capsys.readouterr().err
    index.unlink()
    assert main(asking) == 0


@pytest.fixture
def obeying(folder: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Run the program where nothing in the folder may be written; the folder is writable again at the end."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        for path in [*folder.iterdir(), folder]:
            path.chmod(path.stat().st_mode & 0o555)
        command = [sys.executable, "-m", "pocketbert", *arguments]
        return subprocess.run(command, capture_output=True, text=True, preexec_fn=obey_permissions)

    yield run
    folder.chmod(0o755)


def test_an_index_that_may_only_be_read(
    folder: Path, embedder: str, reader: str, capsys: Capture, obeying: Callable[..., Any]
) -> None:
    (folder / "bad.pdf").unlink()
    main(["index", "docs", "--model", embedder])
    for by in ("words", "vectors", "both"):
        done = obeying("search", "gold", "--index", "docs", "--by", by, "--top", "1")
        assert (done.returncode, done.stderr) == (0, "")
        assert "river.txt, line 1" in done.stdout
    assert obeying("index", "--verify", "--index", "docs").stdout == "docs/.pocketbert.db is whole\n"
    asking = ["ask", "docs", "What did they find?", "--model", reader]
    done = obeying(*asking)
    assert (done.returncode, done.stderr) == (0, "")  # nothing has changed
    folder.chmod(0o755)
    (folder / "new.txt").write_text("Something new.")
    done = obeying(*asking)
    assert (done.returncode, "river.txt, line 2" in done.stdout) == (0, True)
    assert done.stderr.startswith(
        "pocketbert: the index could not be brought up to date, and is asked as it is"
    )
    done = obeying("index", "docs")
    assert (done.returncode, "it may not be written to; give another" in done.stderr) == (1, True)
    assert sorted(path.name for path in folder.glob(".*")) == [".pocketbert.db"]


def test_an_unfinished_index_that_may_only_be_read(
    folder: Path, capsys: Capture, obeying: Callable[..., Any]
) -> None:
    main(["index", "docs", "--no-vectors"])
    index = folder / ".pocketbert.db"
    with SqliteStore(index) as store:
        store.remove(["river.txt"])
        log = index.with_name(f"{index.name}-wal").read_bytes()
    index.with_name(f"{index.name}-wal").write_bytes(log)  # as if the process had been killed
    done = obeying("search", "gold", "--index", "docs")
    assert (done.returncode, "its last writer was stopped" in done.stderr) == (1, True)
    folder.chmod(0o755)
    assert main(["search", "gold", "--index", "docs"]) == 3


def test_another_model(folder: Path, embedder: str, tmp_path: Path, capsys: Capture) -> None:
    main(["index", "docs", "--model", embedder])
    other = str(toy_embedder(tmp_path / "other", width=16))
    capsys.readouterr()
    assert main(["index", "docs", "--model", other]) == 1
    assert "made with another model" in capsys.readouterr().err
    assert main(["index", "docs", "--no-vectors"]) == 1
    assert "made with vectors" in capsys.readouterr().err


def test_a_moved_model(folder: Path, reader: str, tmp_path: Path, capsys: Capture) -> None:
    first, second = toy_embedder(tmp_path / "first"), tmp_path / "second"
    main(["index", "docs", "--model", str(first)])
    first.rename(second)
    capsys.readouterr()
    asking = ["ask", "docs", "What did they find?", "--model", reader]
    for arguments in (["search", "gold", "--index", "docs"], asking, ["index", "docs"]):
        assert main(arguments) == 1
        shown = capsys.readouterr().err
        assert "now: pocketbert index DIR --index docs/.pocketbert.db --model MODEL" in shown
        assert "pocketbert search QUERY --index docs/.pocketbert.db --by words" in shown
    assert main(["search", "gold", "--index", "docs", "--model", str(second)]) == 0
    assert main(["search", "gold", "--index", "docs"]) == 1  # a search changes nothing
    assert main(["index", "docs", "--index", "docs/.pocketbert.db", "--model", "second"]) == 0
    assert "2 unchanged" in capsys.readouterr().out
    assert main(["search", "gold", "--index", "docs"]) == 0
    assert main(asking) == 0


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


def test_ask_some_documents_of_a_folder(folder: Path, reader: str, embedder: str, capsys: Capture) -> None:
    (folder / "notes" / "mine.txt").write_text("There is silver in the mine.\n")
    os.utime(folder / "river.txt", (10**9, 10**9))  # in September 2001
    main(["index", "docs", "--model", embedder])
    capsys.readouterr()
    asking = ["ask", "docs", "What did they find?", "--model", reader, "--json"]

    def files(*options: str) -> set[str]:
        main([*asking, "--top", "9", *options])
        answers = json.loads(capsys.readouterr().out)["answers"]
        return {answer["file"] for answer in answers if answer["text"] in ("gold", "silver")}

    assert files() == {"notes/mine.txt", "river.txt"}
    assert files("--path", "notes/*") == {"notes/mine.txt"}
    assert files("--path", "*.md") == set()
    assert files("--since", "2002-01-01") == {"notes/mine.txt"}
    assert files("--since", "0001-01-01") == {"notes/mine.txt", "river.txt"}
    assert files("--since", "9999-12-31") == set()
    assert files("--until", "2002-01-01") == {"river.txt"}
    assert files("--until", "9999-12-31") == {"notes/mine.txt", "river.txt"}
    assert main([*asking[:-1], "--path", "nowhere/*"]) == 3
    assert capsys.readouterr().out == "no document is of the path and the time that were asked for\n"


def test_how_ask_finds_its_passages(
    folder: Path, reader: str, embedder: str, tmp_path: Path, capsys: Capture
) -> None:
    main(["index", "docs", "--model", embedder])
    capsys.readouterr()
    asking = ["ask", "docs", "Is there a river?", "--model", reader, "--passages", "1", "--why", "--json"]

    def read(*options: str) -> list[str]:
        main([*asking, *options])
        return [part["file"] for part in json.loads(capsys.readouterr().out)["stretches"]]

    assert read("--by", "words") == ["river.txt"]
    reranker = str(toy_reranker(tmp_path / "reranker"))
    main(["search", "Is there a river?", "--index", "docs", "--reranker", reranker, "--json"])
    best = json.loads(capsys.readouterr().out)["hits"][0]["file"]
    assert read("--reranker", reranker) == [best] != read()


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


@contextmanager
def watching(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that keeps the index of a folder fresh; interrupted in the end, it ends at once."""
    arguments = ["index", folder.name, "--no-vectors", "--watch", "--every", "0.1", "--json"]
    command = [sys.executable, "-m", "pocketbert", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores it
    ) as process:  # fmt: skip
        late = threading.Timer(120, process.kill)  # so that a test fails instead of waiting for a line
        late.start()
        try:
            yield process
            process.send_signal(signal.SIGINT)
            rest, said = process.communicate(timeout=60)
        finally:
            late.cancel()
            process.kill()
    assert (process.returncode, rest) == (130, "")
    assert "Traceback" not in said


def test_watch(folder: Path) -> None:
    """It takes in what is new, and takes out what is gone."""
    with watching(folder) as process:
        assert json.loads(process.stdout.readline())["documents"] == 2
        (folder / "new.txt").write_text("Something new.")
        report = json.loads(process.stdout.readline())
        # The file may have been seen while it was still empty.
        if report["documents"] == 2:
            report = json.loads(process.stdout.readline())
        assert report["added"] == ["new.txt"]
        time.sleep(0.05)
        (folder / "river.txt").unlink()
        assert json.loads(process.stdout.readline())["removed"] == ["river.txt"]
    with SqliteStore(folder / ".pocketbert.db") as store:
        assert [document.path for document in store.documents()] == ["new.txt", "notes/tea.md"]
        assert store.verify() == []


def test_watch_outlives_trouble_and_names_it(folder: Path) -> None:
    with watching(folder) as process:
        assert json.loads(process.stdout.readline())["documents"] == 2
        assert "bad.pdf" in process.stderr.readline()
        (folder / "worse.pdf").write_text("no PDF either")  # nothing else changes
        assert "worse.pdf is called a PDF but is none" in process.stderr.readline()
        assert json.loads(process.stdout.readline())["added"] == []
        folder.rename(folder.with_name("away"))  # as a disk that is unplugged
        assert "there is no folder docs; give one that exists; trying again" in process.stderr.readline()
        folder.with_name("away").rename(folder)
        back = json.loads(process.stdout.readline())
        assert (back["documents"], back["removed"]) == (2, [])
