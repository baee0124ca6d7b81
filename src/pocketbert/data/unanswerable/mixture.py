"""Training and held-out sets: answerable questions of several files with unanswerable ones mixed in."""

from __future__ import annotations

import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Answerable, Unanswerable
from pocketbert.data.unanswerable.generate import generate
from pocketbert.data.unanswerable.harmless import harmless
from pocketbert.data.unanswerable.squad_json import read_squad_json
from pocketbert.data.unanswerable.wordnet import WordNet
from pocketbert.data.unanswerable.words import words

Made = TypeVar("Made", Answerable, Unanswerable)

# Near the shares that the paper of SQuAD 2.0 counted (its table 2): negation 9 %, antonym 20 %, entity swap 21 %,
# mutual exclusion 15 %, impossible condition 4 %, other neutral 24 %.
SHARES: Mapping[str, float] = {
    "negation": 0.09,
    "antonym": 0.14,
    "alternative": 0.06,
    "name-in-context": 0.10,
    "name-elsewhere": 0.14,
    "condition": 0.03,
    "owner": 0.04,
    "question-word": 0.02,
    "tail": 0.06,
    "nearest": 0.11,
    "answer-removed": 0.10,
    "answer-replaced": 0.06,
    "window": 0.05,
}
"""How much of the unanswerable questions each kind makes up; what a kind cannot fill goes to the others."""

HARMLESS_SHARES: Mapping[str, float] = {
    "true-condition": 0.10,
    "synonym": 0.30,
    "contrast": 0.25,
    "sentence-removed": 0.15,
    "sentence-replaced": 0.10,
    "window-kept": 0.10,
}
"""The same for the rewordings that stay answerable."""

_PER_ORIGIN = 2
_SHINGLE = 8


def read_all(paths: Iterable[str | os.PathLike[str]]) -> list[Answerable]:
    """The answerable questions of several files; each title begins with the name of its file."""
    return [
        replace(question, title=f"{Path(path).stem}/{question.title}")
        for path in paths
        for question in read_squad_json(path)
    ]


def mix(
    questions: Sequence[Answerable],
    *,
    ratio: float = 0.6,
    harmless_ratio: float = 0.0,
    shares: Mapping[str, float] = SHARES,
    wordnet: WordNet | None = None,
    seed: int = 0,
) -> list[Answerable | Unanswerable]:
    """The questions as they are, with unanswerable ones and harmless rewordings of them in these ratios."""
    corpus = Corpus(questions, wordnet=wordnet)
    made = generate(questions, kinds=list(shares), seed=seed, per_question=len(shares), corpus=corpus)
    chosen = _chosen(made, round(ratio * len(questions)), shares, seed)
    if not harmless_ratio:
        return [*questions, *chosen]
    reworded = harmless(
        questions, kinds=list(HARMLESS_SHARES), seed=seed, per_question=len(HARMLESS_SHARES), corpus=corpus
    )
    kept = _chosen(reworded, round(harmless_ratio * len(questions)), HARMLESS_SHARES, seed)
    return [*questions, *kept, *chosen]


def hold_out(
    questions: Sequence[Answerable], count: int, *, seed: int
) -> tuple[list[Answerable], list[Answerable]]:
    """Split into (train, held out) by paragraph; about `count` questions are held out, from all files alike.

    Paragraphs that share a third of their runs of eight words stay together, whatever file they are in.
    """
    groups: dict[int, list[Answerable]] = defaultdict(list)
    group_of = _near_duplicates(dict.fromkeys(question.context for question in questions))
    for question in questions:
        groups[group_of[question.context]].append(question)
    files: dict[str, list[int]] = defaultdict(list)
    for group, members in groups.items():
        files[_file(members[0])].append(group)
    held: set[int] = set()
    for file, numbers in files.items():
        random.Random(f"{seed}/{file}").shuffle(numbers)  # noqa: S311
        left = count * sum(len(groups[number]) for number in numbers) / len(questions)
        for number in numbers:
            if left <= 0:
                break
            held.add(number)
            left -= len(groups[number])
    train = [question for question in questions if group_of[question.context] not in held]
    return train, [question for question in questions if group_of[question.context] in held]


def _file(question: Answerable) -> str:
    return question.title.split("/")[0]


def _near_duplicates(texts: Iterable[str]) -> dict[str, int]:
    """A group number for every text: the place of the first text it is like, or its own."""
    group_of: dict[str, int] = {}
    owners: dict[tuple[str, ...], int] = {}
    for number, text in enumerate(texts):
        parts = [word.lower for word in words(text)]
        runs = {tuple(parts[at : at + _SHINGLE]) for at in range(max(1, len(parts) - _SHINGLE + 1))}
        known = Counter(owners[run] for run in runs if run in owners)
        best, shared = max(known.items(), key=lambda item: (item[1], -item[0]), default=(number, 0))
        group_of[text] = best if 3 * shared >= len(runs) else number
        for run in runs:
            owners.setdefault(run, group_of[text])
    return group_of


def _chosen(items: Iterable[Made], count: int, shares: Mapping[str, float], seed: int) -> list[Made]:
    """Fill every kind's share, rarest kind first, at most two from one question; then share what is left."""
    made: dict[str, list[Made]] = defaultdict(list)
    for item in items:
        made[item.kind].append(item)
    for kind, pile in made.items():
        random.Random(f"{seed}/{kind}").shuffle(pile)  # noqa: S311
    chosen: list[Made] = []
    uses: Counter[str] = Counter()
    kinds = sorted(made, key=lambda kind: (len(made[kind]), kind))
    while kinds and len(chosen) < count:
        missing, weight = count - len(chosen), sum(shares[kind] for kind in kinds)
        for kind in kinds:
            wanted = min(count - len(chosen), max(1, round(missing * shares[kind] / weight)))
            while wanted and made[kind]:
                item = made[kind].pop()
                if uses[item.origin] < _PER_ORIGIN:
                    uses[item.origin] += 1
                    chosen.append(item)
                    wanted -= 1
        kinds = [kind for kind in kinds if made[kind]]
    return chosen
