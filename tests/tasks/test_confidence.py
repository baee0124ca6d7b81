from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.tasks.confidence import answerability, expected_calibration_error, reliability, risk_coverage
from pocketbert.tasks.plots import plot_reliability, plot_risk_coverage

steady = settings(derandomize=True, deadline=None)


def test_bins_by_hand() -> None:
    found = reliability([0.0, 0.4, 0.5, 0.9, 1.0], [0, 1, 0, 1, 1], bins=2)
    assert found.count.tolist() == [2, 3]
    assert found.confidence.tolist() == pytest.approx([0.2, 0.8])
    assert found.accuracy.tolist() == pytest.approx([0.5, 2 / 3])
    assert found.error == pytest.approx(0.4 * 0.3 + 0.6 * (0.8 - 2 / 3))


def test_the_extremes_of_calibration() -> None:
    assert expected_calibration_error([1.0, 1.0, 0.0], [1, 1, 0]) == 0.0
    assert expected_calibration_error([1.0, 0.0], [0, 1]) == 1.0
    assert np.isnan(reliability([0.99], [1], bins=3).accuracy[:2]).all()


def test_honest_scores_have_next_to_no_error() -> None:
    generator = np.random.default_rng(0)
    confidence = generator.random(50_000)
    correct = generator.random(50_000) < confidence
    assert expected_calibration_error(confidence, correct) < 0.02
    assert expected_calibration_error(confidence**3, correct) > 0.1


def test_risk_by_hand() -> None:
    curve = risk_coverage([0.9, 0.1, 0.5, 0.7], [0, 1, 1, 0])
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.risk.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 2])
    assert curve.area == pytest.approx((1 / 3 + 1 / 2) / 4)


def test_blind_scores_have_the_overall_risk_everywhere() -> None:
    curve = risk_coverage([0.5] * 4, [0, 0, 1, 1])
    assert curve.risk.tolist() == [0.5] * 4
    assert curve.area == 0.5


@steady
@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.7]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1),
    st.randoms(),
)
def test_the_order_of_questions_does_not_matter(pairs: list[tuple[float, float]], random: object) -> None:
    shuffled = pairs.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (risk_coverage(*zip(*rows, strict=True)) for rows in (pairs, shuffled))
    np.testing.assert_allclose(one.risk, other.risk, atol=1e-12)
    assert one.risk[-1] == pytest.approx(np.mean([loss for _, loss in pairs]))


def test_the_decision_by_hand() -> None:
    found = answerability([1, 1, 1, 0, 0], [1, 0, 1, 1, 0])
    assert found == {
        "answer_precision": pytest.approx(100 * 2 / 3),
        "answer_recall": pytest.approx(100 * 2 / 3),
        "answer_f1": pytest.approx(100 * 2 / 3),
        "no_answer_precision": pytest.approx(50.0),
        "no_answer_recall": pytest.approx(50.0),
        "no_answer_f1": pytest.approx(50.0),
    }
    assert set(answerability([1, 1], [1, 1]).values()) == {100.0, 0.0}


def test_wrong_rows_are_refused() -> None:
    with pytest.raises(InputError, match=r"shapes \(2,\) and \(1,\)"):
        reliability([0.1, 0.2], [1])
    with pytest.raises(InputError, match="at least one"):
        risk_coverage([], [])
    with pytest.raises(InputError, match=r"a confidence is 1\.5; it must lie between 0 and 1"):
        reliability([0.5, 1.5], [1, 1])
    with pytest.raises(InputError, match="bins is 0"):
        reliability([0.5], [1], bins=0)


def test_the_plots_are_pictures(tmp_path) -> None:
    generator = np.random.default_rng(0)
    confidence = generator.random(200)
    correct = generator.random(200) < confidence
    plot_reliability(tmp_path / "new" / "reliability.png", reliability(confidence, correct))
    plot_risk_coverage(tmp_path / "risk.png", {"reader": risk_coverage(confidence, ~correct)})
    for name in ("new/reliability.png", "risk.png"):
        content = (tmp_path / name).read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(content) > 5_000
