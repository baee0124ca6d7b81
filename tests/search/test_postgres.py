"""An index on a real server: connections that are cut, a server that is killed, writers that are killed, and errors."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from pocketbert.errors import InputError, SearchError
from pocketbert.search.postgres import PostgresStore, queries, writing
from pocketbert.search.postgres.address import Address
from pocketbert.search.postgres.queries import asked_words, pattern, words_of
from pocketbert.search.store import Entry, Filter, ReadOnlyIndexError
from postgres_server import Server
from store_cases import DIMENSIONS, SETTINGS, WITHOUT, entry

ALL = Filter()
TESTS = Path(__file__).resolve().parent.parent
ANY = np.ones(DIMENSIONS, np.float32)

# Puts in documents until it is killed; says the number of each that is there.
WRITER = """
import sys; sys.path.insert(0, sys.argv[2])
from store_cases import SETTINGS, entry
from pocketbert.search.postgres import PostgresStore
with PostgresStore.create(sys.argv[1], SETTINGS) as store:
    for number in range(int(sys.argv[3]), 10**6):
        store.replace([entry(f"{number}-{part}.txt", f"Fish number {number} is here. " * 9) for part in "ab"])
        print(number, flush=True)
"""


def filled(address: str, count: int = 20) -> PostgresStore:
    store = PostgresStore.create(address, SETTINGS)
    store.replace([entry(f"{number}.txt", f"Fish number {number} is here. " * 9) for number in range(count)])
    return store


def test_a_connection_that_is_cut_is_made_again(postgres: Server, address: str) -> None:
    with filled(address) as store:
        for work in (
            lambda: store.by_words("fish", 3, ALL),
            lambda: store.by_vector(ANY, 3, ALL),
            lambda: store.replace([entry("new.txt", "New.")]),
            lambda: store.remove(["1.txt"]),
            lambda: list(store.documents()),
            lambda: store.verify(),
        ):
            postgres.cut()
            work()
        assert (store.statistics().documents, store.verify()) == (20, [])


def test_a_server_that_is_killed_and_started_again_is_waited_for(postgres: Server, address: str) -> None:
    with filled(address) as store:
        written: list[int] = []

        def write() -> None:
            for number in range(60):
                store.replace([entry(f"more-{number}.txt", "More fish came. " * 9)])
                written.append(number)

        writer = threading.Thread(target=write)
        writer.start()
        while len(written) < 5:
            time.sleep(0.01)
        postgres.kill()
        postgres.start()
        writer.join(timeout=60)
        assert written == list(range(60))
        assert (store.statistics().documents, store.verify()) == (80, [])


def test_a_server_that_stays_away_is_named(address: str, postgres: Server) -> None:
    store = PostgresStore.create(address, SETTINGS, patience=0.3)
    postgres.kill()
    try:
        with pytest.raises(SearchError, match=r"index_of_a_test could not be read: PostgreSQL says"):
            store.by_words("fish", 3, ALL)
        with pytest.raises(SearchError, match="could not be opened"):
            PostgresStore(address)
    finally:
        store.close()
        postgres.start()


def test_killed_at_any_moment(address: str) -> None:
    generator = random.Random(7)
    said = -1
    for _ in range(5):
        command = [sys.executable, "-c", WRITER, address, str(TESTS), str(said + 1)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = int(process.stdout.readline())
        time.sleep(generator.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].split()
        said = int(rest[-1]) if rest else said
        with PostgresStore(address) as store:
            assert store.verify() == []
            names = {document.path for document in store.documents()}
        numbers = {int(name.split("-")[0]) for name in names}
        assert set(range(said + 1)) <= numbers
        assert len(names) == 2 * len(numbers)  # both of a batch, or none


def test_several_makers_and_writers_at_once(address: str) -> None:
    """Four processes make the same index at the same time and write the same documents."""
    code = WRITER.replace("10**6", "int(sys.argv[3]) + 8")
    command = [sys.executable, "-c", code, address, str(TESTS)]
    processes = [
        subprocess.Popen(
            [*command, str(4 * number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for number in range(4)
    ]
    assert [process.communicate(timeout=100)[1] for process in processes] == [""] * 4
    with PostgresStore(address) as store:
        assert (store.verify(), store.statistics().documents) == ([], 40)


def test_who_comes_second_with_the_same_document_says_nothing_of_it(
    address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first one writes it after the second has looked for it: the second fails, begins anew and finds it."""
    entries = [entry(f"{number:03}.txt", f"Fish number {number} is here.") for number in range(200)]
    with PostgresStore.create(address, SETTINGS) as first, PostgresStore(address) as second:
        calls: list[int] = []

        def interrupted(store_connection: Any, new: Sequence[Entry]) -> None:
            calls.append(len(new))
            if len(calls) == 1:
                first.replace(entries[:1])
            insert(store_connection, new)

        insert = writing._insert
        monkeypatch.setattr(writing, "_insert", interrupted)
        second.replace(entries)
        assert calls == [200, 1, 199]
        assert (second.verify(), second.statistics().documents) == ([], 200)
    assert caplog.records == []


def test_common_words_are_known_without_counting(
    postgres: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresStore.create(address, WITHOUT) as store:
        store.replace(
            [entry(f"{n}.txt", f"The fish of day {n}.", vectors=False) for n in range(300)]
            + [entry("rare.txt", "The fish is a trout.", vectors=False)]
        )
        assert len(store.by_words("the trout fish", 400, ALL)) == 301
        monkeypatch.setattr(queries, "SHORTLIST", 10)  # as if it were a large index
        before = store.by_words("the trout fish", 400, ALL)
        assert store._counts(["fish", "trout"], 301) == {"fish": 301, "trout": 1}
        postgres.run("analyze index_of_a_test.passages")
        postgres.run("delete from index_of_a_test.passages where text like '%day 1%'")
        # As it was estimated, so nothing was counted.
        assert store._counts(["fish", "trout"], 301)["fish"] == 301
        after = store.by_words("the trout fish", 400, ALL)
        assert store.fetch([after[0][0]])[0].path == "rare.txt"
        assert before[0] == (after[0][0], pytest.approx(after[0][1]))
        assert len(before) == 1  # a word that all have brings in none that lacks the rare one
        assert len(store.by_words("fish", 400, ALL)) > 100


def test_many_vectors_come_by_the_index_and_filtered_ones_exactly(postgres: Server, address: str) -> None:
    rng = np.random.default_rng(5)
    with PostgresStore.create(address, SETTINGS) as store:
        for start in range(0, 3000, 500):
            store.replace(
                [entry(f"{n % 10}/{n}.txt", f"Fish {n}.", modified=n) for n in range(start, start + 500)]
            )
        postgres.run("analyze index_of_a_test.passages")
        query = rng.normal(size=DIMENSIONS).astype(np.float32)
        plan = postgres.run(
            "explain select id from index_of_a_test.passages "
            f"order by vector <=> '{query.tolist()}'::halfvec limit 10"
        )
        assert "passages_vector_idx" in str(plan)
        exact = dict(store.by_vector(query, 3000, Filter(since=0)))
        assert len(exact) == 3000
        best = sorted(exact.values(), reverse=True)[:50]
        found = store.by_vector(query, 50, ALL)
        assert sum(cosine >= best[-1] - 1e-6 for _, cosine in found) >= 48
        assert len(store.by_vector(query, 4000, ALL)) == 3000
        some = store.by_vector(query, 99, Filter(path="3/*", since=2000))
        assert len(some) == 99
        assert all(kept.path.startswith("3/") for kept in store.fetch([number for number, _ in some]))


def test_what_postgresql_cannot_keep_stays_in_its_place(address: str) -> None:
    with PostgresStore.create(address, SETTINGS) as store:
        store.replace([entry("nul.txt", "Fish\0fish are here.")])
        assert store.verify() == []
        assert store.around("nul.txt", 0, 9)[0].text == "Fish\ufffdfish are here."


def test_vectors_of_any_length_are_kept(address: str) -> None:
    """Half floats end at 65,504, and cosines do not see how long a vector is."""
    with PostgresStore.create(address, SETTINGS) as store:
        for number, scale in enumerate((1e-9, 1.0, 1e9)):
            one = entry(f"{number}.txt", "Fish.")
            store.replace([Entry(one.document, one.passages, one.vectors * np.float32(scale))])
        hits = store.by_vector(one.vectors[0] * np.float32(1e7), 9, ALL)
        assert [cosine for _, cosine in hits] == pytest.approx([1.0] * 3, abs=1e-3)


def test_another_writer_is_waited_for_then_named(postgres: Server, address: str) -> None:
    with filled(address) as store, PostgresStore(address, patience=0.3) as other:
        with psycopg.connect(postgres.address) as writer:
            writer.execute("select * from index_of_a_test.documents where path = '1.txt' for update")
            with pytest.raises(SearchError, match="another process is writing to it"):
                other.remove(["1.txt"])
            assert other.by_words("fish", 1, ALL)
        assert other.remove(["1.txt"]) == 1
        assert store.document("1.txt") is None


def test_a_full_disk_loses_nothing_that_was_there(postgres: Server, address: str) -> None:
    """The server says what it would say on a full disk, in the middle of a batch."""
    full = "begin raise exception 'could not extend file' using errcode = 'disk_full'; end"
    with filled(address) as store:
        postgres.run(
            f"create function index_of_a_test.refuse() returns trigger language plpgsql as $${full}$$"
        )
        postgres.run(
            "create trigger refuse before insert on index_of_a_test.passages for each row "
            "when (new.text like '%large%') execute function index_of_a_test.refuse()"
        )
        with pytest.raises(SearchError, match="could not be written: the server's disk is full"):
            store.replace([entry("small.txt", "Small."), entry("large.txt", "Very large indeed. " * 50)])
        assert store.document("small.txt") is None
        assert (store.verify(), store.statistics().documents) == ([], 20)
        postgres.run("drop trigger refuse on index_of_a_test.passages")
        store.replace([entry("large.txt", "Very large indeed. " * 50)])
        assert (store.verify(), store.statistics().documents) == ([], 21)


def test_an_index_that_is_dropped_takes_nothing_from_others(postgres: Server, address: str) -> None:
    other = address.replace("#index_of_a_test", "#another_index")
    with filled(other), filled(address) as store:
        postgres.run("drop schema another_index cascade")
        assert store.by_vector(ANY, 3, ALL)
        with pytest.raises(SearchError, match="there is no index"):
            PostgresStore(other)


def test_more_documents_than_a_server_has_locks(address: str) -> None:
    with PostgresStore.create(address, WITHOUT) as store:
        store.replace([entry(f"{n}.txt", "Fish.", vectors=False) for n in range(7000)])
        assert store.remove(f"{n}.txt" for n in range(7000)) == 7000


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("update passages set text = replace(text, 'Fish', 'Wish') where number = 0", "not what was indexed"),
        ("update documents set characters = 1 where path = '0.txt'", r"0\.txt: .* up to 1"),
        ("update passages set start = start + 1 where number = 1", "not where it should be"),
        ("delete from passages where number = 1", "not where it should be"),
        ("update passages set words = '' where number = 0", r"0\.txt: words are not those of its text"),
        (
            "update passages set vector = '[0,0,0,0,0,0,0,0]' where number < 2",
            r"(?m)^0\.txt: 2 vectors are empty",
        ),
        ("update documents set words = 1 where path = '0.txt'", r"0\.txt: words are not those of its text"),
    ],
)
def test_verify_finds_what_does_not_agree(postgres: Server, address: str, sql: str, problem: str) -> None:
    with filled(address) as store:
        assert store.verify() == []
        postgres.run(f"set search_path = index_of_a_test; {sql}")
        assert re.search(problem, "\n".join(store.verify()))


def test_places_without_an_index(postgres: Server, address: str) -> None:
    with pytest.raises(SearchError, match=r"there is no index .*index_of_a_test; make one"):
        PostgresStore(address)
    postgres.run("create schema index_of_a_test")
    for opening in (lambda: PostgresStore(address), lambda: PostgresStore.create(address, SETTINGS)):
        with pytest.raises(SearchError, match="the schema index_of_a_test is no index of ours"):
            opening()
    postgres.run("drop schema index_of_a_test")
    filled(address).close()
    postgres.run("update index_of_a_test.settings set value = '99' where name = 'form'")
    with pytest.raises(SearchError, match="has version 99 of the index's form"):
        PostgresStore(address)
    postgres.run("delete from index_of_a_test.settings where name = 'words'")
    postgres.run("update index_of_a_test.settings set value = '1' where name = 'form'")
    with pytest.raises(SearchError, match="is damaged"):
        PostgresStore(address)
    with pytest.raises(SearchError, match="there is no such database; make it with createdb"):
        PostgresStore(address.replace("/postgres?", "/elsewhere?"))
    with pytest.raises(SearchError, match="could not be opened: PostgreSQL says"):
        PostgresStore("postgresql://localhost:1/nowhere")


def test_a_user_who_may_do_nothing(postgres: Server, address: str) -> None:
    filled(address).close()
    postgres.run("create role guest login")
    guest = address.replace("//postgres:@", "//guest@")
    try:
        with pytest.raises(SearchError, match="this user may not do that"):
            PostgresStore(guest)
        postgres.run("grant usage on schema index_of_a_test to guest")
        postgres.run("grant select on all tables in schema index_of_a_test to guest")
        with PostgresStore(guest) as store:
            assert store.by_words("fish", 3, ALL)
            with pytest.raises(ReadOnlyIndexError, match="this user may not do that"):
                store.remove(["1.txt"])
    finally:
        postgres.run("drop owned by guest; drop role guest")


def test_addresses() -> None:
    whole = Address.of("postgresql://ann:secret@db.example:5433/books?sslmode=require#manuals")
    assert (whole.schema, str(whole)) == (
        "manuals",
        "postgresql://ann@db.example:5433/books?sslmode=require#manuals",
    )
    assert str(Address.of("postgres://db/books")) == "postgres://db/books"
    hidden = Address.of("postgresql://db/books?password=secret&user=ann&sslpassword=secret")
    assert str(hidden) == "postgresql://db/books?user=ann"
    for wrong in (
        "postgresql://db/books#Drop Table",
        "postgresql://db/books#1",
        f"postgresql://db#{'a' * 64}",
    ):
        with pytest.raises(InputError, match="an index cannot be called"):
            Address.of(wrong)
    with pytest.raises(InputError, match="is no address of a database"):
        Address.of("books.db")


def test_words() -> None:
    assert words_of("Naïve Ångström's x_y ﬁsh 한국") == ["naive", "angstrom", "s", "x", "y", "fish", "한국"]
    assert asked_words("首都は cat 東") == ["首都", "都は", "cat", "東"]
    for glob, path, fits in [
        ("*.md", "a/b.md", True), ("*.md", "amd", False), ("a?c", "abc", True), ("a?c", "ac", False),
        ("[ab]/*", "b/x", True), ("[^ab]/*", "b/x", False), ("a+(b)$.txt", "a+(b)$.txt", True), ("[", "[", True),
        ("[]]x", "]x", True), ("a b", "a b", True),
    ]:  # fmt: skip
        assert bool(re.search(pattern(glob), path)) is fits, (glob, path)
