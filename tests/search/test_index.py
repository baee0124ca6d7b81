"""Folders into an index: what is read, what is skipped, and that killing the process at any moment does no harm."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fpdf import FPDF

from pocketbert.errors import InputError, SearchError
from pocketbert.runtime.embed import Embedder
from pocketbert.search.index import Indexer, Report
from pocketbert.search.models import embedder_of, fingerprint, settings_for
from pocketbert.search.postgres import PostgresStore
from pocketbert.search.sqlite import SqliteStore
from pocketbert.search.store import Filter, Store, joined
from small_sentences import toy_embedder

ALL = Filter()
Indexed = Callable[..., tuple[Report, Store]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_embedder(tmp_path_factory.mktemp("embedder"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with documents of all kinds, and with much that is none."""
    folder = tmp_path / "docs"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.txt").write_text("The river is long.\nIt has fish in it.\n")
    (folder / "b.md").write_text("# Tea\n\nBoil the *water*.\n")
    (folder / "deep" / "c.html").write_text("<title>Snow</title><p>Snow fell\n<p>on the hill.")
    pdf = FPDF()
    for text in ("The first page is about trains.", "The second page is about ships."):
        pdf.add_page()
        pdf.set_font("helvetica")
        pdf.cell(text=text)
    pdf.output(str(folder / "deep" / "er" / "d.pdf"))
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.txt").write_text("Secret.")
    (folder / ".env").write_text("Secret.")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "empty.txt").touch()
    (folder / "noise").write_bytes(bytes(range(256)) * 20)
    pdf = FPDF()
    pdf.add_page()
    pdf.set_encryption(owner_password="owner", user_password="user")
    pdf.output(str(folder / "locked.pdf"))
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def indexed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Indexed]:
    """Put a folder into an index of one kind or the other, the same one each time; paths begin at `base`."""
    address = request.getfixturevalue("address") if request.param == "postgres" else ""
    opened: list[Store] = []

    def update(
        folder: Path, *, base: Path = tmp_path, embedder: Embedder | None = None
    ) -> tuple[Report, Store]:
        settings = settings_for(embedder, "toy")
        opened.append(
            PostgresStore.create(address, settings)
            if address
            else SqliteStore.create(base / "i.db", settings)
        )
        return Indexer(opened[-1], base, embedder).update([folder]), opened[-1]

    yield update
    for store in opened:
        store.close()


def content(store: SqliteStore) -> dict[str, object]:
    """All that an index holds, without numbers that depend on the order of writing."""
    rows: dict[str, object] = {}
    vectors = dict(store._database.execute("select passage, vector from vectors"))
    for document in store.documents():
        rows[document.path] = store.document(document.path)
    for kept in store.fetch(store.first(10**6, ALL)):
        rows[f"{kept.path} {kept.passage.number}"] = (kept.passage, kept.where, vectors.pop(kept.id))
    assert not vectors
    hits = store.by_words("fish number seven", 4096, ALL)
    kept = store.fetch([number for number, _ in hits])
    found = [
        (round(score, 9), one.path, one.passage.number) for (_, score), one in zip(hits, kept, strict=True)
    ]
    rows["words"] = sorted(found)
    return rows


def test_documents_of_all_kinds(folder: Path, indexed: Indexed) -> None:
    report, store = indexed(folder)
    assert report.added == ["docs/a.txt", "docs/b.md", "docs/deep/c.html", "docs/deep/er/d.pdf"]
    assert [document.kind for document in store.documents()] == ["plain", "markdown", "html", "pdf"]
    assert [document.title for document in store.documents()][2] == "Snow"
    skipped = {row.path: (row.kind, row.reason) for row in report.skipped}
    assert skipped.pop("docs/noise")[1].startswith("is not text but binary data")
    assert skipped.pop("docs/locked.pdf")[1].startswith("is encrypted; take the password off")
    assert skipped == {
        "docs/.hidden": ("hidden", "is hidden"),
        "docs/.env": ("hidden", "is hidden"),
        "docs/picture.png": ("binary", "holds no text (pictures)"),
        "docs/empty.txt": ("failed", "holds no text"),
    }
    (hit, _), *_ = store.by_words("ships", 1, ALL)
    (kept,) = store.fetch([hit])
    document = store.document(kept.path)
    text = joined(store.around(kept.path, 0, 99))
    assert str(document.places[text.index("ships")]) == "page 2"
    assert str(document.places[text.index("trains")]) == "page 1"
    assert "Secret" not in "".join(kept.passage.text for kept in store.fetch(store.first(99, ALL)))


def test_only_what_changed_is_read_again(folder: Path, indexed: Indexed) -> None:
    indexed(folder)
    report, store = indexed(folder)
    assert (report.changed, len(report.unchanged)) == (False, 4)
    before = {kept.path: kept.id for kept in store.fetch(store.first(99, ALL))}
    (folder / "b.md").write_text("# Tea\n\nBoil more water.\n")
    os.utime(folder / "a.txt", ns=(5, 5))  # another time, the same words
    (folder / "deep" / "c.html").unlink()
    (folder / "e.txt").write_text("Something new.")
    report, store = indexed(folder)
    assert report.added == ["docs/e.txt"]
    assert report.updated == ["docs/b.md"]
    assert report.removed == ["docs/deep/c.html"]
    assert report.unchanged == ["docs/a.txt", "docs/deep/er/d.pdf"]
    assert store.document("docs/a.txt").modified == 5
    after = {kept.path: kept.id for kept in store.fetch(store.first(99, ALL))}
    assert after["docs/a.txt"] == before["docs/a.txt"]
    assert store.by_words("more", 1, ALL)
    assert store.verify() == []


def test_the_same_size_and_time_is_not_read(folder: Path, indexed: Indexed) -> None:
    """The quick check: a file is not even opened if nothing speaks for a change."""
    indexed(folder)
    before = (folder / "a.txt").stat()
    (folder / "a.txt").write_text("x" * before.st_size)
    os.utime(folder / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    report, _ = indexed(folder)
    assert not report.changed


def test_what_cannot_be_read_any_more_is_taken_out(folder: Path, indexed: Indexed) -> None:
    indexed(folder)
    (folder / "a.txt").write_bytes((folder / "locked.pdf").read_bytes())
    report, store = indexed(folder)
    assert report.removed == ["docs/a.txt"]
    assert store.by_words("fish", 1, ALL) == []


def test_a_file_that_is_no_document_is_read_once(folder: Path, tmp_path: Path) -> None:
    with SqliteStore.create(tmp_path / "i.db", settings_for(None)) as store:
        indexer = Indexer(store, tmp_path)
        first, again = indexer.update([folder]), indexer.update([folder])
        assert "docs/locked.pdf" in [row.path for row in first.failed]
        assert again.failed == first.failed
        before = (folder / "locked.pdf").stat()
        (folder / "locked.pdf").write_bytes(b"x" * before.st_size)  # a document now, which nobody can know
        os.utime(folder / "locked.pdf", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert indexer.update([folder]).failed == first.failed
        os.utime(folder / "locked.pdf")
        assert indexer.update([folder]).failed != first.failed


def test_two_folders_do_not_disturb_each_other(tmp_path: Path, indexed: Indexed) -> None:
    for name in ("one", "two", "two-more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.txt").write_text(f"Text of {name}.")
    for name in ("one", "two", "two-more"):
        _, store = indexed(tmp_path / name, base=tmp_path / "one")
    assert [document.path for document in store.documents()] == sorted(
        [f"{tmp_path.resolve()}/two-more/t.txt", f"{tmp_path.resolve()}/two/t.txt", "t.txt"]
    )
    (tmp_path / "two" / "t.txt").unlink()
    report, _ = indexed(tmp_path / "two", base=tmp_path / "one")
    assert report.removed == [f"{tmp_path.resolve()}/two/t.txt"]
    (tmp_path / "one" / "t.txt").unlink()
    report, store = indexed(tmp_path, base=tmp_path / "one")  # the folder above all of them
    assert report.removed == ["t.txt"]
    assert [Path(document.path).parent.name for document in store.documents()] == ["two-more"]


def test_special_files_and_names(tmp_path: Path, indexed: Indexed) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    os.mkfifo(folder / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "socket.txt"))
    (folder / "dangling.txt").symlink_to("nowhere")
    (folder / "loop").symlink_to(folder)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt")).write_text("Bytes.")
    (folder / "naïve ünïcode 東.txt").write_text("Fine.")
    report, store = indexed(folder)
    assert [document.path for document in store.documents()] == ["docs/naïve ünïcode 東.txt"]
    assert sorted((row.path, row.kind) for row in report.skipped) == [
        ("docs/\\udcff.txt", "failed"),
        ("docs/dangling.txt", "failed"),
        ("docs/loop", "special"),
        ("docs/pipe.txt", "special"),
        ("docs/socket.txt", "special"),
    ]
    with pytest.raises(InputError, match="there is no folder"):
        indexed(tmp_path / "none")


def test_vectors_are_those_of_the_passages(folder: Path, model: Path, indexed: Indexed) -> None:
    embedder = Embedder.load(model)
    _, store = indexed(folder, embedder=embedder)
    for kept in store.fetch(store.first(99, ALL)):
        (found, score), *_ = store.by_vector(embedder.encode(kept.passage.text.strip()), 1, ALL)
        assert found == kept.id
        assert score > 0.999


def test_another_model_is_refused(folder: Path, tmp_path: Path, model: Path) -> None:
    embedder = Embedder.load(model)
    store = SqliteStore.create(tmp_path / "i.db", settings_for(embedder, str(model)))
    assert fingerprint(embedder_of(store)) == fingerprint(embedder)
    other = toy_embedder(tmp_path / "other", width=16)
    with pytest.raises(SearchError, match="made with another model"):
        embedder_of(store, str(other))
    with pytest.raises(SearchError, match="has vectors; give embedder"):
        Indexer(store, tmp_path)
    lost = SqliteStore.create(tmp_path / "lost.db", settings_for(embedder, "no/such/model"))
    with pytest.raises(
        SearchError, match=r"now: pocketbert index DIR --index .*lost\.db --model MODEL; or .* --by words"
    ):
        embedder_of(lost)
    assert embedder_of(lost, str(model)) is not None


RUN = """
import sys
from pathlib import Path
import pocketbert.search.index as index
from pocketbert.runtime.embed import Embedder
from pocketbert.search.models import settings_for
from pocketbert.search.sqlite import SqliteStore
folder, file, model = map(Path, sys.argv[1:])
index.BATCH = 6
embedder = Embedder.load(model, threads=1)
print("ready", flush=True)
sys.stdin.readline()
with SqliteStore.create(file, settings_for(embedder, "toy")) as store:
    index.Indexer(store, file.parent, embedder).update([folder])
"""


def process(folder: Path, file: Path, model: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, str(folder), str(file), str(model)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def go(one: subprocess.Popen[str]) -> None:
    one.stdin.write("\n")
    one.stdin.flush()


@pytest.fixture
def many(tmp_path: Path) -> Path:
    folder = tmp_path / "many"
    folder.mkdir()
    rng = random.Random(1)
    for number in range(120):
        words = [rng.choice(["fish", "river", "stone", "seven", "number", "tea."]) for _ in range(300)]
        (folder / f"{number:03}.txt").write_text(f"Number {number}. " + " ".join(words))
    return folder


def test_killed_at_any_moment(many: Path, tmp_path: Path, model: Path) -> None:
    """Kill an indexing process again and again: what is there is whole each time, and in the end it is all there."""
    whole = process(many, tmp_path / "whole.db", model)
    whole.stdout.readline()
    begun = time.monotonic()
    assert whole.communicate("\n", timeout=100)[1] == ""
    lasts = time.monotonic() - begun
    rng = random.Random(2)
    file = tmp_path / "killed.db"
    kills, counts = 0, [0]
    waiting = [process(many, file, model) for _ in range(2)]  # they start up while others run
    while True:
        one = waiting.pop(0)
        one.stdout.readline()
        go(one)
        waiting.append(process(many, file, model))
        try:
            one.wait(timeout=rng.uniform(0, lasts / 4) if kills < 14 else 100)
            break
        except subprocess.TimeoutExpired:
            one.send_signal(signal.SIGKILL)
            one.communicate()
        kills += 1
        if file.exists() and file.stat().st_size:
            try:
                with SqliteStore(file) as store:
                    assert store.verify() == []
                    counts.append(store.statistics().documents)
            except SearchError as error:
                assert "is empty" in str(error)  # noqa: PT017 - killed before the first transaction
    assert one.communicate()[1] == ""
    for other in waiting:
        other.kill()
        other.communicate()
    assert kills >= 5
    assert counts == sorted(counts)  # nothing that was there is ever lost
    with SqliteStore(file) as killed, SqliteStore(tmp_path / "whole.db") as uninterrupted:
        assert killed.verify() == []
        assert killed.statistics().documents == 120
        assert content(killed) == content(uninterrupted)


def test_two_processes_at_once(many: Path, tmp_path: Path, model: Path) -> None:
    """Both index the same folder into the same file, while a third reads."""
    file = tmp_path / "both.db"
    both = [process(many, file, model) for _ in range(2)]
    for one in both:
        one.stdout.readline()
    for one in both:
        go(one)
    seen = [0]
    while any(one.poll() is None for one in both):
        if file.exists() and file.stat().st_size:
            try:
                with SqliteStore(file) as store:
                    seen.append(store.statistics().documents)
                    assert len(store.fetch(store.first(5, ALL))) in (0, 5)
            except SearchError as error:
                assert "is empty" in str(error)  # noqa: PT017 - before the first transaction
        time.sleep(0.02)
    assert [one.communicate()[1] for one in both] == ["", ""]
    assert seen == sorted(seen)
    alone = tmp_path / "alone.db"
    embedder = Embedder.load(model)
    Indexer(SqliteStore.create(alone, settings_for(embedder, "toy")), tmp_path, embedder).update([many])
    with SqliteStore(file) as store, SqliteStore(alone) as single:
        assert store.verify() == []
        assert content(store) == content(single)
