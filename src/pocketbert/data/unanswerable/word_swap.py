"""Swap one plain word of the question for its opposite, or for another word of the same sort."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Edit, QuestionLike, first_answer
from pocketbert.data.unanswerable.lexicon import alternatives, antonyms, synonyms
from pocketbert.data.unanswerable.word_lists import word_set
from pocketbert.data.unanswerable.words import (
    QUESTION_WORDS,
    STOPWORDS,
    has_negation,
    is_open,
    stem,
    stems,
    tidy,
    words,
)

# "How long" and "how short" ask for the same figure; beside the others the word is half of a longer expression.
_UNSAFE_BEFORE = word_set("before no swap")
_UNSAFE_AFTER = word_set("after no swap")


def swap_antonym(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Ask for the opposite of what the context tells."""

    def opposites(word: str, before: str, _after: str) -> Iterable[str]:
        # "The most common" has an opposite, "most people" hardly.
        if word in ("most", "least") and before != "the":
            return ()
        more = corpus.wordnet.antonyms(word) if corpus.wordnet and word not in STOPWORDS else ()
        return dict.fromkeys([*antonyms().get(word, ()), *more])

    yield from _swapped(question, corpus, rng, opposites)


def swap_alternative(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Ask about the silver key where the context has a golden one."""

    def others(word: str, before: str, after: str) -> Iterator[str]:
        # The noun after "which" says what the answer is, not what the context must have. And nouns go with nouns:
        # there is a frying pan and a pan lid, but no frying cup.
        for other in alternatives().get(word, ()) if before not in QUESTION_WORDS else ():
            if (before in STOPWORDS or corpus.goes_with(before, other)) and (
                not after or after in STOPWORDS or corpus.goes_with(other, after)
            ):
                yield other

    yield from _swapped(question, corpus, rng, others)


def _swapped(
    question: QuestionLike,
    corpus: Corpus,
    rng: random.Random,
    others: Callable[[str, str, str], Iterable[str]],
) -> Iterator[Edit]:
    """Every swap of a word the context has for one that it has not, in any form or by another name."""
    text = question.question
    if not is_open(text) or has_negation(text) or not corpus.is_specific(question):
        return
    context = corpus.paragraph(question.context).stems
    known = context | stems(text) | stems(question.answers[0].text)
    parts = words(text)
    found = []
    for index, word in enumerate(parts[1:], start=1):
        before, after = parts[index - 1].lower, parts[index + 1].lower if index + 1 < len(parts) else ""
        if not word.text.islower() or before in _UNSAFE_BEFORE or after in _UNSAFE_AFTER:
            continue
        if stem(word.text) in context:
            found += [
                (word, other) for other in others(word.lower, before, after) if not _names(other) & known
            ]
    # A word that answerable questions often use gives nothing away; one that they never use is a telltale.
    common = [pair for pair in found if corpus.seen(pair[1]) >= corpus.size // 10_000]
    for word, other in sorted(common, key=lambda pair: -(1 + corpus.seen(pair[1])) * rng.random()):
        edited = with_article(text[: word.start], other) + other + text[word.end :]
        yield Edit(tidy(edited), question.context, first_answer(question))


def with_article(before: str, word: str) -> str:
    """The text before a word, ending in `an` where the word asks for it."""
    match = re.search(r"\b(?:a|an) $", before)
    if match is None:
        return before
    return before[: match.start()] + ("an " if word[0] in "aeiou" else "a ")


def _names(word: str) -> frozenset[str]:
    """A word and what else it is called, as stems."""
    return stems(word).union(*(stems(other) for other in synonyms().get(word, ())))
