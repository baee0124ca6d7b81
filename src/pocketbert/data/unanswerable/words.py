"""Words, stems and sentences, as rough as a generator of questions can afford."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from pocketbert.data.unanswerable.word_lists import word_set

_WORD = re.compile(r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?\b|(?:[^\W\d_]\.){2,}|[^\W_]+(?:[-’'][^\W_]+)*")
_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^\Wa-z_])|\n\s*\n")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|Prof|Gen|Col|Lt|Sgt|Capt|Rev|Hon|Mt|No|vs|etc|approx|ca|cf|"
    r"e\.g|i\.e|al|U\.S|U\.K|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Aug|Sept|Sep|Oct|Nov|Dec)\.$"
)

STOPWORDS = word_set("function words")
NEGATIONS = word_set("negations")
QUESTION_WORDS = word_set("question words")
PAST_VERB = r"(?:[a-z]+ed|wrote|won|led|took|gave|made|became|began|built)"
_YES_OR_NO = word_set("yes or no")


class Word(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower().replace("’", "'")


class Sentence(NamedTuple):
    text: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[Word, ...]:
    return tuple(Word(match.group(), *match.span()) for match in _WORD.finditer(text))


def sentences(text: str) -> list[Sentence]:
    """Split after `.`, `!`, `?` before a capital, and at blank lines; never after a known abbreviation."""
    found, start = [], 0
    for match in _END.finditer(text):
        if "\n" not in match.group() and _ABBREVIATION.search(
            text[max(0, match.start() - 12) : match.start()]
        ):
            continue
        found.append((start, match.start() + len(match.group().rstrip())))
        start = match.end()
    found.append((start, len(text)))
    return [Sentence(text[first:last], first, last) for first, last in found if text[first:last].strip()]


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Cut the commonest endings, so that `walks`, `walked` and `walking` are one word."""
    word = word.lower().replace("’", "'")
    if word.endswith("'s"):
        word = word[:-2]
    for ending, replacement, keep in (
        ("ies", "y", 3), ("sses", "ss", 2), ("ing", "", 3), ("ied", "y", 3), ("ed", "", 3), ("es", "", 4), ("s", "", 3),
    ):  # fmt: skip
        if word.endswith(ending) and len(word) - len(ending) >= keep and not word.endswith("ss"):
            word = word[: -len(ending)] + replacement
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


@lru_cache(maxsize=200_000)
def stems(text: str) -> frozenset[str]:
    """Stems of all words of a text, function words included."""
    return frozenset(stem(word.text) for word in words(text))


def content(text: str) -> list[Word]:
    """The words that carry meaning: no function word, no single letter."""
    return [
        word
        for word in words(text)
        if word.lower not in STOPWORDS
        and (len(word.text) > 1 or word.text.isdigit())
        and "n't" not in word.lower
    ]


@lru_cache(maxsize=200_000)
def content_stems(text: str) -> frozenset[str]:
    return frozenset(stem(word.text) for word in content(text))


@lru_cache(maxsize=200_000)
def has_negation(text: str) -> bool:
    return any(word.lower in NEGATIONS or word.lower.endswith("n't") for word in words(text))


def sentence_of(parts: Iterable[Sentence], start: int) -> int:
    """Index of the sentence that holds a character position; the last one before it where it falls between two."""
    best = 0
    for index, part in enumerate(parts):
        if part.start <= start:
            best = index
    return best


def replaced(text: str, start: int, end: int, replacement: str) -> str:
    return text[:start] + replacement + text[end:]


def tidy(question: str) -> str:
    """Close the gaps an edit leaves and start with a capital, as questions do."""
    question = re.sub(r"\s+", " ", question).strip()
    question = re.sub(r"\s+([?,.;])", r"\1", question)
    return question[:1].upper() + question[1:]


def is_open(question: str) -> bool:
    """Whether a question asks with a question word; one for yes or no is answered whatever stands in it."""
    asked = [word.lower.removesuffix("'s") for word in words(question)]
    return bool(asked) and asked[0] not in _YES_OR_NO and not QUESTION_WORDS.isdisjoint(asked)
