"""Reword answerable questions and trim their contexts as the unanswerable ones are, and leave the answer right.

Without them a reader learns that an edited question, or a context with a sentence missing, has no answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pocketbert.data.unanswerable.condition import can_be_extended, conditions_met, extended
from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.cut import answer_range
from pocketbert.data.unanswerable.example import Answerable, QuestionLike, Span
from pocketbert.data.unanswerable.lexicon import synonyms
from pocketbert.data.unanswerable.word_lists import word_set
from pocketbert.data.unanswerable.word_swap import with_article
from pocketbert.data.unanswerable.words import Sentence, is_open, replaced, stems, tidy, words
from pocketbert.errors import InputError

_HELPERS = word_set("yes or no")
_UNSAFE_BEFORE = word_set("before no swap")


class Cut(NamedTuple):
    """A piece of the context, away from every answer, and what comes in its place."""

    start: int
    end: int
    text: str = ""


class Rewording(NamedTuple):
    question: str
    cuts: tuple[Cut, ...] = ()
    """From left to right, none over another."""


def harmless(
    questions: Iterable[QuestionLike],
    *,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    per_question: int = 1,
    corpus: Corpus | None = None,
) -> Iterator[Answerable]:
    """Make up to `per_question` rewordings, each of another kind, that keep every answer of the question."""
    wanted = list(REWORDERS) if kinds is None else list(kinds)
    if unknown := sorted(set(wanted) - set(REWORDERS)):
        raise InputError(f"unknown kinds {unknown}; choose from {list(REWORDERS)}")
    asked = [question for question in questions if question.answers]
    where = corpus or Corpus(asked)
    for question in asked:
        made = 0
        for kind in random.Random(f"{seed}/{question.id}").sample(wanted, len(wanted)):  # noqa: S311
            if made == per_question:
                break
            rng = random.Random(f"{seed}/{question.id}/{kind}")  # noqa: S311
            rewording = next(REWORDERS[kind](question, where, rng), None)
            if rewording is not None:
                made += 1
                yield _reworded(question, rewording, kind, seed)


def add_true_condition(question: QuestionLike, corpus: Corpus, _rng: random.Random) -> Iterator[Rewording]:
    """Close the question with the time, place or event that stands beside the answer."""
    text = question.question.strip()
    if can_be_extended(text):
        for condition in conditions_met(question, corpus):
            yield Rewording(extended(text, condition))


def swap_synonym(question: QuestionLike, _corpus: Corpus, rng: random.Random) -> Iterator[Rewording]:
    """Say one word of the question in another way."""
    text = question.question
    parts = words(text)
    found = [
        (word, other)
        for index, word in enumerate(parts)
        for other in synonyms().get(word.text, ())
        if index and parts[index - 1].lower not in _UNSAFE_BEFORE and other not in text
    ]
    rng.shuffle(found)
    for word, other in found:
        yield Rewording(tidy(with_article(text[: word.start], other) + other + text[word.end :]))


def add_contrast(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Rewording]:
    """Say of a name which other one is not meant: `When did Bonn, not Berlin, become the capital?`."""
    text = question.question
    known = corpus.paragraph(question.context).stems
    others = [name for part in corpus.neighbours(question.context)[:3] for name in corpus.names_in(part.text)]
    for name in corpus.names_in(text) if is_open(text) else ():
        fitting = {
            other.text
            for other in others
            if other.kind == name.kind
            and other.kind in ("person", "place", "country", "group")
            and other.article == name.article
            and len(other.text) > 2
            and not stems(other.text) & known
        }
        rest = text[name.end :]
        if (
            fitting
            and (not name.modifier or name.before in _HELPERS)
            and re.match(r" (?!and\b|or\b)[a-z]|\?", rest)
        ):
            other = ("the " if name.article else "") + rng.choice(sorted(fitting))
            comma = "" if rest.startswith("?") else ","
            yield Rewording(tidy(f"{text[: name.end]}, not {other}{comma}{rest}"))


def remove_sentence(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Rewording]:
    """Drop a sentence that neither holds the answer nor stands next to it."""
    for part in _far_sentences(question, corpus, rng):
        gap = len(question.context[part.end :]) - len(question.context[part.end :].lstrip())
        yield Rewording(question.question, (Cut(part.start, part.end + gap),))


def replace_sentence(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Rewording]:
    """Put a sentence of a like paragraph in the place of one that is far from the answer."""
    strange = [part.text for other in corpus.neighbours(question.context)[:3] for part in other.sentences]
    for part in _far_sentences(question, corpus, rng):
        fitting = [
            text for text in strange if 0.5 < len(text) / len(part.text) < 2 and not _tells(text, question)
        ]
        if fitting:
            yield Rewording(question.question, (Cut(part.start, part.end, rng.choice(fitting)),))


def cut_window(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Rewording]:
    """Let the context begin or end nearer to the answer."""
    parts = corpus.paragraph(question.context).sentences
    hold = answer_range(question, corpus)
    first, last = rng.choice(parts[: hold[0] + 1]), rng.choice(parts[hold[-1] :])
    if first != parts[0] or last != parts[-1]:
        yield Rewording(question.question, (Cut(0, first.start), Cut(last.end, len(question.context))))


Reworder = Callable[[QuestionLike, Corpus, random.Random], Iterator[Rewording]]

REWORDERS: dict[str, Reworder] = {
    "true-condition": add_true_condition,
    "synonym": swap_synonym,
    "contrast": add_contrast,
    "sentence-removed": remove_sentence,
    "sentence-replaced": replace_sentence,
    "window-kept": cut_window,
}


def _reworded(question: QuestionLike, rewording: Rewording, kind: str, seed: int) -> Answerable:
    context = question.context
    for cut in reversed(rewording.cuts):
        context = replaced(context, *cut)
    return Answerable(
        id=f"{question.id}-{kind}-{seed}",
        title=question.title,
        question=rewording.question,
        context=context,
        answers=tuple(
            Span(
                answer.text,
                answer.start + sum(_growth(cut) for cut in rewording.cuts if cut.end <= answer.start),
            )
            for answer in question.answers
        ),
        kind=kind,
        origin=question.id,
    )


def _growth(cut: Cut) -> int:
    return len(cut.text) - (cut.end - cut.start)


def _far_sentences(question: QuestionLike, corpus: Corpus, rng: random.Random) -> list[Sentence]:
    """Sentences that hold no part of an answer and are not next to one that does, in random order."""
    parts = corpus.paragraph(question.context).sentences
    hold = answer_range(question, corpus)
    far = [part for index, part in enumerate(parts) if index < hold[0] - 1 or index > hold[-1] + 1]
    return rng.sample(far, len(far))


def _tells(text: str, question: QuestionLike) -> bool:
    return any(answer.text.lower() in text.lower() for answer in question.answers)
