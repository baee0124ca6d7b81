"""Swap a name, a year or a number of the question for another of the same kind."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Edit, QuestionLike, first_answer
from pocketbert.data.unanswerable.names import MONTHS, NUMBERS, ORDINALS, WEEKDAYS, Name
from pocketbert.data.unanswerable.word_lists import word_set
from pocketbert.data.unanswerable.words import (
    QUESTION_WORDS,
    content_stems,
    is_open,
    replaced,
    stems,
    tidy,
    words,
)

# What holds of the one holds of the other: after such a swap the old answer may still be right.
_MUTUAL = word_set("mutual")
# "Which two" and "the past three" count the answers and are no premise.
_COUNTING = word_set("before counts")
_SAME = (
    frozenset({"British", "English", "Scottish"}),
    frozenset({"Britain", "Great Britain", "United Kingdom", "England", "UK", "U.K"}),
    frozenset({"America", "United States", "USA", "US", "U.S"}),
)
# Part of something longer: a figure or a genitive before it, more of a name after it.
_BEFORE = re.compile(r"^$|(?<!\d)(?<!['’]s) $")
_AFTER = re.compile(r"['’]s [A-Z]|[-/%]| \d| the [A-Z]")
_LISTS = {"month": MONTHS, "weekday": WEEKDAYS, "ordinal": ORDINALS, "small number": NUMBERS}


def swap_from_context(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Take the other name from the same context, where it is hardest to notice."""
    near = stems(corpus.paragraph(question.context).sentences[corpus.answer_sentence(question)].text)
    others = [name for name in corpus.names_in(question.context) if not stems(name.text) <= near]
    for name in _asked(question, corpus, rng):
        fitting = {other.text for other in others if _fits(name, other)}
        yield from _swapped(question, corpus, name, fitting, rng)


def swap_from_elsewhere(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Take the other name from a paragraph about like things, and make numbers up."""
    known = corpus.paragraph(question.context).stems
    others = [name for part in corpus.neighbours(question.context) for name in corpus.names_in(part.text)]
    for name in _asked(question, corpus, rng):
        fitting = (
            {other.text for other in others if _fits(name, other)} if name.is_word else invented(name, rng)
        )
        yield from _swapped(
            question, corpus, name, {text for text in fitting if not stems(text) & known}, rng
        )


def invented(name: Name, rng: random.Random) -> set[str]:
    """Other numbers of the same look: years some decades off, figures of the same size."""
    if name.kind == "year":
        years = {int(name.text) + sign * rng.randint(1, 30) for sign in (-1, 1)}
        return {str(year) for year in years if year < 2020}
    if name.kind in _LISTS and name.text.lower() in [word.lower() for word in _LISTS[name.kind]]:
        return {word for word in _LISTS[name.kind][:9] if word.lower() != name.text.lower()}
    if name.kind == "number" and name.text.isdigit() and int(name.text) > 1:
        size = int(name.text)
        return {
            str(size + shift) for shift in (-size // 3, -1, 1, 2, size // 2) if size + shift > 1 and shift
        }
    return set()


def _asked(question: QuestionLike, corpus: Corpus, rng: random.Random) -> list[Name]:
    """The names of a question that its context knows, in random order; none where a swap would prove nothing."""
    text = question.question
    if not is_open(text) or any(word.lower in _MUTUAL for word in words(text)):
        return []
    known = corpus.paragraph(question.context).stems
    names = [
        name
        for name in corpus.names_in(text)
        if stems(name.text) <= known
        and _BEFORE.search(text[: name.start])
        and not _AFTER.match(text[name.end :])
        and not (name.before in QUESTION_WORDS and name.kind in ("name", "long name"))
        and not (name.kind in ("small number", "ordinal", "number") and name.before in _COUNTING)
    ]
    return rng.sample(names, len(names))


def _swapped(
    question: QuestionLike, corpus: Corpus, name: Name, others: Iterable[str], rng: random.Random
) -> Iterator[Edit]:
    fitting = sorted(other for other in others if _is_news(name, other, question, corpus))
    for other in rng.sample(fitting, min(3, len(fitting))):
        edited = replaced(question.question, name.start, name.end, other)
        yield Edit(tidy(edited), question.context, first_answer(question))


def _fits(name: Name, other: Name) -> bool:
    """Whether a mention could stand where the name stands; those of no known kind must also look the same."""
    if other.kind != name.kind or len(other.text) < 2 or other.text.islower() != name.text.islower():
        return False
    if not name.is_word:
        return True
    if other.article != name.article or (" of " in other.text) != (" of " in name.text):
        return False
    if name.kind not in ("name", "long name"):
        return True
    # "The Old World" may be anything; without an article most names are persons, places or makes.
    return (
        not name.article
        and name.before == other.before
        and name.modifier == other.modifier
        and name.text.isupper() == other.text.isupper()
    )


def _is_news(name: Name, other: str, question: QuestionLike, corpus: Corpus) -> bool:
    """Not the same thing, not in the question, and no sentence of the context says of it what is asked."""
    keys = {word.lower.removesuffix("'s") for word in words(other)}
    asked = {word.lower.removesuffix("'s") for word in words(question.question)}
    if keys & asked or _initials(name.text) == other or _initials(other) == name.text:
        return False
    if any({name.text, other} <= same for same in _SAME):
        return False
    # Years and figures come in series: "in 2009 … in 2010 …" tells the same thing of each.
    most = 0.5 if name.is_word else 0.34
    rest = content_stems(question.question) - stems(name.text)
    mine = stems(other)
    telling = (found for found in corpus.paragraph(question.context).sentence_stems if mine & found)
    return all(len(rest & found) <= most * len(rest) for found in telling)


def _initials(name: str) -> str:
    return "".join(word.text[0] for word in words(name) if word.text[0].isupper())
