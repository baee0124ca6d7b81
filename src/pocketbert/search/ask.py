"""Questions to an index: the reader over the best passages of all documents, read as if they were one.

A passage is read with its neighbours on both sides, and stretches that meet are joined, so that an answer at a seam is
seen whole. Scores are calibrated over all that was read, as for one long document (`QuestionAnswerer.among`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pocketbert.errors import InputError, check_count
from pocketbert.runtime.answer import Answer, Read, Result
from pocketbert.runtime.options import Options
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.search.places import Places, Where
from pocketbert.search.rank import By, Searcher
from pocketbert.search.store import Filter, Store, joined

PASSAGES = 20
"""Passages that are read, besides their neighbours."""


@dataclass(frozen=True)
class Stretch:
    """Passages of one document that follow each other, as one text."""

    path: str
    start: int
    text: str

    @property
    def end(self) -> int:
        """One past its last character in the document's text."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class FoundAnswer:
    """Words of a document, and where they stand: `start` and `end` are offsets into the document's text."""

    text: str
    start: int
    end: int
    score: float
    """The calibrated probability, over all that was read, that these words are the answer."""
    path: str
    where: Where
    sentence: str
    sentence_start: int
    logit: float

    def to_json(self) -> dict[str, Any]:
        """The answer as `pocketbert ask DIR --json` prints it."""
        return {
            "text": self.text,
            "file": self.path,
            "page": self.where.page,
            "line": self.where.line,
            "start": self.start,
            "end": self.end,
            "score": round(self.score, 6),
            "logit": round(self.logit, 4),
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Asked:
    """What became of a question."""

    question: str
    answers: tuple[FoundAnswer, ...]
    no_answer: float
    """The probability that what was read holds no answer."""
    passages: int
    """How many were chosen to be read."""
    of: int
    """How many there are."""
    read: Read
    """How much of them and their neighbours the reader looked at."""
    stretches: tuple[Stretch, ...]
    """What was there to be read."""

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.answers)

    @property
    def complete(self) -> bool:
        """Whether every passage there is was read."""
        return self.passages == self.of and self.read.complete

    def to_json(self) -> dict[str, Any]:
        """The result as `pocketbert ask DIR --json` prints it."""
        return {
            "question": self.question,
            "answers": [answer.to_json() for answer in self.answers],
            "no_answer": round(self.no_answer, 6),
            "read": {
                "passages": self.passages,
                "of": self.of,
                "windows": self.read.windows,
                "of_windows": self.read.of,
            },
        }


class Library:
    """An index that can be asked."""

    def __init__(self, searcher: Searcher, reader: QuestionAnswerer) -> None:
        self._searcher = searcher
        self._reader = reader

    def ask(
        self,
        question: str,
        *,
        passages: int = PASSAGES,
        by: By | None = None,
        where: Filter | None = None,
        **options: Any,
    ) -> Asked:
        """Answer a question from the best passages; `options` are those of `QuestionAnswerer`.

        If there are no more passages than may be read, all are read, and "not in these documents" is certain to have
        looked everywhere.
        """
        check_count("passages", passages)
        Options.of(options)
        if not isinstance(question, str) or not question.strip():
            raise InputError("the question is empty; ask something")
        store, wanted = self._searcher.store, where or Filter()
        of = store.count(wanted)
        if of <= passages:
            kept = store.fetch(store.first(passages, wanted))
        else:
            kept = [hit.kept for hit in self._searcher.search(question, top=passages, by=by, where=wanted)]
        read = stretches(store, [(one.path, one.passage.number) for one in kept])
        if not read:
            return Asked(question, (), 1.0, 0, of, Read(0, 0, 0, 0), ())
        result = self._reader.among(question, [stretch.text for stretch in read], **options)
        answers = self._placed(result, read)
        return Asked(question, answers, result.no_answer, len(kept), of, result.read, tuple(read))

    def _placed(self, result: Result, read: Sequence[Stretch]) -> tuple[FoundAnswer, ...]:
        """Answers with their places in their documents."""
        known: dict[str, Places] = {}
        found = []
        for answer in result:
            stretch = read[answer.document]
            if stretch.path not in known:
                document = self._searcher.store.document(stretch.path)
                known[stretch.path] = document.places if document else Places((), (), ())
            found.append(_found(answer, stretch, known[stretch.path]))
        return tuple(found)


def stretches(store: Store, wanted: Sequence[tuple[str, int]], *, neighbours: int = 1) -> list[Stretch]:
    """Passages, given by path and number, with their neighbours; what meets is joined. The best come first."""
    numbers: dict[str, set[int]] = {}
    for path, number in wanted:
        near = range(max(number - neighbours, 0), number + neighbours + 1)
        numbers.setdefault(path, set()).update(near)
    found = []
    for path, some in numbers.items():
        for first, last in _runs(sorted(some)):
            parts = store.around(path, first, last)
            text = joined(parts)
            if text and text.strip():
                found.append(Stretch(path, parts[0].start, text))
    return found


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers in their order as first and last of those that follow each other."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _found(answer: Answer, stretch: Stretch, places: Places) -> FoundAnswer:
    start = stretch.start + answer.start
    return FoundAnswer(
        text=answer.text,
        start=start,
        end=start + len(answer.text),
        score=answer.score,
        path=stretch.path,
        where=places[start],
        sentence=answer.sentence.text,
        sentence_start=stretch.start + answer.sentence.start,
        logit=answer.logit,
    )
