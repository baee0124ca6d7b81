"""What the windows say that were read so far: their mass, and the spans that could be answers.

Of each window the 50 best spans are kept, as `Calibration.apply` keeps them, and the best that share no token: the 50
may all be variants of one answer. A text's probability is the sum over its spans among the 50 of each window; a text
that has none there has that of its best span. So a score depends neither on how many answers are asked for nor on the
order of reading. Windows are weighted with their promise (see `order`): where they promise the same, a document that
was read in full is scored exactly as by `Calibration.apply`, for which the calibration was fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from pocketbert.text.calibration import KEPT_SPANS, Calibration
from pocketbert.text.spans import (
    Floats,
    Integers,
    SpanLogits,
    Spans,
    disjoint_spans,
    log_mass,
    mask_logits,
    top_spans,
)
from pocketbert.text.windows import Window

KEPT_PLACES = 10
"""Spans of each window that share no token; more if more answers are asked for."""

Locate = Callable[[int, int, int], tuple[str, int, int]]
"""Number of the window, first and last token of its document -> the text of the span and where it stands there."""


@dataclass(frozen=True)
class Candidate:
    """A text that could be the answer, and the best of its places."""

    text: str
    start: int
    end: int
    probability: float
    logit: float
    window: int


class Evidence:
    """Gathers what windows say, in any order."""

    def __init__(
        self, calibration: Calibration, promise: Floats, *, max_answer_length: int, count: int
    ) -> None:
        self.mass: dict[int, float] = {}  # number of the window -> log mass, in the order of reading
        self._calibration = calibration
        self._promise = promise
        self._length = max_answer_length
        self._kept = max(KEPT_SPANS, 10 * count)
        self._places = max(KEPT_PLACES, count)
        self._null: dict[int, float] = {}
        self._best: dict[int, tuple[int, int]] = {}
        self._spans: list[Spans] = []  # tokens are counted in the document here, not in the window
        self._further: list[Spans] = []

    def add(self, number: int, window: Window, start_logits: ArrayLike, end_logits: ArrayLike) -> None:
        """Take in the logits of the window that goes by this number."""
        logits = mask_logits([window], [start_logits], [end_logits])
        (mass,) = log_mass(
            logits, temperature=self._calibration.temperature, max_answer_length=self._length
        ).tolist()
        self.mass[number] = mass
        self._null[number] = float(logits.null[0])
        self._keep(number, window.first_token - window.document_start, logits)

    def answerable(self) -> float:
        """The probability that the answer is in what was read."""
        if not self.mass:
            return 0.0
        return self._calibration.answerable(
            np.array(list(self.mass.values())), self._promise[list(self.mass)]
        )

    def shares(self) -> dict[int, float]:
        """How much of that is due to each window; the shares sum to 1, or are 0 if nowhere is a span."""
        total = self._log_total()
        weights = {number: mass + np.log(self._promise[number]) for number, mass in self.mass.items()}
        return {
            number: float(np.exp(weight - total)) if total > -np.inf else 0.0
            for number, weight in weights.items()
        }

    def best(self, number: int) -> tuple[int, int] | None:
        """First and last token of the best span of a window; None if no span starts there."""
        return self._best.get(number)

    def candidates(self, locate: Locate, *, same: Callable[[str], str] = str) -> list[Candidate]:
        """All texts that could be the answer, the likeliest first; texts that are the `same` are one."""
        groups: dict[str, tuple[list[float], Candidate]] = {}
        for kept, summed in ((self._spans, True), (self._further, False)):
            for window, first, last, log_odds, weight in self._rows(kept):
                text, start, end = locate(window, first, last)
                if not text.strip():
                    continue
                key = same(text)
                if key not in groups:
                    logit = log_odds + self._null[window]
                    groups[key] = [weight], Candidate(text, start, end, 0.0, logit, window)
                elif summed:
                    groups[key][0].append(weight)
        total, answerable = self._log_total(), self.answerable()
        found = []
        for weights, best in groups.values():
            share = float(np.exp(np.logaddexp.reduce(np.array(weights)) - total))
            # Rounding may put the only span of a document a hair above its own total.
            found.append(replace(best, probability=answerable * min(1.0, share)))
        return sorted(found, key=lambda candidate: -candidate.probability)

    def _log_total(self) -> float:
        weights = np.array(list(self.mass.values())) + np.log(self._promise[list(self.mass)])
        return float(np.logaddexp.reduce(weights, initial=-np.inf))

    def _keep(self, number: int, shift: int, logits: SpanLogits) -> None:
        start, end, null = logits.start[0], logits.end[0], logits.null[0]
        firsts, lasts, scores = top_spans(start, end, count=self._kept, max_answer_length=self._length)
        apart = disjoint_spans(start, end, count=self._places, max_answer_length=self._length)
        if len(scores):
            self._best[number] = int(firsts[0]) + shift, int(lasts[0]) + shift

        def spans(firsts: Integers, lasts: Integers, scores: Floats) -> Spans:
            return Spans(np.full(len(scores), number), firsts + shift, lasts + shift, scores - null)

        cut = KEPT_SPANS
        self._spans.append(spans(firsts[:cut], lasts[:cut], scores[:cut]))
        self._further += [spans(firsts[cut:], lasts[cut:], scores[cut:]), spans(*apart)]

    def _rows(self, spans: list[Spans]) -> Iterator[tuple[int, int, int, float, float]]:
        """Window, first and last token, log odds and log weight of all spans, best first; of equals the earlier."""
        if not spans:
            return iter(())
        window, start, end, log_odds = (
            np.concatenate([getattr(part, name) for part in spans])
            for name in ("window", "start", "end", "log_odds")
        )
        weight = log_odds / self._calibration.temperature + np.log(self._promise[window])
        order = np.lexsort((window, -weight))
        columns = (column[order].tolist() for column in (window, start, end, log_odds, weight))
        return zip(*columns, strict=True)
