"""One question on its way through a document: which windows come next, what they said, when to stop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pocketbert.runtime.answer import Answer, Read, Result, Sentence, WindowReport
from pocketbert.runtime.documents import Document, Plan
from pocketbert.runtime.evidence import Candidate, Evidence
from pocketbert.runtime.options import Options
from pocketbert.runtime.order import promises, unread_chance
from pocketbert.text.calibration import Calibration
from pocketbert.text.sentences import sentence_around
from pocketbert.text.windows import Window


class Inquiry:
    """Reads nothing itself: it is asked which windows it wants, and told what they said."""

    def __init__(self, question: str, plan: Plan, calibration: Calibration, options: Options) -> None:
        self.plan = plan
        self._question = question
        self._options = options
        self._threshold = calibration.threshold if options.threshold is None else options.threshold
        length = options.max_answer_length or calibration.max_answer_length
        self._promise = promises(plan)
        self._evidence = Evidence(calibration, self._promise, max_answer_length=length, count=options.top_k)
        # Of equals the earlier window: texts begin with what matters.
        self._waiting = np.argsort(-self._promise, kind="stable").tolist()[::-1]

    @property
    def windows_read(self) -> int:
        """How many windows have been read."""
        return len(self._evidence.mass)

    @property
    def done(self) -> bool:
        """Whether nothing is left to read, or nothing that could plausibly change the answer."""
        if not self._waiting or self._options.read == "all" or self.windows_read < self._options.least:
            return not self._waiting
        answerable = self._evidence.answerable()
        if 1.0 - answerable > self._threshold:
            return False
        unread = float(self._promise[self._waiting].sum())
        return unread_chance(unread, answerable) <= self._options.miss

    def take(self, count: int) -> list[int]:
        """The numbers of the next windows to read, at most so many; they are not given out again.

        Where reading may stop early, few are given out at once: a quarter of what has been read.
        """
        if self._options.read == "fast":
            count = min(count, max(self._options.least - self.windows_read, self.windows_read // 4, 1))
        return [self._waiting.pop() for _ in range(min(count, len(self._waiting)))]

    def hear(self, number: int, window: Window, start_logits: ArrayLike, end_logits: ArrayLike) -> None:
        """Take in what a window said."""
        self._evidence.add(number, window, start_logits, end_logits)

    def result(self, *, same: Callable[[str], str] = str) -> Result:
        """What is known so far; texts that are the `same` count as one answer."""
        read = list(self._evidence.mass)
        reading = Read(len(read), len(self.plan), self.plan.tokens_of(read), self.plan.tokens)
        no_answer = 1.0 - self._evidence.answerable()
        candidates = self._evidence.candidates(self._locate, same=same)
        chosen = candidates[: self._options.top_k] if self._options.overlapping else self._apart(candidates)
        answers = tuple(self._answer(candidate, no_answer, reading) for candidate in chosen)
        found = bool(answers) and no_answer <= self._threshold
        return Result(self._question, answers, found, no_answer, reading, self._reports(no_answer))

    def _apart(self, candidates: list[Candidate]) -> list[Candidate]:
        """The likeliest that share no words, then, if there are not enough, the others."""
        chosen: list[Candidate] = []
        passed: list[Candidate] = []
        for candidate in candidates:
            if len(chosen) == self._options.top_k:
                break
            near = [other for other in chosen if self._document(other) is self._document(candidate)]
            touches = any(candidate.start < other.end and other.start < candidate.end for other in near)
            (passed if touches else chosen).append(candidate)
        return chosen + passed[: self._options.top_k - len(chosen)]

    def _answer(self, candidate: Candidate, no_answer: float, read: Read) -> Answer:
        text = self._document(candidate).text
        first, last = sentence_around(text, candidate.start, candidate.end)
        return Answer(
            text=candidate.text,
            start=candidate.start,
            end=candidate.end,
            score=candidate.probability,
            logit=candidate.logit,
            no_answer=no_answer,
            sentence=Sentence(text[first:last], first, last),
            read=read,
            document=self.plan.stretches[candidate.window].document,
        )

    def _reports(self, no_answer: float) -> tuple[WindowReport, ...]:
        reports = []
        for number, share in self._evidence.shares().items():
            stretch = self.plan.stretches[number]
            document = self.plan.documents[stretch.document]
            empty = stretch.first == stretch.last
            span = self._evidence.best(number)
            reports.append(
                WindowReport(
                    document=stretch.document,
                    start=0 if empty else int(document.starts[stretch.first]),
                    end=0 if empty else int(document.ends[stretch.last - 1]),
                    promise=float(self._promise[number]),
                    score=(1.0 - no_answer) * share,
                    best=self._locate(number, *span)[0] if span else "",
                )
            )
        return tuple(sorted(reports, key=lambda report: -report.promise))

    def _locate(self, window: int, first: int, last: int) -> tuple[str, int, int]:
        document = self.plan.documents[self.plan.stretches[window].document]
        start, end = document.characters(first, last, whole_words=self._options.align_to_words)
        return document.text[start:end], start, end

    def _document(self, candidate: Candidate) -> Document:
        return self.plan.documents[self.plan.stretches[candidate.window].document]
