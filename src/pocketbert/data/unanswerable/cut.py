"""Take the answer out of the context and leave the question as it is."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Edit, QuestionLike
from pocketbert.data.unanswerable.nearest import lacks_answer
from pocketbert.data.unanswerable.word_lists import word_set
from pocketbert.data.unanswerable.words import content_stems, is_open, sentence_of, stems, words

# What somebody thinks of a thing is told in every other sentence of a review.
_OPINIONS = word_set("opinions")


def remove_answer(question: QuestionLike, corpus: Corpus, _rng: random.Random) -> Iterator[Edit]:
    """Drop the sentences that hold an answer, where the rest does not hint at it."""
    parts = corpus.paragraph(question.context).sentences
    hold = answer_range(question, corpus)
    kept = [index for index in range(len(parts)) if index not in hold]
    if len(kept) >= 2 and _is_silent(question, corpus, kept):
        before, after = question.context[: parts[hold[0]].start], question.context[parts[hold[-1]].end :]
        yield Edit(question.question, f"{before.rstrip()} {after.strip()}".strip(), None)


def stop_before_answer(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Let the context end before the answer or begin after it, as a window over a long document does."""
    parts = corpus.paragraph(question.context).sentences
    hold = answer_range(question, corpus)
    sides = [
        (range(hold[0]), question.context[: parts[hold[0]].start]),
        (range(hold[-1] + 1, len(parts)), question.context[parts[hold[-1]].end :]),
    ]
    rng.shuffle(sides)
    for kept, text in sides:
        if len(kept) >= 2 and _is_silent(question, corpus, kept):
            yield Edit(question.question, text.strip(), None)


def replace_answer(question: QuestionLike, corpus: Corpus, _rng: random.Random) -> Iterator[Edit]:
    """Put a like sentence of another paragraph in the place of the one with the answer."""
    parts = corpus.paragraph(question.context).sentences
    hold = answer_range(question, corpus)
    kept = [index for index in range(len(parts)) if index not in hold]
    if len(hold) != 1 or not corpus.is_specific(question, rare=2) or not _is_silent(question, corpus, kept):
        return
    old = parts[hold[0]]
    asked = content_stems(question.question)
    found = [
        (len(asked & present), part.text)
        for other in corpus.neighbours(question.context)
        if lacks_answer(other, question, corpus)
        for part, present in other.pairs()
        if len(asked & present) >= 2 and not asked <= present and 0.5 < len(part.text) / len(old.text) < 2
    ]
    for _, text in sorted(found, reverse=True):
        yield Edit(
            question.question, question.context[: old.start] + text + question.context[old.end :], None
        )


def answer_range(question: QuestionLike, corpus: Corpus) -> range:
    """The sentences from where the first answer begins to where the last one ends."""
    parts = corpus.paragraph(question.context).sentences
    first = min(sentence_of(parts, answer.start) for answer in question.answers)
    last = max(sentence_of(parts, answer.start + len(answer.text) - 1) for answer in question.answers)
    return range(first, last + 1)


def _is_silent(question: QuestionLike, corpus: Corpus, kept: Sequence[int]) -> bool:
    """Whether the sentences kept speak of the question, but tell neither an answer nor nearly all that it asks."""
    paragraph = corpus.paragraph(question.context)
    text = " ".join(paragraph.sentences[index].text for index in kept).lower()
    left = frozenset().union(*(paragraph.sentence_stems[index] for index in kept))
    for answer in question.answers:
        meaning = content_stems(answer.text) or stems(answer.text)
        if answer.text.lower() in text or 3 * len(meaning & left) > len(meaning) or len(meaning) > 12:
            return False
    asked = content_stems(question.question)
    if not asked & left or not is_open(question.question) or not corpus.is_specific(question):
        return False
    if any(word.lower in _OPINIONS for word in words(question.question)):
        return False
    return all(len(asked & paragraph.sentence_stems[index]) <= 0.75 * len(asked) for index in kept)
