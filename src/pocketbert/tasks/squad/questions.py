"""What a SQuAD file holds, as typed rows, and the two ways in which we split such rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from pocketbert.errors import InputError


@dataclass(frozen=True, slots=True)
class Answer:
    """A gold answer: `text` stands in the context at character `start`."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Question:
    """One question on one context; `impossible` says that the context does not answer it."""

    id: str
    title: str
    question: str
    context: str
    answers: tuple[Answer, ...]
    impossible: bool


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of one or more sources, and what was left out and why (only when told to skip)."""

    questions: tuple[Question, ...]
    skipped: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)


def halves_by_title(questions: Iterable[Question]) -> tuple[list[Question], list[Question]]:
    """Sort the titles; questions of the first, third, fifth … go left, of the second, fourth … right.

    Whole articles stay together, so what is fitted on the left half is measured on unseen text.
    """
    rows = list(questions)
    rank = {title: place for place, title in enumerate(sorted({row.title for row in rows}))}
    left = [row for row in rows if rank[row.title] % 2 == 0]
    right = [row for row in rows if rank[row.title] % 2 == 1]
    return left, right


def hold_out(
    questions: Sequence[Question], *, fraction: float, seed: int = 0
) -> tuple[list[Question], list[Question]]:
    """Split into (kept, held out) by whole contexts.

    A context's side depends only on its own text and the seed, so adding a file moves no other context.
    """
    if not 0.0 <= fraction <= 1.0:
        raise InputError(f"fraction is {fraction}; it must lie between 0 and 1")
    sides: dict[str, bool] = {}
    kept: list[Question] = []
    held: list[Question] = []
    for row in questions:
        if row.context not in sides:
            text = row.context.encode("utf-8", "surrogatepass")
            digest = blake2b(text, digest_size=8, salt=seed.to_bytes(8, "little")).digest()
            sides[row.context] = int.from_bytes(digest, "little") < fraction * 2**64
        (held if sides[row.context] else kept).append(row)
    return kept, held
