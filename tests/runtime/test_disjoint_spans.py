"""The best spans that share no token, against a search by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.text.spans import disjoint_spans, top_spans
from span_rows import rows


def brute(start: np.ndarray, end: np.ndarray, length: int, count: int) -> list[tuple[float, int, int]]:
    pairs = itertools.product(range(len(start)), range(len(end)))
    spans = sorted((-(start[i] + end[j]), i, j) for i, j in pairs if i <= j < i + length)
    chosen: list[tuple[float, int, int]] = []
    for score, i, j in spans:
        if score < np.inf and all(j < left or right < i for _, left, right in chosen) and len(chosen) < count:
            chosen.append((-score, i, j))
    return chosen


@given(rows(), st.integers(1, 14), st.integers(1, 6))
def test_disjoint_spans_are_the_greedy_choice(
    row: tuple[np.ndarray, np.ndarray], length: int, count: int
) -> None:
    firsts, lasts, scores = disjoint_spans(*row, count=count, max_answer_length=length)
    given = list(zip(scores.tolist(), firsts.tolist(), lasts.tolist(), strict=True))
    assert given == brute(*row, length, count)


def test_the_first_is_the_best_span() -> None:
    start, end = np.random.default_rng(0).normal(size=(2, 384))
    apart, best = disjoint_spans(start, end, count=10), top_spans(start, end, count=1)
    assert [column[0] for column in apart] == [column[0] for column in best]
    assert len(apart[0]) == 10


def test_limits_are_checked() -> None:
    with pytest.raises(InputError, match="count is 0"):
        disjoint_spans(np.zeros(3), np.zeros(3), count=0)
