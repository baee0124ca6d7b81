"""What goes in and what comes out: answerable questions, and the questions made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class AnswerLike(Protocol):
    """Where an answer stands: `context[start : start + len(text)] == text`."""

    @property
    def text(self) -> str: ...

    @property
    def start(self) -> int: ...


class QuestionLike(Protocol):
    """An answerable question as any SQuAD reader gives it; only these five fields are looked at."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def question(self) -> str: ...

    @property
    def context(self) -> str: ...

    @property
    def answers(self) -> Sequence[AnswerLike]: ...


@dataclass(frozen=True)
class Span:
    text: str
    start: int


@dataclass(frozen=True)
class Answerable:
    """A question whose answers stand in its context; `kind` says how it was reworded, "" if not at all."""

    id: str
    title: str
    question: str
    context: str
    answers: tuple[Span, ...]
    kind: str = ""
    origin: str = ""
    """Id of the question this one is a rewording of, "" if it is none."""


@dataclass(frozen=True)
class Unanswerable:
    """A question its context does not answer, with the words a hasty reader would take for the answer."""

    id: str
    title: str
    question: str
    context: str
    kind: str
    origin: str
    """Id of the answerable question this one was made from."""
    plausible: Span | None = None


@dataclass(frozen=True)
class Edit:
    """What a kind proposes: another question, another context, or both."""

    question: str
    context: str
    plausible: Span | None


def first_answer(question: QuestionLike) -> Span:
    """What a reader would wrongly give once the question has been turned."""
    return Span(question.answers[0].text, question.answers[0].start)
