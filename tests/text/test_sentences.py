"""The sentence around an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketbert.text.sentences import REACH, sentence_around

CASES = [
    ("One here. The [cat] sat. Then it left.", "The cat sat."),
    ("[One] here. Two there.", "One here."),
    ("One here. Two [there].", "Two there."),
    ("One here. Two [there.]", "Two there."),
    ("One here. [Two there. Three] more. Four.", "Two there. Three more."),
    ("He met Dr. [Watson] in London. They left.", "He met Dr. Watson in London."),
    ("By J. R. R. [Tolkien] in 1937. It sold.", "By J. R. R. Tolkien in 1937."),
    ("It costs 3.50 [euros]. Cheap!", "It costs 3.50 euros."),
    ("Really?! \u201cYes,\u201d he [said]. Fine.", "\u201cYes,\u201d he said."),
    ("A title\n\nThe [text] below it", "The text below it"),
    ("A line that\ngoes [on] here. Next.", "A line that\ngoes on here."),
    ("e.g. this [one] counts. No.", "e.g. this one counts."),
    ("これは本です。[猫]がいる。終わり。", "猫がいる。"),
    ("To buy:\n- fresh [milk]\n- bread", "- fresh milk"),
    ("Steps\n 1. boil [water]\n 2) wait", "1. boil water"),
    ("Steps\n\n1. Boil [water]\n2. Wait", "1. Boil water"),
    ("It was in [1937]. Then came more.", "It was in 1937."),
    ("Day | Open\nMonday | [closed]\nTuesday | 8 to 6", "Monday | closed"),
    ("no stop at [all]", "no stop at all"),
]


@pytest.mark.parametrize(("marked", "expected"), CASES)
def test_sentences(marked: str, expected: str) -> None:
    start, end = marked.index("["), marked.index("]") - 1
    text = marked.replace("[", "").replace("]", "")
    first, last = sentence_around(text, start, end)
    assert text[first:last] == expected


@given(st.text(alphabet='ab .!?\n。"A\u2028', max_size=80), st.integers(0, 80), st.integers(0, 80))
def test_the_sentence_holds_the_stretch(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    first, last = sentence_around(text, start, end)
    assert 0 <= first <= start <= end <= last <= len(text)


def test_a_text_without_full_stops_is_no_sentence() -> None:
    first, last = sentence_around("word " * 100_000, 250_000, 250_004)
    assert last - first <= 2 * REACH + 4
