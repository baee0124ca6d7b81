"""Batches: every example once, like lengths together, the same on every run, however a step is split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.train.batches import Batches, Course

LENGTHS = np.random.default_rng(0).integers(5, 385, 2000)


def all_batches(batches: Batches, epoch: int) -> list[np.ndarray]:
    return [part for position in range(batches.steps(epoch)) for part in batches.step(epoch, position)]


@settings(deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=300),
    batch_size=st.integers(1, 9),
    per_step=st.integers(1, 5),
    max_tokens=st.one_of(st.none(), st.integers(50, 200)),
    by_length=st.booleans(),
    epoch=st.integers(0, 3),
)
def test_every_example_comes_once(
    lengths: list[int],
    batch_size: int,
    per_step: int,
    max_tokens: int | None,
    by_length: bool,
    epoch: int,
) -> None:
    batches = Batches(
        lengths,
        batch_size=batch_size,
        batches_per_step=per_step,
        max_tokens=max_tokens,
        by_length=by_length,
        seed=1,
    )
    found = all_batches(batches, epoch)
    assert sorted(np.concatenate(found)) == list(range(len(lengths)))
    assert all(0 < len(part) <= batch_size for part in found)
    assert all(len(batches.step(epoch, position)) <= per_step for position in range(batches.steps(epoch)))
    if max_tokens is not None:
        assert max(map(batches.padded, found)) <= max_tokens


def test_little_is_spent_on_padding() -> None:
    def padding(by_length: bool) -> float:
        batches = Batches(LENGTHS, batch_size=16, by_length=by_length)
        return 1 - LENGTHS.sum() / sum(map(batches.padded, all_batches(batches, 0)))

    assert padding(by_length=True) < 0.03
    assert padding(by_length=False) > 0.4


def test_epochs_differ_and_runs_do_not() -> None:
    first, again = (all_batches(Batches(LENGTHS, batch_size=16, seed=7), 0) for _ in range(2))
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    for other in (Batches(LENGTHS, batch_size=16, seed=8), Batches(LENGTHS, batch_size=16, seed=7)):
        shuffled = all_batches(other, epoch=other.seed - 6)
        assert not any(np.array_equal(one, two) for one, two in zip(first[:20], shuffled[:20], strict=True))


def test_long_and_short_steps_are_mixed() -> None:
    batches = Batches(LENGTHS, batch_size=16)
    means = [LENGTHS[part].mean() for part in all_batches(batches, 0)]
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.3


@pytest.mark.parametrize(("batch_size", "per_step"), [(4, 4), (2, 8), (8, 2)])
def test_how_a_step_is_split_never_changes_the_step(batch_size: int, per_step: int) -> None:
    whole = Batches(LENGTHS[:1003], batch_size=16, seed=2)
    split = Batches(LENGTHS[:1003], batch_size=batch_size, batches_per_step=per_step, seed=2)
    assert whole.steps(0) == split.steps(0)
    for position in range(whole.steps(0)):
        assert np.array_equal(whole.step(0, position)[0], np.concatenate(split.step(0, position)))


def test_what_cannot_be_batched_is_said() -> None:
    with pytest.raises(InputError, match="no training examples"):
        Batches([], batch_size=4)
    with pytest.raises(InputError, match="example 1 has 9 tokens, more than max_tokens_per_batch 8"):
        Batches([3, 9], batch_size=4, max_tokens=8)


def test_the_course_of_a_run() -> None:
    batches = Batches([3] * 10, batch_size=2)
    course = Course(batches, epochs=2.5, max_steps=None)
    assert course.total == 12
    assert [course.at(step) for step in (0, 4, 5, 11)] == [(0, 0), (0, 4), (1, 0), (2, 1)]
    assert [course.epoch(done) for done in (0, 1, 5, 12)] == [0.0, 0.2, 1.0, 2.4]
    assert [done for done in range(1, 13) if course.ends_epoch(done)] == [5, 10, 12]
    capped = Course(batches, epochs=3, max_steps=7)
    assert (capped.total, capped.at(6), capped.epoch(7)) == (7, (1, 1), 1.4)
    assert [done for done in range(1, 8) if capped.ends_epoch(done)] == [5, 7]
    assert Course(batches, epochs=3, max_steps=15).epoch(15) == 3.0


def test_the_course_counts_steps_that_differ_from_epoch_to_epoch() -> None:
    batches = Batches(LENGTHS[:97], batch_size=16, max_tokens=600, by_length=False, seed=3)
    course = Course(batches, epochs=4, max_steps=None)
    assert course.total == sum(batches.steps(epoch) for epoch in range(4))
    assert len({batches.steps(epoch) for epoch in range(4)}) > 1
    assert {course.at(step) for step in range(course.total)} == {
        (epoch, position) for epoch in range(4) for position in range(batches.steps(epoch))
    }
