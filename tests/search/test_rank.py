"""Searching: the orders, their fusion, the reranker; and that answers stand where they are said to stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import toy_reader
from pocketbert.errors import InputError, SearchError
from pocketbert.runtime.embed import Embedder
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.runtime.rerank import Reranker
from pocketbert.search.ask import Library, stretches
from pocketbert.search.index import Indexer
from pocketbert.search.models import settings_for
from pocketbert.search.postgres import PostgresStore
from pocketbert.search.rank import Searcher, fused
from pocketbert.search.sqlite import SqliteStore
from pocketbert.search.store import Filter, Settings, Store, joined
from small_sentences import toy_embedder, toy_reranker

StoreOf = Callable[..., Store]
TEXTS = {
    "ferry.txt": "The ferry leaves at nine. It is never late.",
    "boat.md": "# Boats\n\nThe boat goes at ten.",
    "bread.txt": "Bread is made of flour and water.",
    "more/ferry.txt": "A ferry, the ferry, every ferry sails.",
}


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return Embedder.load(toy_embedder(tmp_path_factory.mktemp("embedder")))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> QuestionAnswerer:
    return QuestionAnswerer.load(toy_reader.save_reader(tmp_path_factory.mktemp("reader")))


@pytest.fixture(params=["sqlite", "postgres"])
def store_of(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreOf]:
    """Index some texts in a store of one kind or the other."""
    address = request.getfixturevalue("address") if request.param == "postgres" else ""
    opened: list[Store] = []

    def make(texts: dict[str, str], embedder: Embedder | None = None, **sizes: int) -> Store:
        for name, text in texts.items():
            (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "docs" / name).write_text(text)
        made = settings_for(embedder, "toy")
        settings = Settings(made.embedder, made.fingerprint, made.dimensions, **sizes)
        file = tmp_path / "docs" / "i.db"
        opened.append(
            PostgresStore.create(address, settings) if address else SqliteStore.create(file, settings)
        )
        Indexer(opened[-1], tmp_path / "docs", embedder).update([tmp_path / "docs"], without=[file])
        return opened[-1]

    yield make
    for store in opened:
        store.close()


def test_fusion_is_the_sum_of_reciprocal_places() -> None:
    assert fused([(1, 9.0), (2, 8.0), (3, 7.0)], [(3, 0.9), (4, 0.8)]) == pytest.approx(
        {3: 1 / 63 + 1 / 61, 1: 1 / 61, 2: 1 / 62, 4: 1 / 62}
    )
    assert list(fused([(5, 1.0), (4, 1.0)], [(4, 1.0), (5, 1.0)])) == [4, 5]  # of equals the lower


def test_words_vectors_and_both(store_of: StoreOf, embedder: Embedder) -> None:
    searcher = Searcher(store_of(TEXTS, embedder), embedder)
    words = searcher.search("ferry", by="words")
    assert {hit.kept.path for hit in words} == {"ferry.txt", "more/ferry.txt"}
    assert [hit.by_vectors for hit in words] == [None, None]
    vectors = searcher.search("Bread is made of flour and water.", by="vectors")
    assert (vectors[0].kept.path, len(vectors)) == ("bread.txt", 4)
    assert vectors[0].score == pytest.approx(1.0, abs=1e-3)
    both = searcher.search("ferry")
    assert searcher.search("ferry", by="both") == both
    assert len(both) == 4
    for hit in both:
        expected = sum(1 / (60 + place) for place in (hit.by_words, hit.by_vectors) if place)
        assert hit.score == pytest.approx(expected)
    assert [hit.score for hit in both] == sorted((hit.score for hit in both), reverse=True)
    assert len(searcher.search("ferry", top=1)) == 1


def test_filters(store_of: StoreOf, embedder: Embedder) -> None:
    searcher = Searcher(store_of(TEXTS, embedder), embedder)
    assert {hit.kept.path for hit in searcher.search("ferry", where=Filter(path="*.md"))} == {"boat.md"}
    assert searcher.search("ferry", where=Filter(since=2**62)) == []


def test_the_reranker_has_the_last_word(tmp_path: Path, store_of: StoreOf, embedder: Embedder) -> None:
    reranker = Reranker.load(toy_reranker(tmp_path / "reranker"))
    store = store_of(TEXTS, embedder)
    hits = Searcher(store, embedder, reranker=reranker).search("ferry", top=3)
    wanted = sorted(
        reranker.predict(
            [("ferry", kept.passage.text.strip()) for kept in store.fetch(store.first(9, Filter()))]
        ),
        reverse=True,
    )
    assert [hit.score for hit in hits] == pytest.approx(wanted[:3])


def test_without_vectors(store_of: StoreOf) -> None:
    searcher = Searcher(store_of(TEXTS))
    assert searcher.usual == "words"
    assert searcher.search("bread")[0].kept.path == "bread.txt"
    with pytest.raises(SearchError, match="no vectors"):
        searcher.search("bread", by="vectors")
    for query, options in (
        ("", {}),
        ("  ", {}),
        ("x", {"top": 0}),
        ("x", {"top": 5000}),
        ("x", {"by": "ear"}),
    ):
        with pytest.raises(InputError):
            searcher.search(query, **options)


def test_stretches_are_joined_where_they_meet(store_of: StoreOf) -> None:
    text = " ".join(f"Sentence number {number} is here." for number in range(40))
    store = store_of({"long.txt": text}, words=10, overlap=5)
    last = store.count(Filter()) - 1
    found = stretches(store, [("long.txt", 5), ("long.txt", 7), ("long.txt", last), ("long.txt", 20)])
    assert len(found) == 3
    for stretch in found:
        assert text[stretch.start : stretch.end] == stretch.text
    parts = store.around("long.txt", 4, 8)
    assert (found[0].start, found[0].end) == (parts[0].start, parts[-1].end)
    assert stretches(store, [("gone.txt", 0)]) == []


def test_answers_stand_where_they_are_said_to(store_of: StoreOf, reader: QuestionAnswerer) -> None:
    filler = "The weather was fine and people went to the market. "
    texts = {f"{number}.txt": filler * 20 for number in range(5)}
    texts["find.txt"] = filler * 30 + "\nIn the old river\nthey found gold at last. " + filler * 30
    store = store_of(texts)
    library = Library(Searcher(store), reader)
    asked = library.ask("What was found in the river?", passages=3)
    (answer,) = asked.answers
    text = joined(store.around("find.txt", 0, 999))
    assert text == texts["find.txt"]
    assert text[answer.start : answer.end] == answer.text == "gold"
    assert (answer.path, answer.where.line, answer.where.page) == ("find.txt", 3, None)
    assert answer.sentence == text[answer.sentence_start : answer.sentence_start + len(answer.sentence)]
    assert (asked.passages, asked.complete) == (3, False)
    assert asked.of == store.count(Filter())


def test_scores_are_those_of_reading_all_as_one(store_of: StoreOf, reader: QuestionAnswerer) -> None:
    texts = {"a.txt": "They found silver there.", "b.txt": "And bronze here.", "c.txt": "Nothing at all."}
    library = Library(Searcher(store_of(texts)), reader)
    asked = library.ask("What did they find?", top_k=2, read="all")
    whole = reader.among("What did they find?", list(texts.values()), top_k=2, read="all")
    assert [answer.text for answer in asked.answers] == ["silver", "bronze"]
    assert [answer.score for answer in asked.answers] == [answer.score for answer in whole]
    assert asked.no_answer == whole.no_answer
    assert asked.complete


def test_an_answer_at_a_seam_is_found(tmp_path: Path, store_of: StoreOf) -> None:
    """A long sentence is cut into passages, and the words of the answer may be in two of them."""
    words = [f"w{number}" for number in range(200)]
    folder = toy_reader.save_reader(tmp_path / "reader", logits={"gold": 10.0, "silver": 10.0})
    reader = QuestionAnswerer.load(folder)
    for place in range(95, 125, 3):
        text = " ".join([*words[:place], "gold", "and", "silver", *words[place:]])
        store = store_of({"one.txt": text}, words=20, overlap=0)
        (number,) = [
            kept.passage.number
            for kept in store.fetch(store.first(99, Filter()))
            if "gold" in kept.passage.text.split()
        ]
        (stretch,) = stretches(store, [("one.txt", number)])
        assert "gold and silver" in stretch.text
        asked = Library(Searcher(store), reader).ask("Was it gold or silver ?", passages=1)
        assert asked.answers[0].text in ("gold and silver", "gold", "silver")
        assert text[asked.answers[0].start : asked.answers[0].end] == asked.answers[0].text


def test_no_answer(store_of: StoreOf, reader: QuestionAnswerer) -> None:
    library = Library(Searcher(store_of(TEXTS)), reader)
    asked = library.ask("What did they find?")
    assert (asked.found, asked.complete, asked.no_answer > 0.99) == (False, True, True)
    nowhere = library.ask("What did they find?", where=Filter(path="none/*"))
    assert (nowhere.found, nowhere.passages, nowhere.of, nowhere.no_answer) == (False, 0, 0, 1.0)
    with pytest.raises(InputError, match="question is empty"):
        library.ask(" ")
    with pytest.raises(InputError, match="no option colour"):
        library.ask("What?", colour="red")
