"""Which windows to read first, and when to stop: what the question's own words say before any window is read.

Each window gets a BM25 score: the question's words, their five-letter beginnings (so that "invented" finds "invention")
and its pairs of neighbouring words are looked for, and what is rare among this document's windows counts more. A soft
maximum over the scores is the chance that the answer is in each window, the *promise*. Fitted on questions on 5,000 to
11,000 tokens of joined paragraphs, the promise ranks the right window first in two of three cases.

Reading may stop when what has been read outweighs what has not. Before reading, the chances of "no answer", of an
answer in the windows that will be read and of one in the others are as 1 to the promises of both. What the windows said
turns the second into the odds that the answer is there (`Calibration.answerable`), so that with U the promise of the
others

    P(the answer is in a window not read | there is one) = U / (U + odds).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pocketbert.runtime.documents import Plan
from pocketbert.text.spans import Floats, Integers

Marks: TypeAlias = NDArray[np.bool_]

SATURATION = 1.5  # BM25's k1: how slowly a word that is repeated stops counting
SHARPNESS = 0.6  # of the soft maximum; both fitted by likelihood on joined paragraphs of training sets
DOUBT = 0.02  # the share of questions that are worded so differently that every window is as good
PREFIX = 5  # letters; words that share so many count as related, at half the weight
RELATED = 0.5
# Words that ask and are not looked for. They are rare in most texts, so that BM25 would chase them.
ASKING = {
    *("what", "who", "whom", "whose", "which", "when", "where", "why", "how", "many", "much"),
    *("do", "does", "did"),
}


def promises(plan: Plan) -> Floats:
    """The chance of each window to hold the answer, before any is read; they sum to 1."""
    scores = np.zeros(len(plan))
    if len(plan) > 1:
        for counts, weight in _terms(plan):
            windows = np.count_nonzero(counts)
            rarity = np.log1p((len(plan) - windows + 0.5) / (windows + 0.5))
            scores += weight * rarity * counts * (SATURATION + 1) / (counts + SATURATION)
    chances = np.exp(SHARPNESS * (scores - scores.max()))
    promise: Floats = (1 - DOUBT) * chances / chances.sum() + DOUBT / len(plan)
    return promise


def unread_chance(unread: float, answerable: float) -> float:
    """The chance that an answer is in what was not read.

    `unread` is the promise of that, `answerable` the probability that the answer is in what was read.
    """
    if answerable == 1.0 or unread <= 0.0:
        return 0.0
    return unread / (unread + answerable / (1.0 - answerable))


def _terms(plan: Plan) -> Iterator[tuple[Integers, float]]:
    """How often each thing that is looked for stands in each window, and how much it counts."""
    tokenizer = plan.documents[0].tokenizer
    ids = np.concatenate([document.ids for document in plan.documents])
    begin = np.concatenate([[0], np.cumsum([len(document) for document in plan.documents])])
    first = np.array([begin[part.document] + part.first for part in plan.stretches])
    last = np.array([begin[part.document] + part.last for part in plan.stretches])

    def counts(marked: Marks) -> Integers:
        before = np.concatenate([[0], np.cumsum(marked)])
        return np.asarray(before[last] - before[first], dtype=np.int64)

    asked = [
        token
        for token in plan.question_ids
        if tokenizer.kind(token) != "special" and any(map(str.isalnum, tokenizer.plain(token)))
    ]
    words = [word for word in map(tokenizer.plain, asked) if word.lower() not in ASKING]
    # A word may have several ids: with a blank before it and without, in upper and in lower case.
    spellings: dict[str, list[int]] = {}
    beginnings: dict[str, list[int]] = {}
    for token in np.unique(ids).tolist():
        word = tokenizer.plain(token)
        spellings.setdefault(word.lower(), []).append(token)
        beginnings.setdefault(_beginning(word), []).append(token)
    for word in dict.fromkeys(map(str.lower, words)):
        yield counts(np.isin(ids, spellings.get(word, []))), 1.0
        beginning = _beginning(word)
        if beginning:
            yield counts(np.isin(ids, beginnings.get(beginning, []))), RELATED
    for left, right in dict.fromkeys(pairwise(asked)):
        yield counts(np.append((ids[:-1] == left) & (ids[1:] == right), False)), RELATED


def _beginning(word: str) -> str:
    return word[:PREFIX].lower() if len(word) >= PREFIX and word.isalpha() else ""
