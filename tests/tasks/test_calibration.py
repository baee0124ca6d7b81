from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import ConfigError, InputError
from pocketbert.tasks.calibration import fit
from pocketbert.tasks.squad.features import Feature
from pocketbert.tasks.squad.questions import Answer, Question
from pocketbert.tasks.trust import Trust, read_all, trust
from pocketbert.text.calibration import Calibration

steady = settings(derandomize=True, deadline=None)

SIZE = 8
WORDS = [f"w{place}" for place in range(SIZE)]
CONTEXT = " ".join(WORDS)
OFFSETS = np.array([(3 * place, 3 * place + 2) for place in range(SIZE)], dtype=np.int32)
ONE_WORD = Calibration(max_answer_length=1)


def window(index: int = 0, owned: slice = slice(None)) -> Feature:
    """`[CLS] [SEP]` and the eight words of the context."""
    mask = np.zeros(SIZE, dtype=bool)
    mask[owned] = True
    return Feature(index, np.zeros(SIZE + 3, dtype=np.int32), 2, OFFSETS, mask)


def row(null: float, words: np.ndarray) -> np.ndarray:
    return np.concatenate([[null, 99.0], words, [99.0]])


def softmax(values: np.ndarray) -> np.ndarray:
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def test_one_window_and_neutral_numbers_give_the_readers_own_softmax() -> None:
    generator = np.random.default_rng(0)
    start, end = row(0.7, generator.normal(size=SIZE)), row(-0.2, generator.normal(size=SIZE))
    reading = Calibration(max_answer_length=3).apply(CONTEXT, [window()], [start], [end], count=100)
    spans = [(i, j) for i in range(SIZE) for j in range(i, min(i + 3, SIZE))]
    chances = softmax(np.array([0.5, *(start[2 + i] + end[2 + j] for i, j in spans)]))
    expected = {CONTEXT[3 * i : 3 * j + 2]: chance for (i, j), chance in zip(spans, chances[1:], strict=True)}
    assert reading.no_answer == pytest.approx(chances[0])
    assert {answer.text: answer.probability for answer in reading.answers} == pytest.approx(expected)
    assert all(CONTEXT[answer.start : answer.end] == answer.text for answer in reading.answers)
    probabilities = [answer.probability for answer in reading.answers]
    assert probabilities == sorted(probabilities, reverse=True)


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[Feature], list[np.ndarray], list[np.ndarray]]:
    count = draw(st.integers(1, 4))
    numbers = st.lists(st.floats(-30, 30), min_size=SIZE + 1, max_size=SIZE + 1)
    rows = [[np.array(draw(numbers)) for _ in range(2)] for _ in range(count)]
    starts, ends = ([row(pair[side][0], pair[side][1:]) for pair in rows] for side in (0, 1))
    return [window() for _ in range(count)], starts, ends


calibrations = st.builds(
    Calibration,
    max_answer_length=st.integers(1, 10),
    temperature=st.floats(0.2, 5),
    slope=st.floats(0.1, 3),
    bias=st.floats(-5, 5),
)


@steady
@given(documents(), calibrations)
def test_scores_are_probabilities(document, calibration: Calibration) -> None:
    reading = calibration.apply(CONTEXT, *document, count=1000)
    total = sum(answer.probability for answer in reading.answers)
    assert total + reading.no_answer == pytest.approx(1.0)  # fewer spans than are kept: nothing is left out
    assert 0 <= reading.confidence <= 1
    assert len({answer.text for answer in reading.answers}) == len(reading.answers)


@steady
@given(documents(), calibrations, st.floats(-20, 20))
def test_a_constant_on_all_logits_of_a_window_changes_nothing(
    document, calibration: Calibration, shift: float
) -> None:
    windows, starts, ends = document
    plain = calibration.apply(CONTEXT, windows, starts, ends)
    moved = calibration.apply(CONTEXT, windows, [starts[0] + shift, *starts[1:]], ends)
    assert moved.no_answer == pytest.approx(plain.no_answer, abs=1e-9)
    assert moved.confidence == pytest.approx(plain.confidence, abs=1e-9)


@steady
@given(documents(), calibrations, st.integers(2, 5))
def test_reading_everything_again_changes_nothing(document, calibration: Calibration, times: int) -> None:
    windows, starts, ends = document
    once = calibration.apply(CONTEXT, windows, starts, ends)
    often = calibration.apply(CONTEXT, windows * times, starts * times, ends * times)
    assert often.no_answer == pytest.approx(once.no_answer, abs=1e-9)
    np.testing.assert_allclose(
        [answer.probability for answer in often.answers],
        [answer.probability for answer in once.answers],
        atol=1e-9,
    )


def test_no_answer_needs_every_window() -> None:
    quiet, loud = row(5.0, np.zeros(SIZE)), row(-5.0, np.eye(SIZE)[3] * 10)
    silent = ONE_WORD.apply(CONTEXT, [window()] * 4, [quiet] * 4, [quiet] * 4)
    assert not silent.found
    assert silent.confidence == silent.no_answer > 0.99
    reading = ONE_WORD.apply(CONTEXT, [window()] * 4, [quiet] * 3 + [loud], [quiet] * 3 + [loud])
    assert reading.found
    assert (reading.answers[0].text, reading.answers[0].start) == ("w3", 9)
    assert reading.confidence == reading.answers[0].probability > 0.99


def test_many_wavering_windows_do_not_add_up_to_an_answer() -> None:
    wavering = row(2.0, np.zeros(SIZE))
    one, hundred = (ONE_WORD.apply(CONTEXT, [window()] * n, [wavering] * n, [wavering] * n) for n in (1, 100))
    assert one.no_answer == pytest.approx(hundred.no_answer)
    assert one.no_answer > 0.8


def test_a_score_does_not_depend_on_how_many_are_asked_for() -> None:
    generator = np.random.default_rng(5)
    rows = [row(0.0, generator.normal(size=SIZE)) for _ in range(3)]
    one, all_of_them = (Calibration().apply(CONTEXT, [window()] * 3, rows, rows, count=n) for n in (1, 1000))
    assert len(one.answers) == 1
    assert one.answers[0] == all_of_them.answers[0]
    assert one.no_answer == all_of_them.no_answer


def test_the_threshold_is_on_the_probability_of_no_answer() -> None:
    logits = row(0.0, np.full(SIZE, -10.0))
    logits[2] = 0.0  # one word against the null: even odds
    reading = ONE_WORD.apply(CONTEXT, [window()], [logits], [logits])
    assert reading.no_answer == pytest.approx(0.5, abs=1e-3)
    for threshold, found in ((0.45, False), (reading.no_answer, True), (0.0, False), (1.0, True)):
        assert (
            replace(ONE_WORD, threshold=threshold).apply(CONTEXT, [window()], [logits], [logits]).found
            is found
        )


def test_an_empty_document_is_silence() -> None:
    empty = Feature(0, np.zeros(3, dtype=np.int32), 2, OFFSETS[:0], np.zeros(0, dtype=bool))
    reading = replace(ONE_WORD, threshold=1.0).apply("", [empty], [np.zeros(3)], [np.zeros(3)])
    assert (reading.answers, reading.no_answer, reading.found, reading.confidence) == ((), 1.0, False, 1.0)


def test_settings_are_kept_in_the_model_folder(tmp_path: Path) -> None:
    calibration = Calibration(256, 64, 20, 1.7, 0.6, -0.3, 0.42)
    assert calibration.save(tmp_path / "model").name == "qa_config.json"
    assert Calibration.load(tmp_path / "model") == calibration
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["qa_config.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"temperature": "warm"}, "temperature is 'warm'; it must be a finite number"),
        ({"slope": -1.0}, "slope is -1.0; both must be above 0"),
        ({"bias": float("nan")}, "bias is nan"),
        ({"threshold": 1.5}, "threshold is 1.5; it must lie between 0 and 1"),
        ({"window": 0}, "window is 0; it must be a whole number from 1 up"),
        ({"overlap": -1}, "overlap is -1; it must be a whole number from 0 up"),
        ({"max_answer_length": True}, "max_answer_length is True"),
        ({"colour": "red"}, "colour; it must have exactly window, overlap"),
    ],
)
def test_malformed_settings_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = Calibration().save(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ConfigError, match=message) as caught:
        Calibration.load(tmp_path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"{}"])
def test_a_broken_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "qa_config.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"qa_config\.json"):
        Calibration.load(tmp_path)
    with pytest.raises(ConfigError, match="there is no such file"):
        Calibration.load(tmp_path / "elsewhere")


TRUTH = Calibration(max_answer_length=1, temperature=2.5, slope=0.6, bias=1.0)


def world(count: int, seed: int, *, answers: float | None = None) -> tuple[list[Question], list, list, list]:
    """Questions whose gold answers are drawn from what TRUTH says of random logits: TRUTH is calibrated by design."""
    generator = np.random.default_rng(seed)
    questions, features, starts, ends = [], [], [], []
    for index in range(count):
        windows = int(generator.integers(1, 4))
        parts = [window(index, slice(n, None, windows)) for n in range(windows)]
        rows = [row(float(generator.normal(1, 3)), generator.normal(0, 3, SIZE)) for _ in range(windows)]
        reading = TRUTH.apply(CONTEXT, parts, rows, rows)
        chances = np.array([reading.no_answer, *(answer.probability for answer in reading.answers)])
        if answers is not None:
            chances[1:] *= answers / chances[1:].sum()
            chances[0] = 1.0 - answers
        drawn = int(generator.choice(len(chances), p=chances / chances.sum()))
        gold = (
            () if drawn == 0 else (Answer(reading.answers[drawn - 1].text, reading.answers[drawn - 1].start),)
        )
        questions.append(Question(str(index), "", "?", CONTEXT, gold, not gold))
        features += parts
        starts += rows
        ends += rows
    return questions, features, starts, ends


def measured(calibration: Calibration, data: tuple[list[Question], list, list, list]) -> Trust:
    return trust(data[0], read_all(calibration, *data))


def test_fitting_finds_the_numbers_that_made_the_data() -> None:
    held_out, fresh = world(1500, seed=1), world(1500, seed=2)
    fitted = fit(*held_out, window=128, overlap=32, max_answer_length=1)
    assert (fitted.window, fitted.overlap, fitted.max_answer_length) == (128, 32, 1)
    assert fitted.temperature == pytest.approx(TRUTH.temperature, rel=0.15)
    assert fitted.slope == pytest.approx(TRUTH.slope, rel=0.15)
    assert fitted.bias == pytest.approx(TRUTH.bias, abs=0.3)
    before, after = measured(ONE_WORD, fresh), measured(fitted, fresh)
    assert after.reliability.error < 0.05 < before.reliability.error
    assert after.no_answer_reliability.error < 0.05 < before.no_answer_reliability.error
    assert after.metrics["f1"] > before.metrics["f1"]
    assert after.curve.area < before.curve.area


def test_the_threshold_is_nearly_the_best_for_questions_to_come() -> None:
    fresh = world(2000, seed=5)
    for seed in (3, 6):
        fitted = fit(*world(300, seed=seed), window=128, overlap=32, max_answer_length=1)
        found = measured(fitted, fresh).metrics
        assert found["f1"] > found["best_f1"] - 1.0
        for shift in (-0.3, 0.3):
            moved = measured(replace(fitted, threshold=fitted.threshold + shift), fresh).metrics
            assert moved["f1"] < found["f1"] - 1.0


def test_without_unanswerable_questions_an_answer_is_always_given() -> None:
    held_out = world(300, seed=4, answers=1.0)
    fitted = fit(*held_out, window=128, overlap=32, max_answer_length=1)
    assert (fitted.slope, fitted.bias, fitted.threshold) == (1.0, 0.0, 1.0)
    assert fitted.temperature == pytest.approx(TRUTH.temperature, rel=0.3)
    assert all(reading.found for reading in read_all(fitted, *held_out))


def test_what_cannot_be_fitted() -> None:
    with pytest.raises(InputError, match="none of the 5 questions has an answer"):
        fit(*world(5, seed=5, answers=0.0), window=128, overlap=32)


def test_a_handful_of_questions_gives_finite_numbers() -> None:
    questions, features, starts, ends = world(2, seed=6, answers=1.0)
    silent = Question("none", "", "?", CONTEXT, (), True)
    empty = Feature(2, np.zeros(3, dtype=np.int32), 2, OFFSETS[:0], np.zeros(0, dtype=bool))
    null = row(40.0, np.zeros(SIZE))
    for extra in ([window(2)], [empty]):
        fitted = fit(
            [*questions, silent], [*features, *extra], [*starts, null], [*ends, null], window=128, overlap=32
        )
        assert 0.05 < fitted.temperature < 20
        assert 0 < fitted.slope < 20
        assert abs(fitted.bias) < 20


def test_odds_that_mislead_are_given_next_to_no_weight() -> None:
    questions, features, starts, ends = [], [], [], []
    for index in range(40):
        good = index % 4 == 0
        gold = () if good else (Answer("w0", 0),)
        questions.append(Question(str(index), "", "?", CONTEXT, gold, good))
        features.append(window(index))
        starts.append(row(-5.0 if good else 5.0, np.zeros(SIZE)))  # sure where it should not be
        ends.append(row(0.0, np.zeros(SIZE)))
    fitted = fit(questions, features, starts, ends, window=128, overlap=32)
    readings = read_all(fitted, questions, features, starts, ends)
    assert [reading.no_answer for reading in readings] == pytest.approx([0.25] * 40, abs=0.01)


def test_the_summary_names_every_figure() -> None:
    data = world(60, seed=7)
    summary = measured(TRUTH, data).summary()
    assert {"exact", "f1", "HasAns_f1", "NoAns_f1", "best_f1", "best_f1_thresh"} <= set(summary)
    assert {"answer_f1", "no_answer_f1", "expected_calibration_error", "area_under_risk_coverage"} <= set(
        summary
    )
    assert json.loads(json.dumps(summary)) == summary
