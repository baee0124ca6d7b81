"""The temperature that makes scores hold: found again where it is known, harmless where there is little to learn."""

from __future__ import annotations

import numpy as np
import pytest

from pocketbert.errors import InputError
from pocketbert.tasks import temperature
from pocketbert.tasks.confidence import reliability
from pocketbert.text.label_config import chances, shares


def drawn(heat: float, *, seed: int = 0, rows: int = 4000, labels: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Honest logits made `heat` times too sure, and classes drawn from the honest ones."""
    draw = np.random.default_rng(seed)
    honest = draw.normal(0, 1.5, (rows, labels))
    classes = np.array([draw.choice(labels, p=row) for row in shares(honest)])
    return honest * heat, classes


@pytest.mark.parametrize("heat", [0.5, 1.0, 3.0])
def test_a_known_temperature_is_found_again(heat) -> None:
    logits, classes = drawn(heat)
    fitted = temperature.of_classes(logits, classes)
    assert fitted == pytest.approx(heat, rel=0.08)
    before, after = (shares(logits, value) for value in (1.0, fitted))
    right = before.argmax(axis=1) == classes
    assert (after.argmax(axis=1) == before.argmax(axis=1)).all()
    errors = [reliability(scores.max(axis=1), right).error for scores in (before, after)]
    assert errors[1] < 0.03
    assert errors[1] < errors[0] or heat == 1.0


def test_of_several_labels_each_decision_counts() -> None:
    draw = np.random.default_rng(1)
    honest = draw.normal(0, 2, (3000, 3))
    truth = (draw.random((3000, 3)) < chances(honest)).astype(np.float32)
    assert temperature.of_decisions(honest * 2.5, truth) == pytest.approx(2.5, rel=0.08)


def test_a_handful_that_is_all_right_keeps_it_finite() -> None:
    fitted = temperature.of_classes([[9.0, 0.0], [0.0, 9.0]], [0, 1])
    assert 0.3 < fitted < 2
    assert 1 < temperature.of_classes([[9.0, 0.0], [0.0, 9.0]], [1, 0]) <= 20


def test_as_many_of_both() -> None:
    with pytest.raises(InputError, match="2 rows of logits came with 1 truths"):
        temperature.of_classes([[1.0, 0.0], [0.0, 1.0]], [0])
