"""Unanswerable questions from answerable ones, of every kind, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from pocketbert.data.unanswerable.condition import add_condition
from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.cut import remove_answer, replace_answer, stop_before_answer
from pocketbert.data.unanswerable.example import Edit, QuestionLike, Unanswerable
from pocketbert.data.unanswerable.name_swap import swap_from_context, swap_from_elsewhere
from pocketbert.data.unanswerable.nearest import move_to_nearest
from pocketbert.data.unanswerable.negation import negate
from pocketbert.data.unanswerable.owner import shift_owner
from pocketbert.data.unanswerable.question_word import swap_question_word
from pocketbert.data.unanswerable.tail import swap_tail
from pocketbert.data.unanswerable.word_swap import swap_alternative, swap_antonym
from pocketbert.errors import InputError

Maker = Callable[[QuestionLike, Corpus, random.Random], Iterator[Edit]]

MAKERS: dict[str, Maker] = {
    "negation": negate,
    "antonym": swap_antonym,
    "alternative": swap_alternative,
    "name-in-context": swap_from_context,
    "name-elsewhere": swap_from_elsewhere,
    "condition": add_condition,
    "owner": shift_owner,
    "question-word": swap_question_word,
    "tail": swap_tail,
    "nearest": move_to_nearest,
    "answer-removed": remove_answer,
    "answer-replaced": replace_answer,
    "window": stop_before_answer,
}
KINDS = tuple(MAKERS)


def generate(
    questions: Iterable[QuestionLike],
    *,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
    per_question: int = 1,
    corpus: Corpus | None = None,
) -> Iterator[Unanswerable]:
    """Make up to `per_question` unanswerable questions, each of another kind, from every question given.

    The kinds are tried in random order; a question that none of them fits gives nothing. `corpus` is where
    neighbours and names are looked up, the questions themselves if left out.
    """
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise InputError(f"unknown kinds {unknown}; choose from {list(KINDS)}")
    asked = list(questions)
    where = corpus or Corpus(asked)
    for question in asked:
        if not question.answers or not question.question.strip():
            continue
        order = random.Random(f"{seed}/{question.id}").sample(list(kinds), len(kinds))  # noqa: S311
        made = 0
        for kind in order:
            if made == per_question:
                break
            item = _first(question, kind, where, seed)
            if item is not None:
                made += 1
                yield item


def _first(question: QuestionLike, kind: str, corpus: Corpus, seed: int) -> Unanswerable | None:
    """The first proposal of a kind that differs from what was given."""
    rng = random.Random(f"{seed}/{question.id}/{kind}")  # noqa: S311
    for edit in MAKERS[kind](question, corpus, rng):
        if edit.question != question.question or edit.context != question.context:
            return Unanswerable(
                id=f"{question.id}-{kind}-{seed}",
                title=question.title,
                question=edit.question,
                context=edit.context,
                kind=kind,
                origin=question.id,
                plausible=edit.plausible,
            )
    return None
