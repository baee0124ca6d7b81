"""What unanswerable questions are made with: ranking, names, words, and lists of opposites."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from brookfield import FERRY, MILL
from pocketbert.data.unanswerable import (
    WordNet,
)
from pocketbert.data.unanswerable.lexicon import alternatives, antonyms, synonyms, verb_forms
from pocketbert.data.unanswerable.names import NameFinder
from pocketbert.data.unanswerable.words import content_stems, sentences, stem
from pocketbert.errors import InputError
from pocketbert.text.bm25 import Bm25


def test_bm25_agrees_with_the_formula() -> None:
    texts = [
        ["mill", "wheel", "mill"],
        ["wheel", "river"],
        ["bread"],
        ["river", "boat", "river", "bread", "oar"],
    ]
    index = Bm25(texts)
    mean = sum(map(len, texts)) / len(texts)

    def score(text: list[str], terms: set[str]) -> float:
        total = 0.0
        for term in terms:
            having = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            count = text.count(term)
            total += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / mean))
        return total

    for terms in ({"mill"}, {"river", "bread"}, {"wheel", "boat", "unheard"}, {"unheard"}):
        scores = [score(text, terms) for text in texts]
        expected = sorted(
            (number for number in range(4) if scores[number] > 0), key=lambda number: -scores[number]
        )
        assert index.nearest(terms, 4) == expected
    assert Bm25([]).nearest({"mill"}, 3) == []


def test_names_are_found_with_their_kind() -> None:
    finder = NameFinder([MILL, FERRY, "They met in Tarn. The abbot of Tarn died. People in Tarn mourned."])
    found = {
        (name.text, name.kind)
        for name in finder.find("In March 1848 Anna B. Clark left Tarn for the Elbe Valley.")
    }
    assert found >= {("March", "month"), ("1848", "year"), ("Anna B. Clark", "person"), ("Tarn", "place")}
    assert ("Elbe Valley", "place") in found
    assert finder.find("She walked home and slept.") == []


def test_words_and_sentences() -> None:
    parts = sentences('Dr. Moss met J. P. Lane. "Sit!" he said. They ate\nsoup.\n\nThe end')
    assert [part.text for part in parts] == [
        "Dr. Moss met J. P. Lane.",
        '"Sit!" he said.',
        "They ate\nsoup.",
        "The end",
    ]
    assert stem("walked") == stem("walking") == stem("Walks") == "walk"
    assert stem("cities") == stem("city")
    assert content_stems("What did the Mill's owners build?") == {"mill", "owner", "build"}


def test_lists_are_sound() -> None:
    assert len(antonyms()) > 700
    assert antonyms()["increased"] == ("decreased",)
    assert "smallest" in antonyms()["largest"]
    assert "buys" in synonyms()["purchases"]
    assert "knives" in alternatives()["spoons"]
    assert verb_forms("stop", "stopped") == ("stop", "stops", "stopping", "stopped", "stopped")
    assert verb_forms("carry") == ("carry", "carries", "carrying", "carried", "carried")
    for word, others in itertools.chain(antonyms().items(), synonyms().items(), alternatives().items()):
        assert word not in others
    both = {(word, other) for word, others in antonyms().items() for other in others}
    assert both.isdisjoint((word, other) for word, others in synonyms().items() for other in others)


def test_wordnet_gives_opposites_of_unambiguous_words(tmp_path: Path) -> None:
    write_wordnet(tmp_path)
    wordnet = WordNet(tmp_path)
    assert wordnet.antonyms("polite") == ("impolite",)
    assert wordnet.antonyms("victories") == ("defeats",)
    assert wordnet.antonyms("light") == ()  # adjective and noun
    assert wordnet.antonyms("courteous") == ()  # the pointer leaves from another word of the synset
    assert wordnet.antonyms("unknown") == ()
    (tmp_path / "data.verb").unlink()
    with pytest.raises(InputError, match=r"lacks data.verb; give the `dict` folder of WordNet 3"):
        WordNet(tmp_path)


def write_wordnet(folder: Path) -> None:
    """A WordNet of seven synsets in the format of its manual page wndb(5)."""
    pointers = {  # part -> synset: words, and (its word, target synset, target's word) of each antonym
        "adj": {
            0: (["polite", "courteous"], [(1, 1, 1)]),
            1: (["impolite"], [(1, 0, 1)]),
            2: (["light"], [(1, 3, 1)]),
            3: (["heavy"], [(1, 2, 1)]),
        },
        "noun": {0: (["victory"], [(1, 1, 1)]), 1: (["defeat"], [(1, 0, 1)]), 2: (["light"], [])},
        "verb": {},
        "adv": {},
    }
    for part, synsets in pointers.items():
        letter = part[0] if part != "adv" else "r"

        def line(number: int, offsets: list[int], synsets: dict = synsets, letter: str = letter) -> str:
            names, links = synsets[number]
            written = " ".join(f"{name} 0" for name in names)
            ends = " ".join(
                f"! {offsets[target]:08d} {letter} {source:02x}{word:02x}" for source, target, word in links
            )
            text = f"{offsets[number]:08d} 00 {letter} {len(names):02x} {written} {len(links):03d} {ends} | a gloss"
            return f"{text}\n"

        head = "  1 a line of the licence\n"
        offsets, place = [], len(head)
        for number in synsets:
            offsets.append(place)
            place += len(line(number, [0] * len(synsets)))
        (folder / f"data.{part}").write_text(head + "".join(line(number, offsets) for number in synsets))
        entries = sorted((name, offsets[number]) for number, (names, _) in synsets.items() for name in names)
        index = [f"{name} {letter} 1 1 ! 1 1 {offset:08d}  \n" for name, offset in entries]
        (folder / f"index.{part}").write_text(head + "".join(index))
