"""Ragged batches: every window once, and next to no padding."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketbert.runtime.batches import TOKENS, WASTE, batches


def padding(lengths: list[int], rows: list[int]) -> float:
    size = len(rows) * max(lengths[row] for row in rows)
    return 1 - sum(lengths[row] for row in rows) / size


@given(st.lists(st.integers(5, 512), max_size=200))
def test_every_window_is_in_one_batch_that_pads_little(lengths: list[int]) -> None:
    found = batches(lengths)
    assert sorted(place for rows in found for place in rows) == list(range(len(lengths)))
    for rows in found:
        assert padding(lengths, rows) <= WASTE + 1e-9
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= TOKENS


def test_batches_are_full_where_lengths_are_alike() -> None:
    assert [len(rows) for rows in batches([128] * 10)] == [4, 4, 2]
    assert [len(rows) for rows in batches([384] * 3)] == [1, 1, 1]
    assert [len(rows) for rows in batches([64] * 24)] == [8, 8, 8]


@pytest.mark.parametrize("waste", [0.0, 0.02, 0.1])
def test_padding_of_paragraphs_as_they_come(waste: float) -> None:
    """Lengths as paragraphs have them: a padded batch of eight in the order of coming would be half empty."""
    generator = random.Random(0)
    lengths = [min(384, max(20, round(generator.lognormvariate(4.9, 0.5)))) for _ in range(256)]
    plain = [list(range(start, start + 8)) for start in range(0, 256, 8)]
    assert sum(padding(lengths, rows) for rows in plain) / len(plain) > 0.35
    found = batches(lengths, waste=waste)
    assert max(padding(lengths, rows) for rows in found) <= waste + 1e-9
    if waste:
        assert len(found) < 130
