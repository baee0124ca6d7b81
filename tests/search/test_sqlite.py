"""The SQLite store when things go wrong: damage, locks, full disks, foreign files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from pocketbert.errors import SearchError
from pocketbert.search.sqlite import SqliteStore
from pocketbert.search.store import Filter
from processes import obey_permissions
from store_cases import SETTINGS, WITHOUT, entry

TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "index.db"
    with SqliteStore.create(path, SETTINGS) as store:
        store.replace([entry(f"{number}.txt", f"Fish number {number} swims. " * 20) for number in range(20)])
    return path


def run(path: Path, sql: str) -> None:
    """Change an index behind its back."""
    store = SqliteStore(path)
    store._database.execute(sql)
    store.close()


def test_what_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="there is no index"):
        SqliteStore(tmp_path / "none.db")
    with pytest.raises(SearchError, match="there is no folder"):
        SqliteStore.create(tmp_path / "no" / "where.db", SETTINGS)
    text = tmp_path / "text.db"
    text.write_text("Not a database at all. " * 1000)
    for opening in (lambda: SqliteStore(text), lambda: SqliteStore.create(text, SETTINGS)):
        with pytest.raises(SearchError, match=r"text\.db could not be .*some other file"):
            opening()
    assert text.read_text().startswith("Not a database")
    foreign = tmp_path / "foreign.db"
    apsw.Connection(str(foreign)).execute("create table mine (x)")
    for opening in (lambda: SqliteStore(foreign), lambda: SqliteStore.create(foreign, SETTINGS)):
        with pytest.raises(SearchError, match=r"no index of ours; .*, or delete it"):
            opening()
    (tmp_path / "empty.db").touch()
    with pytest.raises(SearchError, match="is empty"):
        SqliteStore(tmp_path / "empty.db")
    SqliteStore.create(tmp_path / "empty.db", SETTINGS).close()


def test_a_newer_form_is_refused(index: Path) -> None:
    run(index, "pragma user_version = 99")
    with pytest.raises(SearchError, match="version 99"):
        SqliteStore(index)


@pytest.mark.parametrize("at", [0.05, 0.3, 0.5, 0.7, 0.95])
def test_damage_is_found(index: Path, at: float) -> None:
    data = bytearray(index.read_bytes())
    place = int(len(data) * at)
    data[place : place + 4096] = os.urandom(4096)
    index.write_bytes(data)
    try:
        with SqliteStore(index) as store:
            problems = store.verify()
            assert problems
    except SearchError as error:
        assert "index.db" in str(error)  # noqa: PT017 - either will do


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("delete from words where rowid = 3", "1 passages without words"),
        ("delete from vectors where passage = 3", "1 passages without vectors"),
        (
            "delete from vectors where passage = 3; insert into vectors values (3, vec_int8(zeroblob(8)))",
            r"^0\.txt: 1 vectors are empty",
        ),
        ("update vectors_vector_chunks00 set vectors = zeroblob(9)", "vectors cannot be read"),
        ("delete from passages where id = 3", "1 words without a passage"),
        ("delete from documents where id = 1", "passages without a document"),
        ("update passages set text = replace(text, 'Fish', 'Wish') where id = 1", "not what was indexed"),
        ("update documents set characters = 1 where id = 1", r"0\.txt: .* up to 1"),
        ("update passages set start = start + 1 where id = 2", "not where it should be"),
    ],
)
def test_verify_finds_what_does_not_agree(index: Path, sql: str, problem: str) -> None:
    with SqliteStore(index) as store:
        assert store.verify() == []
    run(index, sql)
    with SqliteStore(index) as store:
        found = "\n".join(store.verify())
    assert re.search(problem, found), found


def test_a_full_disk_loses_nothing_that_was_there(index: Path) -> None:
    with SqliteStore(index) as store:
        pages = store._one("pragma page_count")[0]
        store._database.execute(f"pragma max_page_count = {pages + 2}")
        with pytest.raises(SearchError, match=r"index\.db could not be written: the disk is full"):
            store.replace([entry("small.txt", "Small."), entry("large.txt", "Very large indeed. " * 5000)])
        assert store.document("small.txt") is None
        assert (store.verify(), store.statistics().documents) == ([], 20)
        store._database.execute("pragma max_page_count = 1000000")
        store.replace([entry("large.txt", "Very large indeed. " * 5000)])
        assert (store.verify(), store.statistics().documents) == ([], 21)


def test_a_file_that_may_not_grow(index: Path) -> None:
    """As on a full disk, with a limit of the operating system: the write itself fails."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from store_cases import entry\n"
        "from pocketbert.search.sqlite import SqliteStore\n"
        "from pocketbert.errors import SearchError\n"
        "store = SqliteStore(sys.argv[1])\n"
        "try:\n"
        "    store.replace([entry('large.txt', 'Very large indeed. ' * 50000)])\n"
        "except SearchError as error:\n"
        "    print(error, store.verify())\n"
    )
    kilobytes = index.stat().st_size // 1024 + 200
    limited = ["bash", "-c", f'ulimit -f {kilobytes}; exec "$@"', "bash", sys.executable, "-c", code]
    done = subprocess.run([*limited, str(index), str(TESTS)], capture_output=True, text=True)
    assert "index.db could not be written" in done.stdout, done.stderr
    assert done.stdout.endswith("[]\n")
    with SqliteStore(index) as store:
        assert (store.verify(), store.statistics().documents) == ([], 20)


def test_another_writer_is_waited_for_then_named(index: Path) -> None:
    with SqliteStore(index) as writer, SqliteStore(index, patience=50) as other:
        writer._database.execute("begin immediate")
        with pytest.raises(SearchError, match="another process is writing"):
            other.remove(["1.txt"])
        assert other.by_words("fish", 1, Filter())
        writer._database.execute("rollback")
        assert other.remove(["1.txt"]) == 1
        assert writer.document("1.txt") is None


def test_a_file_that_may_not_be_written(index: Path) -> None:
    code = (
        "import sys\n"
        "from pocketbert.errors import SearchError\n"
        "from pocketbert.search.sqlite import SqliteStore\n"
        "try: SqliteStore(sys.argv[1]).remove(['1.txt'])\n"
        "except SearchError as error: print(error)\n"
    )
    index.chmod(0o444)
    index.parent.chmod(0o555)
    command = [sys.executable, "-c", code, str(index)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=obey_permissions)
    finally:
        index.parent.chmod(0o755)
    assert "may not be written" in done.stdout, done.stderr


def test_an_index_may_be_moved(index: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.db"
    shutil.move(index, moved)
    with SqliteStore(moved) as store:
        assert store.statistics().documents == 20


def test_several_makers_at_once(tmp_path: Path) -> None:
    """Four processes make the same index at the same time, and all put something in."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from store_cases import SETTINGS, entry\n"
        "from pocketbert.search.sqlite import SqliteStore\n"
        "print(flush=True); sys.stdin.readline()\n"
        "with SqliteStore.create(sys.argv[1], SETTINGS) as store:\n"
        "    for number in range(5):\n"
        "        store.replace([entry(f'{sys.argv[3]}-{number}.txt', f'Text {number} of {sys.argv[3]}. ' * 9)])\n"
    )
    path = tmp_path / "index.db"
    command = [sys.executable, "-c", code, str(path), str(TESTS)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([*command, str(number)], **pipes) for number in range(4)]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    outcomes = [process.communicate(timeout=60)[1] for process in processes]
    assert outcomes == [""] * 4
    with SqliteStore(path) as store:
        assert (store.verify(), store.statistics().documents) == ([], 20)
    with pytest.raises(SearchError, match="vectors"):
        SqliteStore.create(path, WITHOUT)
