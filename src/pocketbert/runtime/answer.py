"""What a reader says: answers with their places and probabilities, and how much of the document it looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload


@dataclass(frozen=True)
class Sentence:
    """The sentence around an answer, `context[start:end] == text`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Read:
    """How much of a document was read: windows and tokens, of how many."""

    windows: int
    of: int
    tokens: int
    of_tokens: int

    @property
    def complete(self) -> bool:
        """Whether every window was read."""
        return self.windows == self.of


@dataclass(frozen=True)
class Answer:
    """Words of the context, `context[start:end] == text`, and how sure the reader is of them."""

    text: str
    start: int
    end: int
    score: float
    """The calibrated probability, over the whole document, that these words are the answer."""
    logit: float
    """The sum of the model's start and end logits, as it is; comparable within one window only."""
    no_answer: float
    """The probability that what was read holds no answer; the same for all answers of a result."""
    sentence: Sentence
    read: Read
    document: int = 0
    """Which of the documents it is from, where several were read as one."""

    def to_json(self) -> dict[str, Any]:
        """The answer as `pocketbert ask --json` prints it."""
        return {
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "score": round(self.score, 6),
            "logit": round(self.logit, 4),
            "sentence": self.sentence.text,
        }


@dataclass(frozen=True)
class WindowReport:
    """What one window said: where it is, what it promised before it was read, and its best words."""

    document: int
    start: int
    """The first character of the window in its document."""
    end: int
    promise: float
    """The chance that the answer is here, judged by the question's words alone."""
    score: float
    """The probability that the answer is here, judged by the reader."""
    best: str
    """The likeliest words of the window."""


@dataclass(frozen=True)
class Result(Sequence[Answer]):
    """The answers to one question, the likeliest first; empty if there is none.

    `text`, `start`, `end` and `score` are those of the first answer. Without one they are "", 0, 0 and the probability
    that there is none. "Not on this page" is only said if `read.complete`.
    """

    question: str
    candidates: tuple[Answer, ...]
    """The likeliest words, whether they are given as answers or not."""
    found: bool
    """Whether an answer is given: `no_answer` is within the threshold."""
    no_answer: float
    """The probability that what was read holds no answer."""
    read: Read
    windows: tuple[WindowReport, ...] = field(default=(), repr=False)
    """What each window that was read said, the most promising first."""

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The candidates if an answer was found, else nothing."""
        return self.candidates if self.found else ()

    @property
    def text(self) -> str:
        return self.candidates[0].text if self.found else ""

    @property
    def start(self) -> int:
        return self.candidates[0].start if self.found else 0

    @property
    def end(self) -> int:
        return self.candidates[0].end if self.found else 0

    @property
    def score(self) -> float:
        return self.candidates[0].score if self.found else self.no_answer

    def to_json(self) -> dict[str, Any]:
        """The result as `pocketbert ask --json` prints it."""
        return {
            "question": self.question,
            "answers": [answer.to_json() for answer in self.answers],
            "no_answer": round(self.no_answer, 6),
            "read": {"windows": self.read.windows, "of": self.read.of},
        }

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Answer]: ...
    def __getitem__(self, place: int | slice) -> Answer | Sequence[Answer]:
        return self.answers[place]
