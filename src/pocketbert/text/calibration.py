"""Scores that are probabilities, and comparable between documents: what `qa_config.json` holds and how it is used.

The maths. A document is read in W windows. Window w offers spans a, each with its log odds g(a) against the window's
own null (see `spans`). Were every window an independent witness, told only that at most one of them may name a span:

    P(no answer) ∝ Π_w p_w(null),      P(a) ∝ p_w(a) Π_{v≠w} p_v(null)      for a span a of window w.

Divided by Π_w p_w(null) that is 1 for "no answer" and exp(g(a)) for each span: one softmax over the whole document
with one shared null, in which "no answer" means that every window says null. Two things are still to be mended.

First, the number of windows. A reader that is a little wrong on each window would find an answer in any document that
is long enough. Whether a document answers a question is taken not to depend on its length, so the answer is in a given
window with a W-th of the chance, and the odds of each window are divided by W: their mean counts, not their sum.
Reading the same window twice changes nothing. Where something is known of the windows before they are read, such as
which of them hold the question's words, each is weighted with its own chance instead of a W-th.

Second, over-confidence. Which span it is, and whether there is one at all, are two questions on which a reader errs
differently, so each gets its own scale, fitted on held-out documents:

    Z       = Σ_a exp(g(a) / temperature)                    over all spans of all windows
    P(ans)  = sigmoid(slope · (log Z - log W) - bias)        P(no answer) = 1 - P(ans)
    P(a)    = P(ans) · exp(g(a) / temperature) / Z

With temperature = slope = 1, bias = 0 and one window this is the reader's own softmax over spans and null. Z is exact,
a sum over the whole band, however few spans are kept. An answer is a text: its probability is the sum over the kept
spans that read the same. "No answer" is said iff P(no answer) > threshold.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from pocketbert.errors import ConfigError
from pocketbert.text.settings_file import read_settings, write_settings
from pocketbert.text.spans import Floats, Readable, SpanLogits, document_spans, log_mass, mask_logits

FILE_NAME = "qa_config.json"
KEPT_SPANS = 50
"""Spans of each window that are read as texts: fixed, so that a score does not depend on how many are asked for."""


@dataclass(frozen=True)
class ScoredAnswer:
    """Words of a document, `document[start:end] == text`, with the probability that they are the answer."""

    text: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class Reading:
    """What a reader found in a document: answers, the likeliest first, and the probability that there is none."""

    answers: tuple[ScoredAnswer, ...]
    no_answer: float
    found: bool
    """Whether the first answer should be given: there is one, and `no_answer` is within the threshold."""

    @property
    def confidence(self) -> float:
        """The probability of what is said: of the first answer if `found`, of no answer otherwise."""
        return self.answers[0].probability if self.found else self.no_answer


@dataclass(frozen=True)
class Calibration:
    """How a reader reads (window, overlap, max_answer_length, in tokens) and how its logits become probabilities."""

    window: int = 384
    overlap: int = 128
    max_answer_length: int = 30
    temperature: float = 1.0
    slope: float = 1.0
    bias: float = 0.0
    threshold: float = 0.5

    def __post_init__(self) -> None:
        for name in ("window", "overlap", "max_answer_length"):
            value = getattr(self, name)
            least = 0 if name == "overlap" else 1
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"{name} is {value!r}; it must be a whole number from {least} up")
        for name in ("temperature", "slope", "bias", "threshold"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
                raise ConfigError(f"{name} is {value!r}; it must be a finite number")
        if self.temperature <= 0 or self.slope <= 0:
            raise ConfigError(
                f"temperature is {self.temperature} and slope is {self.slope}; both must be above 0"
            )
        if not 0 <= self.threshold <= 1:
            raise ConfigError(f"threshold is {self.threshold}; it must lie between 0 and 1")

    def apply(
        self,
        document: str,
        windows: Sequence[Readable],
        start_logits: Sequence[ArrayLike],
        end_logits: Sequence[ArrayLike],
        *,
        count: int = 20,
    ) -> Reading:
        """Turn the logits of all windows of a document into at most `count` answers with their probabilities."""
        logits = mask_logits(windows, start_logits, end_logits)
        mass = log_mass(logits, temperature=self.temperature, max_answer_length=self.max_answer_length)
        answerable = self.answerable(mass)
        texts = spans_by_text(document, windows, logits, max_answer_length=self.max_answer_length)
        total = float(np.logaddexp.reduce(mass))
        scored = []
        for text, (log_odds, start, end) in texts.items():
            share = math.fsum(math.exp(odds / self.temperature - total) for odds in log_odds)
            # Rounding may put the only span of a document a hair above its own total.
            scored.append(ScoredAnswer(text, start, end, answerable * min(1.0, share)))
        scored.sort(key=lambda answer: -answer.probability)
        no_answer = 1.0 - answerable
        return Reading(tuple(scored[:count]), no_answer, bool(scored) and no_answer <= self.threshold)

    def answerable(self, mass: Floats, promise: Floats | None = None) -> float:
        """The probability that a document answers, from `log_mass` of its windows at our temperature.

        `promise` is the chance of each window, before it was read, to hold the answer; a W-th if not given. If only
        some windows of a document were read, their chances sum to less than 1, and the result is the probability that
        the answer is in what was read.
        """
        weights = np.full(len(mass), 1.0 / len(mass)) if promise is None else promise
        log_odds = self.slope * float(np.logaddexp.reduce(mass + np.log(weights))) - self.bias
        return float(sigmoid(np.array(log_odds)))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `qa_config.json` into a model folder."""
        return write_settings(Path(folder) / FILE_NAME, self)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Calibration:
        """Read `qa_config.json` of a model folder."""
        return read_settings(Path(folder) / FILE_NAME, cls, mend="fit one on held-out questions")


def spans_by_text(
    document: str, windows: Sequence[Readable], logits: SpanLogits, *, max_answer_length: int
) -> dict[str, tuple[list[float], int, int]]:
    """The best spans of each window, gathered by their text: log odds, best first, and where the best one stands."""
    spans = document_spans(logits, count=KEPT_SPANS, max_answer_length=max_answer_length)
    places = {row: windows[row].offsets for row in set(spans.window.tolist())}
    gathered: dict[str, tuple[list[float], int, int]] = {}
    for row, first, last, log_odds in zip(
        spans.window.tolist(), spans.start.tolist(), spans.end.tolist(), spans.log_odds.tolist(), strict=True
    ):
        head, tail = places[row][first], places[row][last]
        if head is None or tail is None or not document[head[0] : tail[1]].strip():
            continue
        gathered.setdefault(document[head[0] : tail[1]], ([], head[0], tail[1]))[0].append(log_odds)
    return gathered


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + exp(-x)) that neither overflows nor warns, infinities included."""
    result: Floats = np.exp(-np.logaddexp(0.0, -values))
    return result
