"""What every store does: the same tests for each kind of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pocketbert.errors import InputError, SearchError
from pocketbert.search.passages import Passage
from pocketbert.search.places import Where
from pocketbert.search.postgres import PostgresStore
from pocketbert.search.sqlite import SqliteStore
from pocketbert.search.store import Entry, Filter, Settings, Store, joined
from store_cases import DIMENSIONS, SETTINGS, WITHOUT, entry

Make = Callable[[Settings], Store]
ALL = Filter()
RIVER = (
    "The river is long. It has many fish in it. The old bridge fell down. Nobody built it again since then."
)
TEA = "Boil the water first.\nThen put the leaves in.\nWait for five minutes, and drink the tea."


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Open a store, or make it; each call opens the same one again."""
    opened: list[Store] = []
    address = request.getfixturevalue("address") if request.param == "postgres" else ""

    def opening(settings: Settings) -> Store:
        if address:
            opened.append(PostgresStore.create(address, settings))
        else:
            opened.append(SqliteStore.create(tmp_path / "index.db", settings))
        return opened[-1]

    yield opening
    for store in opened:
        store.close()


def texts(store: Store, hits: list[tuple[int, float]]) -> list[str]:
    return [kept.passage.text.strip() for kept in store.fetch([number for number, _ in hits])]


def test_documents_come_back_as_they_went_in(make: Make) -> None:
    river, tea = entry("b/river.txt", RIVER), entry("a/tea.txt", TEA)
    make(SETTINGS).replace([river, tea])
    store = make(SETTINGS)
    assert [document.path for document in store.documents()] == ["a/tea.txt", "b/river.txt"]
    assert store.document("a/tea.txt") == tea.document
    assert store.document("nowhere") is None
    assert store.around("b/river.txt", 0, 99) == list(river.passages)
    assert joined(store.around("b/river.txt", 0, 99)) == RIVER
    assert store.around("b/river.txt", 1, 1) == [river.passages[1]]
    assert store.settings == SETTINGS
    there = store.statistics()
    count = len(river.passages) + len(tea.passages)
    assert (there.documents, there.passages, there.vectors) == (2, count, count)
    assert (there.characters, there.bytes > 0) == (len(RIVER) + len(TEA), True)
    assert store.verify() == []


def test_passages_say_their_lines(make: Make) -> None:
    store = make(SETTINGS)
    store.replace([entry("tea.txt", TEA)])
    for kept in store.fetch(store.first(99, ALL)):
        assert kept.where == Where(TEA[: kept.passage.start].count("\n") + 1)


def test_replacing_leaves_nothing_behind(make: Make) -> None:
    store = make(SETTINGS)
    store.replace([entry("one.txt", RIVER), entry("two.txt", TEA)])
    store.replace([entry("one.txt", "Snow fell.")])
    assert store.count(ALL) == 1 + len(entry("two.txt", TEA).passages)
    assert store.by_words("bridge", 9, ALL) == []
    assert texts(store, store.by_words("snow", 9, ALL)) == ["Snow fell."]
    assert len(store.by_vector(np.ones(DIMENSIONS, np.float32), 99, ALL)) == store.count(ALL)
    assert store.verify() == []
    assert store.remove(["one.txt", "nowhere"]) == 1
    assert store.by_words("snow", 9, ALL) == []
    assert store.verify() == []
    assert store.remove(["two.txt"]) == 1
    assert (store.count(ALL), store.statistics().documents) == (0, 0)
    assert store.by_vector(np.ones(DIMENSIONS, np.float32), 9, ALL) == []


def test_what_is_there_already_keeps_its_passages(make: Make) -> None:
    store = make(SETTINGS)
    store.replace([entry("one.txt", RIVER)])
    before = store.first(99, ALL)
    store.replace([entry("one.txt", RIVER, modified=5)])
    assert store.first(99, ALL) == before
    assert store.document("one.txt").modified == 5
    store.touch("one.txt", size=3, modified=7)
    assert (store.document("one.txt").size, store.document("one.txt").modified) == (3, 7)


def test_all_of_a_batch_or_nothing(make: Make) -> None:
    store = make(SETTINGS)
    good, bad = entry("good.txt", RIVER), entry("bad.txt", TEA)
    gap = [Passage(0, 0, 3, "abc"), Passage(1, 9, 12, "def")]
    wrong = [
        Entry(bad.document, bad.passages, bad.vectors[:, :3]),
        Entry(bad.document, bad.passages, None),
        Entry(bad.document, gap, bad.vectors[:2]),
        Entry(bad.document, bad.passages[1:], bad.vectors[1:]),
    ]
    for one in wrong:
        with pytest.raises(InputError, match=r"bad\.txt"):
            store.replace([good, one])
    with pytest.raises(SearchError, match="not finite"):
        store.replace([good, Entry(bad.document, bad.passages, bad.vectors * np.float32("nan"))])
    assert store.statistics().documents == 0


def test_words_are_ranked(make: Make) -> None:
    store = make(SETTINGS)
    store.replace([entry("river.txt", RIVER), entry("tea.txt", TEA)])
    hits = store.by_words("Who built the old BRIDGES?", 9, ALL)
    assert "old bridge" in texts(store, hits)[0]
    scores = [score for _, score in hits]
    assert scores == sorted(scores, reverse=True)
    assert len(store.by_words("the", 2, ALL)) == 2
    assert store.by_words("zebra", 9, ALL) == []


@pytest.mark.parametrize(
    "query",
    [
        'quotes " and ""', "NEAR(a b)", "a AND NOT b OR", "text:fish", "^fish", "fish*", "(fish", "{fish} : x",
        "-fish", "'; drop table documents; --", "fish\0fish", "?", "...", "\\", "fish + water", "col : fish",
        "ﬁsh 🐟 fish", "\ud800 fish", "fish " * 3000, " ".join(f"w{n}" for n in range(3000)) + " fish",
    ],
)  # fmt: skip
def test_any_text_is_a_query(make: Make, query: str) -> None:
    store = make(SETTINGS)
    store.replace([entry("river.txt", RIVER)])
    found = texts(store, store.by_words(query, 9, ALL))
    assert any("fish" in text for text in found) == ("fish" in query)


def test_words_of_other_scripts(make: Make) -> None:
    store = make(SETTINGS)
    store.replace([entry("tokyo.txt", "東京は日本の首都である。"), entry("cafe.txt", "Un café très fort.")])
    found = texts(store, store.by_words("日本の首都はどこですか", 9, ALL))
    assert found
    assert all("本の首都" in text for text in found)
    assert store.by_words("都首", 9, ALL) == []
    assert texts(store, store.by_words("cafe", 9, ALL)) == ["Un café très fort."]


def test_vectors_are_compared_by_their_cosine(make: Make) -> None:
    store = make(SETTINGS)
    many = [entry(f"{number}.txt", f"Text number {number}.") for number in range(50)]
    store.replace(many)
    vectors = np.concatenate([one.vectors for one in many])
    query = np.random.default_rng(3).normal(size=DIMENSIONS).astype(np.float32) * 100
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    hits = store.by_vector(query, 10, ALL)
    assert [score for _, score in hits] == pytest.approx(sorted(cosines, reverse=True)[:10], abs=0.02)
    best = store.fetch([hits[0][0]])[0].path
    assert best == many[int(cosines.argmax())].document.path
    with pytest.raises(InputError, match=r"needs \(8,\)"):
        store.by_vector(np.ones(3, np.float32), 1, ALL)


def test_filters(make: Make) -> None:
    store = make(SETTINGS)
    store.replace(
        [entry("a/old.txt", "Old fish.", modified=100), entry("a/b/new.md", "New fish.", modified=200)]
    )
    vector = np.ones(DIMENSIONS, np.float32)
    cases = {
        Filter(): {"a/old.txt", "a/b/new.md"},
        Filter(path="*.md"): {"a/b/new.md"},
        Filter(path="a/*"): {"a/old.txt", "a/b/new.md"},
        Filter(since=150): {"a/b/new.md"},
        Filter(since=200): {"a/b/new.md"},
        Filter(path="*.txt", since=150): set(),
        Filter(until=100): {"a/old.txt"},
        Filter(until=99): set(),
        Filter(since=101, until=200): {"a/b/new.md"},
        Filter(path="a/b/*", until=199): set(),
    }
    for where, wanted in cases.items():
        for hits in (store.by_words("fish", 9, where), store.by_vector(vector, 9, where)):
            assert {kept.path for kept in store.fetch([number for number, _ in hits])} == wanted
        assert {kept.path for kept in store.fetch(store.first(9, where))} == wanted
        assert store.count(where) == len(wanted)


def test_without_vectors(make: Make) -> None:
    store = make(WITHOUT)
    store.replace([entry("river.txt", RIVER, vectors=False)])
    assert store.by_words("bridge", 9, ALL)
    assert store.statistics().vectors == 0
    assert store.verify() == []
    with pytest.raises(SearchError, match="no vectors"):
        store.by_vector(np.ones(DIMENSIONS, np.float32), 1, ALL)
    with pytest.raises(InputError, match="needs None"):
        store.replace([entry("tea.txt", TEA)])


def test_passages_that_are_gone_are_left_out(make: Make) -> None:
    store = make(SETTINGS)
    store.replace([entry("one.txt", RIVER), entry("two.txt", TEA)])
    ids = store.first(99, ALL)
    store.remove(["one.txt"])
    assert {kept.path for kept in store.fetch(ids[::-1])} == {"two.txt"}
    assert store.fetch(ids[::-1])[0].id == ids[-1]


@pytest.mark.parametrize("count", [0, -1, 4097])
def test_counts(make: Make, count: int) -> None:
    store = make(SETTINGS)
    with pytest.raises(InputError, match="from 1 to 4096"):
        store.by_words("fish", count, ALL)
    with pytest.raises(InputError, match="from 1 to 4096"):
        store.by_vector(np.ones(DIMENSIONS, np.float32), count, ALL)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (WITHOUT, "made with vectors of toy"),
        (Settings("else", "e" * 64, DIMENSIONS, 8, 4), "another model: toy"),
        (Settings("toy", "e" * 64, DIMENSIONS, 8, 4), "another model: toy"),
        (Settings("toy", "f" * 64, 16, 8, 4), "another model: toy"),
        (Settings("toy", "f" * 64, DIMENSIONS, 50, 10), "passages of 8 words"),
    ],
)
def test_another_model_is_refused(make: Make, other: Settings, message: str) -> None:
    make(SETTINGS).replace([entry("river.txt", RIVER)])
    with pytest.raises(SearchError, match=message) as caught:
        make(other)
    assert "--index FILE" in str(caught.value)
    moved = Settings("elsewhere/toy", SETTINGS.fingerprint, DIMENSIONS, 8, 4)
    assert make(moved).statistics().documents == 1


def test_the_embedder_may_be_moved(make: Make) -> None:
    store = make(SETTINGS)
    store.place_embedder("elsewhere/toy")
    assert store.settings == replace(SETTINGS, embedder="elsewhere/toy")
    assert make(SETTINGS).settings == store.settings
