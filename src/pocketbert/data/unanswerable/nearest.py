"""Ask a question of the paragraph that looks most like its own, but does not hold the answer."""

from __future__ import annotations

import random
from collections.abc import Iterator

from pocketbert.data.unanswerable.corpus import Corpus, Paragraph
from pocketbert.data.unanswerable.example import Edit, QuestionLike
from pocketbert.data.unanswerable.words import content_stems, stems


def move_to_nearest(question: QuestionLike, corpus: Corpus, _rng: random.Random) -> Iterator[Edit]:
    """The paragraph shares much with the question, yet lacks the answer and one of the question's rarer words."""
    asked = content_stems(question.question)
    if not corpus.is_specific(question, rare=2):
        return
    for paragraph in corpus.nearest(question, 8):
        shared = asked & paragraph.stems
        on_topic = 0.4 * len(asked) <= len(shared) < len(asked) and any(map(corpus.is_rare, shared))
        if on_topic and lacks_answer(paragraph, question, corpus):
            yield Edit(question.question, paragraph.text, None)


def lacks_answer(paragraph: Paragraph, question: QuestionLike, corpus: Corpus) -> bool:
    """No answer stands there, nor most words of one; and a rare word of the question is missing."""
    lower = paragraph.text.lower()
    for answer in question.answers:
        meaning = content_stems(answer.text) or stems(answer.text)
        if answer.text.lower() in lower or 2 * len(meaning & paragraph.stems) > len(meaning):
            return False
    missing = content_stems(question.question) - paragraph.stems
    return any(corpus.is_rare(term) for term in missing)
