"""From a reader's start and end logits to spans: the best ones of a window, their total mass, those of a document.

A span (i, j) starts at token i and ends with token j of the same window, i <= j < i + max_answer_length; its score is
start[i] + end[j]. The null score of a window is start[null] + end[null], the logits of its `[CLS]`.

Spans of different windows are compared by their *log odds* against the null of their own window,

    log_odds(i, j) = start[i] + end[j] - null.

A reader is trained with a softmax per window, which does not change when a constant is added to all logits of a window;
so plain scores of two windows cannot be compared, but log odds can. Each span belongs to one window only, the one that
gives its first token the most context, so overlapping windows count nothing twice.

Shapes: W windows of a document (or of many), S positions, K spans kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]


class Readable(Protocol):
    """What span search must know of a window; `pocketbert.text.Window` has it."""

    @property
    def offsets(self) -> Sequence[tuple[int, int] | None]:
        """Where each token stands in the document; None for tokens that are not the document's."""

    @property
    def best(self) -> Sequence[bool]:
        """Whether no other window gives the token more context."""

    @property
    def null(self) -> int:
        """The position whose logits speak for "no answer": that of `[CLS]`."""


@dataclass(frozen=True)
class SpanLogits:
    """Logits of W windows in float64; -inf where no span may start or end, and in the padding."""

    start: Floats  # (W, S)
    end: Floats  # (W, S)
    null: Floats  # (W,)


@dataclass(frozen=True)
class Spans:
    """K spans, best first: row of the window, first and last token position, log odds against the window's null."""

    window: Integers  # (K,)
    start: Integers  # (K,)
    end: Integers  # (K,)
    log_odds: Floats  # (K,)

    def __len__(self) -> int:
        return len(self.log_odds)


def mask_logits(
    windows: Sequence[Readable], start_logits: Sequence[ArrayLike], end_logits: Sequence[ArrayLike]
) -> SpanLogits:
    """Put the logits of some windows side by side, with -inf wherever a span may not start or end.

    A row of logits may be longer than its window: what stands beyond it is padding.
    """
    if not len(windows) == len(start_logits) == len(end_logits):
        raise InputError(
            f"{len(windows)} windows, {len(start_logits)} rows of start logits and {len(end_logits)} of end logits "
            "were given; each window needs one row of both"
        )
    width = max((len(window.offsets) for window in windows), default=0)
    start = np.full((len(windows), width), -np.inf)
    end = np.full((len(windows), width), -np.inf)
    null = np.zeros(len(windows))
    for row, window in enumerate(windows):
        ends = np.array([place is not None for place in window.offsets], dtype=bool)
        starts = ends & np.array(window.best, dtype=bool)
        size = len(ends)
        window_start = np.asarray(start_logits[row], dtype=np.float64)[:size]
        window_end = np.asarray(end_logits[row], dtype=np.float64)[:size]
        if len(window_start) < size or len(window_end) < size:
            raise InputError(
                f"window {row} has {size} tokens, but {len(window_start)} start and {len(window_end)} end logits; "
                "each token needs one of both"
            )
        if not (np.isfinite(window_start).all() and np.isfinite(window_end).all()):
            raise InputError(
                f"the logits of window {row} hold NaN or infinity; the model or its precision is at fault"
            )
        null[row] = window_start[window.null] + window_end[window.null]
        start[row, :size][starts] = window_start[starts]
        end[row, :size][ends] = window_end[ends]
    return SpanLogits(start, end, null)


def top_spans(
    start: Floats, end: Floats, *, count: int = 20, max_answer_length: int = 30
) -> tuple[Integers, Integers, Floats]:
    """First tokens, last tokens and scores of the best spans of one window, best first.

    All pairs inside the band are looked at: S * max_answer_length sums. Of equal scores the earlier start wins, then
    the shorter span, so that every port of this search can give the same list.
    """
    rows, band = _band(start, end, count, max_answer_length)
    if not len(rows):
        return _NOTHING, _NOTHING, np.zeros(0)
    scores = band.ravel()
    count = min(count, len(scores))
    floor = np.partition(scores, len(scores) - count)[len(scores) - count]
    (kept,) = np.nonzero((scores >= floor) & (scores > -np.inf))
    kept = kept[np.argsort(-scores[kept], kind="stable")[:count]]
    row, length = np.divmod(kept, max_answer_length)
    return rows[row].astype(np.int64), (rows[row] + length).astype(np.int64), scores[kept]


def disjoint_spans(
    start: Floats, end: Floats, *, count: int = 20, max_answer_length: int = 30
) -> tuple[Integers, Integers, Floats]:
    """The same for spans that share no token: the best one, then the best that does not touch it, and so on."""
    rows, band = _band(start, end, count, max_answer_length)  # (starts,), (starts, L)
    found: list[tuple[int, int, float]] = []
    while len(rows) and len(found) < count:
        row, length = divmod(int(band.argmax()), max_answer_length)
        if band[row, length] == -np.inf:
            break
        first, last = int(rows[row]), int(rows[row]) + length
        found.append((first, last, float(band[row, length])))
        # What starts inside goes, and what starts before and does not end before.
        inside = slice(*np.searchsorted(rows, (first, last + 1)))
        band[inside] = -np.inf
        for place in range(inside.start - 1, -1, -1):
            if first - rows[place] >= max_answer_length:
                break
            band[place, first - rows[place] :] = -np.inf
    firsts, lasts, scores = ([span[column] for span in found] for column in range(3))
    return np.array(firsts, np.int64), np.array(lasts, np.int64), np.array(scores, np.float64)


def document_spans(logits: SpanLogits, *, count: int = 20, max_answer_length: int = 30) -> Spans:
    """The best spans of a document's windows by log odds: up to `count` of each window, best first."""
    found = [
        top_spans(start, end, count=count, max_answer_length=max_answer_length)
        for start, end in zip(logits.start, logits.end, strict=True)
    ]
    window = np.repeat(np.arange(len(found)), [len(scores) for _, _, scores in found]).astype(np.int64)
    if not len(window):
        return Spans(_NOTHING, _NOTHING, _NOTHING, np.zeros(0))
    start, end, scores = (np.concatenate(column) for column in zip(*found, strict=True))
    log_odds = scores - logits.null[window]
    order = np.argsort(-log_odds, kind="stable")
    return Spans(window[order], start[order], end[order], log_odds[order])


def log_mass(logits: SpanLogits, *, temperature: float = 1.0, max_answer_length: int = 30) -> Floats:
    """For each window the log of the sum of exp(log_odds / temperature) over *all* its spans; -inf if it has none.

    The sum over the band factorises into the exponentials of starts and ends, so a window costs S exponentials and
    S * max_answer_length multiplications. Only sums of positive terms are taken: nothing cancels.
    """
    _check_band(1, max_answer_length)
    peak_start = _finite_max(logits.start)
    peak_end = _finite_max(logits.end)
    starts = np.exp((logits.start - peak_start[:, None]) / temperature)  # (W, S)
    ends = np.exp((logits.end - peak_end[:, None]) / temperature)
    total = np.zeros(len(starts))
    for length in range(min(max_answer_length, starts.shape[1])):
        total += np.einsum("ws,ws->w", starts[:, : starts.shape[1] - length], ends[:, length:])
    # Where the best start and the best end form no span, the rest may underflow: there the top spans are the sum.
    faint = total < 1e-280
    with np.errstate(divide="ignore"):
        mass: Floats = np.log(total) + (peak_start + peak_end - logits.null) / temperature
    for row in np.flatnonzero(faint):
        _, _, scores = top_spans(logits.start[row], logits.end[row], max_answer_length=max_answer_length)
        mass[row] = np.logaddexp.reduce((scores - logits.null[row]) / temperature)
    return mass


_NOTHING: Integers = np.zeros(0, np.int64)


def _band(start: Floats, end: Floats, count: int, max_answer_length: int) -> tuple[Integers, Floats]:
    """The positions where a span may start, and the scores of all spans from there: one column per length."""
    _check_band(count, max_answer_length)
    rows = np.flatnonzero(start > -np.inf)
    padded = np.concatenate([end, np.full(max_answer_length - 1, -np.inf)])
    ends = np.lib.stride_tricks.sliding_window_view(padded, max_answer_length)[rows]
    return rows, start[rows, None] + ends  # (starts,), (starts, L)


def _finite_max(values: Floats) -> Floats:
    peak = values.max(axis=1, initial=-np.inf)
    return np.where(np.isfinite(peak), peak, 0.0)


def _check_band(count: int, max_answer_length: int) -> None:
    if count < 1 or max_answer_length < 1:
        raise InputError(
            f"count is {count} and max_answer_length is {max_answer_length}; both must be whole numbers from 1 up"
        )
