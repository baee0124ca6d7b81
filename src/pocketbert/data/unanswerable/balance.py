"""Take a cue away: a question must not look unanswerable because its words are missing from the context.

Edits bring in words that the context lacks, or take out the sentence that had them: in a set made by them alone, 8 % of
the unanswerable questions have all their words in the context, and of the answerable ones 28 %. A reader learns that in
no time, and fails on questions that people wrote to fool it, of which 37 % have all theirs (40 % of the answerable
ones beside them; `benchmarks/cues.py`). So the items are drawn such that, for each number of missing words, the same
share is answerable.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from pocketbert.data.unanswerable.example import Answerable, Unanswerable
from pocketbert.data.unanswerable.words import QUESTION_WORDS, STOPWORDS, words

PREFIX = 5
"""Letters: "invented" is not missing where there is an "invention"."""
MOST = 4
"""So many missing words, or more, are one group."""
GROUPS = (1.0, 0.8, 0.4, 0.15, 0.05)
"""How many unanswerable questions with 0, 1, … missing words, relative to those with none; nearly as people write."""


def missing_words(question: str, context: str) -> int:
    """How many content words of a question have no relative in the context."""
    there = {word.lower[:PREFIX] for word in words(context)}
    asked = {word.lower for word in words(question)} - STOPWORDS - QUESTION_WORDS
    return sum(word[:PREFIX] not in there for word in asked)


def balanced(
    items: Sequence[Answerable | Unanswerable],
    *,
    answerable_ratio: float = 1.7,
    weights: Mapping[str, float] | None = None,
    seed: int = 0,
) -> list[Answerable | Unanswerable]:
    """Draw items such that missing words tell nothing: whatever their number, `answerable_ratio` to one are answerable.

    As many unanswerable questions with no missing word as there are set the size. `weights` say how likely each kind is
    to be drawn, relative to the others; 1 if left out.
    """
    chance = random.Random(seed)  # noqa: S311 -- no secret
    unanswerable: dict[int, list[Unanswerable]] = defaultdict(list)
    answerable: dict[int, list[Answerable]] = defaultdict(list)
    for item in items:
        group = min(MOST, missing_words(item.question, item.context))
        if isinstance(item, Unanswerable):
            unanswerable[group].append(item)
        else:
            answerable[group].append(item)
    drawn: list[Answerable | Unanswerable] = []
    for group, share in enumerate(GROUPS):
        count = round(share * len(unanswerable[0]))
        # Drawing without replacement by weight: Efraimidis and Spirakis, 2006.
        keyed = [
            (chance.random() ** (1 / (weights or {}).get(item.kind, 1.0)), place)
            for place, item in enumerate(unanswerable[group])
        ]
        chosen = [unanswerable[group][place] for _, place in sorted(keyed, reverse=True)[:count]]
        wanted = min(len(answerable[group]), round(answerable_ratio * len(chosen)))
        drawn += [*chance.sample(answerable[group], wanted), *chosen]
    return drawn
