"""Questions out of statements that a text almost makes: people wrote thousands, for natural language inference.

A pair is a premise and a hypothesis that follows from it, or does not. Words that both have are taken out of the
hypothesis and asked for: "A man is asleep" on "A man is playing the guitar" becomes "Who is asleep?". If the hypothesis
follows, those words answer the question; if not, nothing does, and they are the answer of a hasty reader.
"""

from __future__ import annotations

import csv
import hashlib
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pocketbert.data.unanswerable.example import Answerable, Span, Unanswerable
from pocketbert.data.unanswerable.word_lists import word_set
from pocketbert.data.unanswerable.words import STOPWORDS, Word, stem, words
from pocketbert.errors import InputError

KIND = "entailment"
FOLLOWS = "entailment"
LABELS = {FOLLOWS, "contradiction", "neutral", "not_entailment"}
LONGEST_ANSWER = 4  # words
_PREMISE, _HYPOTHESIS = range(5, 81), range(3, 26)  # words
_BREAKS = set(',;:.()"“”')
_DETERMINERS = {"a", "an", "the", "some", "his", "her", "their", "its", "two", "three"}
_PEOPLE = word_set("people")


class Pair(NamedTuple):
    """A premise, a hypothesis, and whether the second follows from the first."""

    premise: str
    hypothesis: str
    label: str


def read_pairs(path: str | os.PathLike[str]) -> list[Pair]:
    """Pairs from a CSV file with the columns premise, hypothesis and label; rows without a label are left out."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in Pair._fields if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{path} has no column {', '.join(missing)}; it has {reader.fieldnames}")
        rows = [Pair(*(str(row[name] or "").strip() for name in Pair._fields)) for row in reader]
    return [row for row in rows if row.label in LABELS]


def from_pairs(
    pairs: Sequence[Pair], *, title: str = "inference", seed: int = 0
) -> Iterator[Answerable | Unanswerable]:
    """A question from every pair that gives one; two in five contexts hold other premises, too."""
    chance = random.Random(seed)  # noqa: S311 -- no secret
    for pair in pairs:
        found = question_of(pair, chance)
        if found is None:
            continue
        question, answer = found
        others = [chance.choice(pairs).premise for _ in range(chance.choice((0, 0, 0, 1, 2)))]
        others = [other for other in others if answer.text.lower() not in other.lower()]
        context, shift = _joined(pair.premise, others, chance)
        answer = Span(answer.text, answer.start + shift)
        digest = hashlib.sha256(f"{question}\0{context}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        name = f"{digest}-{KIND}"
        if pair.label == FOLLOWS:
            yield Answerable(name, title, question, context, (answer,), KIND)
        else:
            yield Unanswerable(name, title, question, context, KIND, "", answer)


def question_of(pair: Pair, chance: random.Random) -> tuple[str, Span] | None:
    """The question that a pair gives, and the words of the premise that it asks for; None if it gives none."""
    premise, hypothesis = words(pair.premise), words(pair.hypothesis)
    if len(premise) not in _PREMISE or len(hypothesis) not in _HYPOTHESIS:
        return None
    shared = list(_shared(pair, premise, hypothesis))
    if not shared:
        return None
    # A question about the subject, which stands first, sounds like one.
    first = [item for item in shared if item[0] <= 1 and item[0] + item[1] < len(hypothesis)]
    place, count, home = chance.choice(first or shared)
    rest = [
        word.lower
        for number, word in enumerate(hypothesis)
        if not place <= number < place + count and word.lower not in STOPWORDS
    ]
    known = {stem(word.lower) for word in premise}
    unknown = [word for word in rest if stem(word) not in known]
    if not rest or (pair.label != FOLLOWS and not unknown):
        return (
            None  # all words are known and it still does not follow: roles are swapped, and others may answer
        )
    start, end = premise[home].start, premise[home + count - 1].end
    question = _asked(pair.hypothesis, hypothesis, place, count)
    return question, Span(pair.premise[start:end], start)


def _shared(
    pair: Pair, premise: Sequence[Word], hypothesis: Sequence[Word]
) -> Iterable[tuple[int, int, int]]:
    """The longest runs of words that both have, once in the premise: place, number of words, place in the premise."""
    lower = [word.lower for word in premise]
    often = Counter(lower)
    runs = []
    for place in range(len(hypothesis)):
        for count in range(1, min(LONGEST_ANSWER, len(hypothesis) - place) + 1):
            run = [word.lower for word in hypothesis[place : place + count]]
            if run[0] in STOPWORDS or run[-1] in STOPWORDS or often[run[-1]] != 1:
                continue
            home = lower.index(run[-1]) - count + 1
            if home < 0 or lower[home : home + count] != run:
                continue
            texts = (
                pair.hypothesis[hypothesis[place].start : hypothesis[place + count - 1].end],
                pair.premise[premise[home].start : premise[home + count - 1].end],
            )
            if len(texts[0]) > 2 and not any(_BREAKS & set(text) for text in texts):
                runs.append((place, count, home))
    return [
        run
        for run in runs
        if not any(
            other != run and other[0] <= run[0] and other[0] + other[1] >= run[0] + run[1] for other in runs
        )
    ]


def _asked(text: str, hypothesis: Sequence[Word], place: int, count: int) -> str:
    start, end = hypothesis[place].start, hypothesis[place + count - 1].end
    if place and hypothesis[place - 1].lower in _DETERMINERS:
        start = hypothesis[place - 1].start
    asking = "who" if hypothesis[place + count - 1].lower in _PEOPLE else "what"
    before, after = text[:start].strip(), text[end:].strip().rstrip(" .!?")
    if before and hypothesis[0].lower in STOPWORDS:
        before = before[0].lower() + before[1:]
    question = " ".join(part for part in (before, asking, after) if part)
    return f"{question[0].upper()}{question[1:]}?"


def _joined(premise: str, others: Sequence[str], chance: random.Random) -> tuple[str, int]:
    """A premise among others, and how far it moved."""
    context, shift = premise, 0
    for other in others:
        gap = chance.choice((" ", "\n"))
        if chance.random() < 0.5:
            other = _ended(other)
            context, shift = f"{other}{gap}{context}", shift + len(other) + 1
        else:
            context = f"{_ended(context)}{gap}{other}"
    return context, shift


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
