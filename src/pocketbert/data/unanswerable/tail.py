"""Give a question the end of another one on the same paragraph: all its words are there, but not together."""

from __future__ import annotations

import random
from collections.abc import Iterator

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Edit, QuestionLike, first_answer
from pocketbert.data.unanswerable.word_lists import word_set
from pocketbert.data.unanswerable.words import content_stems, is_open, stems, tidy, words

_PREPOSITIONS = word_set("prepositions")


def swap_tail(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Exchange what follows the last preposition for what follows the same one in another question."""
    own = _cut(question.question)
    if own is None or not is_open(question.question):
        return
    head, preposition, tail = own
    answers = [stems(answer.text) for answer in question.answers]
    others = [
        cut for text in corpus.asked(corpus.paragraph(question.context)) if (cut := _cut(text)) is not None
    ]
    rng.shuffle(others)
    for other_head, other_preposition, other in others:
        new, old = content_stems(other), content_stems(tail)
        if other_preposition != preposition or not new or not old or new <= old or old <= new:
            continue
        if content_stems(head) == content_stems(other_head):
            continue  # the other question is this one with another end, and it was answered
        if any(answer and answer <= stems(other) for answer in answers):
            continue
        yield Edit(tidy(f"{head} {preposition} {other}?"), question.context, first_answer(question))


def _cut(question: str) -> tuple[str, str, str] | None:
    """What stands before the last preposition, the preposition, and what follows."""
    text = question.rstrip(" ?.!")
    found = words(text)
    for place in range(len(found) - 2, 2, -1):
        word = found[place]
        if word.lower in _PREPOSITIONS:
            return text[: word.start].rstrip(), word.lower, text[word.end :].strip()
    return None
