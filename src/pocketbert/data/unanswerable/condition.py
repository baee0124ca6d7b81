"""Add a condition that the context does not meet: another year, another place, an event it never mentions."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Edit, QuestionLike, first_answer
from pocketbert.data.unanswerable.names import Name
from pocketbert.data.unanswerable.word_lists import word_set
from pocketbert.data.unanswerable.words import PAST_VERB, content_stems, is_open, stems, tidy, words

_EVENT = r"\b(?:during|after|before|under|despite|throughout|following|prior to) (?:[\w'’-]+ ?){1,5}"
_EVENT_ASKED = re.compile(rf"(?P<phrase>{_EVENT})\?\s*$")
_EVENT_TOLD = re.compile(rf"(?P<phrase>{_EVENT})[,.;]")
_POINTING = word_set("pointing")
_ENDS_OPEN = re.compile(
    r"\b(?:in|on|at|to|for|from|with|by|of|about|as|the|a|called|named|like)\s*\?*\s*$", re.I
)
_HAS_CONDITION = re.compile(
    r"\b(?:in|on|during|after|before|when|while|between|since|under|until) [^?]*\?$", re.I
)
_ASKS_TIME = re.compile(
    r"\b(?:when|why|years?|date|day|month|century|long|old|time|era|decade)\b|\d{4}", re.IGNORECASE
)
_ASKS_PLACE = re.compile(
    r"\b(?:where|city|country|place|state|nation|region|continent|town|location)\b", re.IGNORECASE
)
# What was done may be asked for a time and place; what was so ("what was his nationality") mostly may not.
_PAST = re.compile(
    rf"\b(?:did|had|(?:was|were) [^?]*\w(?:ed|en|wn|lt|ld)|(?:who|what|which)(?: \w+)? {PAST_VERB})\b",
    re.IGNORECASE,
)


def add_condition(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Close a question about the past with a time, a place or an event that is not the context's."""
    text = question.question.strip()
    if not can_be_extended(text):
        return
    endings = [
        *_other_year(question, corpus, rng),
        *_other_places(question, corpus),
        *_other_events(question, corpus),
    ]
    rng.shuffle(endings)
    for ending in endings:
        yield Edit(extended(text, ending), question.context, first_answer(question))


def can_be_extended(text: str) -> bool:
    """Whether a phrase can follow: a plain question about the past that neither has one nor ends in a preposition."""
    return (
        text.endswith("?")
        and is_open(text)
        and bool(_PAST.search(text))
        and not _ENDS_OPEN.search(text)
        and not _HAS_CONDITION.search(text)
        and len(words(text)) <= 16
    )


def extended(text: str, ending: str) -> str:
    return tidy(f"{text.rstrip('? ')} {ending}?")


def conditions_met(question: QuestionLike, corpus: Corpus) -> Iterator[str]:
    """Times, places and events that the answer's sentence gives, as a question about it could end."""
    yield from (f"in {name.text}" for name in _times_and_places(question, corpus))
    if _ASKS_TIME.search(question.question):
        return
    sentence = corpus.paragraph(question.context).sentences[corpus.answer_sentence(question)]
    for match in _EVENT_TOLD.finditer(sentence.text):
        start, end = sentence.start + match.start("phrase"), sentence.start + match.end("phrase")
        apart = not _is_answer(question, start, end) and not content_stems(match["phrase"]) & stems(
            question.question
        )
        if apart and _is_complete(match["phrase"], corpus):
            yield match["phrase"]


def _other_year(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[str]:
    """A year near the one that the sentence of the answer gives."""
    for name in _times_and_places(question, corpus)[:1]:
        if name.kind == "year":
            year = int(name.text) + rng.choice((-1, 1)) * rng.randint(2, 30)
            if str(year) not in question.context and year < 2020:
                yield f"in {year}"


def _other_places(question: QuestionLike, corpus: Corpus) -> Iterator[str]:
    """A place from a like paragraph, where the sentence of the answer names one."""
    if not any(name.kind != "year" for name in _times_and_places(question, corpus)):
        return
    known = corpus.paragraph(question.context).stems
    for part in corpus.neighbours(question.context)[:3]:
        for name in corpus.names_in(part.text):
            if name.kind in ("place", "country") and name.before == "in" and not stems(name.text) & known:
                yield f"in {name.text}"


def _other_events(question: QuestionLike, corpus: Corpus) -> Iterator[str]:
    """The closing phrase of a question on a like paragraph: it has a name, and no word of the context."""
    known = corpus.paragraph(question.context).stems
    for part in corpus.neighbours(question.context)[:5]:
        for asked in corpus.asked(part):
            match = _EVENT_ASKED.search(asked)
            if match and _is_complete(match["phrase"], corpus) and not content_stems(match["phrase"]) & known:
                yield match["phrase"].strip()


def _times_and_places(question: QuestionLike, corpus: Corpus) -> list[Name]:
    """Years and places that the answer's sentence gives after `in`, which neither answer nor question has."""
    sentence = corpus.paragraph(question.context).sentences[corpus.answer_sentence(question)]
    return [
        name
        for name in corpus.names_in(question.context)
        if sentence.start <= name.start < sentence.end
        and name.before == "in"
        and name.kind in ("year", "place", "country")
        and not (_ASKS_TIME if name.kind == "year" else _ASKS_PLACE).search(question.question)
        and not _is_answer(question, name.start, name.end)
        and not stems(name.text) & stems(question.question)
    ]


def _is_answer(question: QuestionLike, start: int, end: int) -> bool:
    return any(answer.start < end and start < answer.start + len(answer.text) for answer in question.answers)


def _is_complete(phrase: str, corpus: Corpus) -> bool:
    """Whether a phrase names something and points at nothing outside itself."""
    return bool(corpus.names_in(phrase)) and not {word.lower for word in words(phrase)} & _POINTING
