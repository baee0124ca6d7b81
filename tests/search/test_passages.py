"""Documents to passages: nothing is lost, offsets are right, sentences stay whole."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError, SearchError
from pocketbert.search.passages import WORD, Passage, passages
from pocketbert.search.places import Places, Where
from pocketbert.search.store import joined
from pocketbert.text.pages import page_from_text

WORDS = [
    "river",
    "Dr.",
    "stone!",
    "and",
    "42",
    "?",
    "e.g.",
    "東京",
    "塔。",
    "\n",
    "\n\n",
    "  ",
    "été",
    "a" * 50,
    "\u00a0",
]


def sentence(number: int, words: int) -> str:
    return " ".join([f"Sentence{number}", *["word"] * (words - 2), "end."])


def check(text: str, found: list[Passage], words: int, overlap: int) -> None:
    assert [passage.number for passage in found] == list(range(len(found)))
    assert all(text[passage.start : passage.end] == passage.text for passage in found)
    assert all(passage.text.strip() for passage in found)
    assert joined(found) == (text if text.strip() else "")
    for passage in found:
        assert len(WORD.findall(passage.text)) <= words
    for before, after in pairwise(found):
        assert before.start < after.start
        assert before.end < after.end
        assert len(WORD.findall(text[after.start : before.end])) <= overlap


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS)), st.integers(1, 12), st.data())
def test_nothing_is_lost(words: list[str], size: int, data: st.DataObject) -> None:
    text = " ".join(words)
    overlap = data.draw(st.integers(0, size // 2))
    check(text, passages(text, words=size, overlap=overlap), size, overlap)


def test_blanks_before_a_heading_are_no_passage() -> None:
    text = "\n\n River \n\n Stone"
    found = passages(text, words=1, overlap=0)
    assert [passage.text for passage in found] == ["\n\n River \n\n ", "Stone"]


@settings(max_examples=60, deadline=None)
@given(st.text(), st.integers(1, 12))
def test_any_text_will_do(text: str, size: int) -> None:
    check(text, passages(text, words=size, overlap=size // 2), size, size // 2)


def test_sentences_stay_whole_and_neighbours_share_one() -> None:
    text = " ".join(sentence(number, 10) for number in range(30))
    found = passages(text, words=50, overlap=10)
    assert all(passage.text.startswith("Sentence") for passage in found)
    assert all(passage.text.rstrip().endswith("end.") for passage in found)
    shared = [text[after.start : before.end] for before, after in pairwise(found)]
    assert {len(part.split()) for part in shared} == {10}
    assert found == passages(text, words=50, overlap=10)


def test_a_long_sentence_is_cut_between_words() -> None:
    rng = random.Random(0)
    words = [f"w{rng.randrange(1000)}" for _ in range(1000)]
    found = passages(" ".join(words), words=100, overlap=20)
    assert {len(passage.text.split()) for passage in found[:-1]} == {100}
    assert found[1].text.split()[:20] == found[0].text.split()[-20:]


def test_a_heading_goes_with_what_follows() -> None:
    first = " ".join(sentence(number, 10) for number in range(9))
    text = f"{first}\n\nThe second part\n\n{sentence(9, 10)} {sentence(10, 10)}"
    one, two = passages(text, words=100, overlap=20)
    assert "The second part" not in one.text
    assert two.text.startswith("The second part\n\nSentence9")


def test_scripts_without_blanks_are_cut_too() -> None:
    text = "東京は日本の首都である。" * 100
    found = passages(text)
    check(text, found, 100, 20)
    assert len(found) > 5


@pytest.mark.parametrize(("words", "overlap"), [(0, 0), (10, 6), (10, -1)])
def test_sizes_that_make_no_sense(words: int, overlap: int) -> None:
    with pytest.raises(InputError, match="cannot be cut"):
        passages("A text.", words=words, overlap=overlap)


def test_places_are_those_of_the_page() -> None:
    source = "# Tea\n\nBoil the\nwater, *then*\nwait.\n\n- One\n- Two\n"
    page = page_from_text(source, kind="markdown")
    places = Places.from_bytes(Places.of(page).to_bytes())
    assert places == Places.of(page)
    for word in ("Tea", "Boil", "water", "then", "wait", "One", "Two"):
        place = page.text.index(word)
        assert places[place] == Where(page.locate(place, place).line)
        assert places[place].line == source[: source.index(word)].count("\n") + 1
    with pytest.raises(SearchError, match="index it again"):
        Places.from_bytes(b"torn")
