from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.text.spans import SpanLogits, document_spans, log_mass, mask_logits, top_spans
from span_rows import rows

steady = settings(derandomize=True, deadline=None)


@dataclass(frozen=True)
class Strip:
    """A window by hand: where its tokens stand in the document, which it owns, and where its null is."""

    offsets: Sequence[tuple[int, int] | None]
    best: Sequence[bool]
    null: int = 0


def brute(start: np.ndarray, end: np.ndarray, length: int) -> list[tuple[float, int, int]]:
    pairs = itertools.product(range(len(start)), range(len(end)))
    spans = [(-(start[i] + end[j]), i, j) for i, j in pairs if i <= j < i + length]
    return [(-score, i, j) for score, i, j in sorted(spans) if score < np.inf]


@steady
@given(rows(), st.integers(1, 14), st.integers(1, 40))
def test_the_best_spans_are_those_of_a_full_search(
    row: tuple[np.ndarray, np.ndarray], length: int, count: int
) -> None:
    start, end = row
    found = list(
        zip(
            *(column.tolist() for column in top_spans(start, end, count=count, max_answer_length=length)),
            strict=True,
        )
    )
    assert [(score, i, j) for i, j, score in found] == brute(start, end, length)[:count]


@steady
@given(rows(), st.integers(1, 14), st.sampled_from([0.3, 1.0, 4.0]), st.floats(-50, 50))
def test_the_mass_is_the_sum_over_all_spans(
    row: tuple[np.ndarray, np.ndarray], length: int, temperature: float, null: float
) -> None:
    start, end = row
    mass = log_mass(
        SpanLogits(start[None], end[None], np.array([null])),
        temperature=temperature,
        max_answer_length=length,
    )
    terms = [(score - null) / temperature for score, _, _ in brute(start, end, length)]
    np.testing.assert_allclose(
        mass[0], np.logaddexp.reduce(terms) if terms else -np.inf, rtol=1e-9, atol=1e-9
    )


def test_mass_survives_logits_that_underflow() -> None:
    start = np.array([-900.0, -901.0, 900.0])
    end = np.array([900.0, -900.0, -900.0])
    start[2] = 1e6  # the best start comes after the best end: no span has both
    end[2] = -np.inf
    mass = log_mass(SpanLogits(start[None], end[None], np.zeros(1)), max_answer_length=3)
    np.testing.assert_allclose(mass, [0.0], atol=1e-6)


def test_masks_come_from_the_windows() -> None:
    # Two windows on the document tokens a b c d: [CLS] q [SEP] a b c [SEP] and [CLS] q [SEP] c d [SEP].
    first = Strip(
        [None, None, None, (0, 1), (2, 3), (4, 5), None], [False] * 3 + [True, True, False] + [False]
    )
    second = Strip([None, None, None, (4, 5), (6, 7), None], [False] * 3 + [True, True, False])
    start = [np.arange(7.0), np.arange(10.0, 18.0)]  # the second row is padded
    logits = mask_logits([first, second], start, [row + 0.5 for row in start])
    none = -np.inf
    assert logits.start.tolist() == [
        [none, none, none, 3, 4, none, none],
        [none, none, none, 13, 14, none, none],
    ]
    assert logits.end.tolist() == [
        [none, none, none, 3.5, 4.5, 5.5, none],
        [none, none, none, 13.5, 14.5, none, none],
    ]
    assert logits.null.tolist() == [0.5, 20.5]
    spans = document_spans(logits, count=2, max_answer_length=2)
    assert spans.log_odds.tolist() == [9.0, 8.0, 8.0, 7.0]
    assert list(zip(spans.window.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True)) == [
        (0, 4, 5),
        (0, 4, 4),
        (1, 4, 4),
        (1, 3, 4),
    ]


def test_the_null_stands_where_the_window_says() -> None:
    # Two documents, as XLNet reads them: a b [SEP] q [SEP] [CLS] and a [SEP] q [SEP] [CLS].
    first = Strip([(0, 1), (2, 3), None, None, None, None], [True, True] + [False] * 4, null=5)
    second = Strip([(0, 1), None, None, None, None], [True] + [False] * 4, null=4)
    logits = mask_logits([first, second], [np.arange(6.0), np.arange(5.0)], [np.arange(6.0), np.arange(5.0)])
    assert logits.null.tolist() == [10.0, 8.0]
    assert document_spans(logits, count=1).log_odds.tolist() == [-8.0, -8.0]


def test_a_constant_on_a_window_changes_no_log_odds() -> None:
    generator = np.random.default_rng(0)
    window = Strip([None, (0, 1), (1, 2), (2, 3), None], [False, True, True, True, False])
    start, end = generator.normal(size=(2, 5)), generator.normal(size=(2, 5))
    plain = document_spans(mask_logits([window, window], start, end))
    shifted = document_spans(mask_logits([window, window], start + np.array([[3.0], [-8.0]]), end))
    np.testing.assert_allclose(plain.log_odds, shifted.log_odds)
    assert plain.window.tolist() == shifted.window.tolist()


def test_a_document_without_tokens_has_no_span() -> None:
    window = Strip([None, None, None], [False] * 3)
    logits = mask_logits([window], [[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]])
    assert len(document_spans(logits)) == 0
    assert log_mass(logits).tolist() == [-np.inf]


def test_wrong_logits_are_refused() -> None:
    window = Strip([None, (0, 1)], [False, True])
    with pytest.raises(InputError, match="1 windows, 2 rows of start logits and 1 of end logits"):
        mask_logits([window], [[0.0, 0.0]] * 2, [[0.0, 0.0]])
    with pytest.raises(InputError, match="window 0 has 2 tokens, but 1 start and 2 end logits"):
        mask_logits([window], [[0.0]], [[0.0, 0.0]])
    for bad in (np.nan, np.inf):
        with pytest.raises(InputError, match="logits of window 0 hold NaN or infinity"):
            mask_logits([window], [[0.0, bad]], [[0.0, 0.0]])
    # What stands in the padding is nobody's business.
    mask_logits([window], [[0.0, 0.0, np.nan]], [[0.0, 0.0, np.nan]])
    with pytest.raises(InputError, match="max_answer_length is 0"):
        top_spans(np.zeros(3), np.zeros(3), max_answer_length=0)
    with pytest.raises(InputError, match="count is 0"):
        top_spans(np.zeros(3), np.zeros(3), count=0)


@steady
@given(st.integers(0, 2**32 - 1))
def test_real_size_matches_a_full_search(seed: int) -> None:
    generator = np.random.default_rng(seed)
    start, end = generator.normal(size=(2, 128)).astype(np.float32).astype(np.float64)
    firsts, lasts, scores = top_spans(start, end, count=20, max_answer_length=30)
    matrix = np.where(np.tri(128, k=0).T * np.tri(128, k=29) > 0, start[:, None] + end[None], -np.inf)
    best = np.sort(matrix.ravel())[::-1][:20]
    np.testing.assert_array_equal(scores, best)
    np.testing.assert_array_equal(matrix[firsts, lasts], best)


def test_a_window_of_512_takes_far_less_than_5_ms() -> None:
    start, end = np.random.default_rng(0).normal(size=(2, 512))
    timings = []
    for _ in range(10):
        before = time.perf_counter()
        top_spans(start, end)
        timings.append(time.perf_counter() - before)
    assert min(timings) < 0.005
