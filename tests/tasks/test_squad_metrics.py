from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.tasks.squad.metrics import (
    best_official,
    best_threshold,
    evaluate,
    evaluate_v1,
    exact,
    f1,
    normalise,
    question_scores,
)
from pocketbert.tasks.squad.questions import Answer, Question

steady = settings(derandomize=True, deadline=None)


def ask(name: str, *golds: str) -> Question:
    context = " | ".join(golds) or "nothing of use"
    answers = tuple(Answer(gold, context.index(gold)) for gold in golds)
    return Question(name, "", "which?", context, answers, not golds)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Eiffel\tTower!", "eiffel tower"),
        ("an apple a day", "apple day"),
        ("Anna the Great", "anna great"),
        ("theatre", "theatre"),
        ("the", ""),
        ("U.S.A.", "usa"),
        ("state-of-the-art", "stateoftheart"),
        ("the-end", "theend"),
        ("“the end”", "“ end”"),
        ("3,000 km²", "3000 km²"),
        ("Ünlü\u00a0ÇAY", "ünlü çay"),
        ("İ", "i̇"),
        ("a\u0301 la", "́ la"),
        ("A", ""),
        (" \n ", ""),
    ],
)
def test_normalise(text: str, normal: str) -> None:
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("prediction", "gold", "same", "overlap"),
    [
        ("the Cat.", "cat", 1, 1.0),
        ("cat sat", "cat", 0, 2 / 3),
        ("cat sat mat", "cat mat hat bat", 0, 2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2)),
        ("cat cat dog", "cat", 0, 2 * (1 / 3) * 1.0 / (1 / 3 + 1.0)),
        ("cat cat", "cat cat cat", 0, 2 * 1.0 * (2 / 3) / (1.0 + 2 / 3)),
        ("dog", "cat", 0, 0.0),
        ("", "cat", 0, 0.0),
        ("cat", "", 0, 0.0),
        ("", "", 1, 1.0),
        ("the", "", 1, 1.0),
        ("the", "cat", 0, 0.0),
        ("naïve café", "Naïve Café", 1, 1.0),
        ("naive cafe", "naïve café", 0, 0.0),
        ("東京 都", "東京", 0, 2 / 3),
    ],
)
def test_one_pair_to_the_last_digit(prediction: str, gold: str, same: int, overlap: float) -> None:
    assert exact(prediction, gold) == same
    assert f1(prediction, gold) == overlap


def test_the_best_of_several_golds_counts_for_each_score_alone() -> None:
    questions = [ask("q", "red house", "the old red house on a hill", "house")]
    exacts, f1s = question_scores(questions, ["old red house on hill"])
    assert exacts.tolist() == [1.0]
    assert f1s.tolist() == [1.0]
    exacts, f1s = question_scores(questions, ["red houses"])
    assert exacts.tolist() == [0.0]
    assert f1s.tolist() == [2 * 0.5 * 0.5 / (0.5 + 0.5)]


def test_a_gold_of_articles_only_is_the_empty_text() -> None:
    assert [score.tolist() for score in question_scores([ask("q", "The")], [""])] == [[1.0], [1.0]]
    # Where another gold has words, the wordless one does not count.
    assert [score.tolist() for score in question_scores([ask("q", "The", "band")], [""])] == [[0.0], [0.0]]


QUESTIONS = [
    ask("right", "blue whale"),
    ask("partly", "in 1874"),
    ask("silent"),
    ask("fooled"),
    ask("shy", "Anna Feld"),
]
TEXTS = {"right": "The blue whale", "partly": "1874", "silent": "", "fooled": "seven", "shy": ""}
ODDS = {"right": -4.0, "partly": -1.0, "silent": 3.0, "fooled": 2.0, "shy": 2.5}


def test_the_whole_table_without_odds() -> None:
    assert evaluate(QUESTIONS, TEXTS) == {
        "exact": 100.0 * 2 / 5,
        "f1": 100.0 * (1.0 + 2 / 3 + 1.0) / 5,
        "total": 5,
        "HasAns_exact": 100.0 * 1 / 3,
        "HasAns_f1": 100.0 * (1.0 + 2 / 3) / 3,
        "HasAns_total": 3,
        "NoAns_exact": 50.0,
        "NoAns_f1": 50.0,
        "NoAns_total": 2,
    }


def test_the_whole_table_with_odds_and_a_threshold() -> None:
    scores = evaluate(QUESTIONS, TEXTS, ODDS, threshold=-2.0)
    assert scores == {
        "exact": 100.0 * 3 / 5,
        "f1": 100.0 * 3 / 5,
        "total": 5,
        "HasAns_exact": 100.0 * 1 / 3,
        "HasAns_f1": 100.0 * 1 / 3,
        "HasAns_total": 3,
        "NoAns_exact": 100.0,
        "NoAns_f1": 100.0,
        "NoAns_total": 2,
        "best_exact": 100.0 * 3 / 5,
        "best_exact_thresh": -4.0,
        "best_f1": 100.0 * (2 + 1.0 + 2 / 3) / 5,
        "best_f1_thresh": -1.0,
    }
    at_the_border = evaluate(QUESTIONS, TEXTS, ODDS, threshold=-4.0)
    assert at_the_border["HasAns_exact"] == 100.0 * 1 / 3  # only odds above the threshold are silence


def test_only_one_kind_of_question() -> None:
    assert set(evaluate(QUESTIONS[:2], TEXTS)) >= {"HasAns_f1"}
    assert not any(name.startswith("NoAns") for name in evaluate(QUESTIONS[:2], TEXTS))
    assert not any(name.startswith("HasAns") for name in evaluate(QUESTIONS[2:4], TEXTS))


def test_silence_everywhere_is_the_best_that_a_fool_can_do() -> None:
    scores = evaluate([ask("a"), ask("b", "cat")], {"a": "dog", "b": "dog"}, {"a": 1.0, "b": 2.0})
    assert (scores["best_f1"], scores["best_f1_thresh"]) == (50.0, 0.0)


def test_version_one_counts_empty_texts_as_nothing() -> None:
    questions = [ask("a", "the"), ask("b", "a red fox", "fox")]
    assert evaluate_v1(questions, {"a": "the", "b": "Fox!"}) == {"exact_match": 100.0, "f1": 50.0}
    assert evaluate_v1(questions, {"a": "", "b": "fox cub"}) == {
        "exact_match": 50.0,
        "f1": 100.0 * (2 / 3) / 2,
    }
    with pytest.raises(InputError, match=r"'n'.*`evaluate`"):
        evaluate_v1([ask("n")], {"n": ""})


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"1 of 5 questions have no prediction, the first is 'shy'"):
        evaluate(QUESTIONS, {name: text for name, text in TEXTS.items() if name != "shy"})
    with pytest.raises(InputError, match="2 of 5 questions have no null odds"):
        evaluate(QUESTIONS, TEXTS, {"right": 0.0, "silent": 0.0, "fooled": 0.0})
    with pytest.raises(InputError, match="give null_odds"):
        evaluate(QUESTIONS, TEXTS, threshold=1.0)
    with pytest.raises(InputError, match="at least one"):
        evaluate([], {})
    with pytest.raises(InputError, match="1 questions and 2 texts"):
        question_scores(QUESTIONS[:1], ["a", "b"])


rows = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from([0.0, 0.25, 1.0]),
        st.booleans(),
        st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0]),
    ),
    min_size=1,
    max_size=12,
)


@steady
@given(rows)
def test_the_official_sweep_step_by_step(sample: list[tuple[bool, float, bool, float]]) -> None:
    has_answer, raw, speaks, odds = (list(column) for column in zip(*sample, strict=True))
    running = best = float(has_answer.count(False))
    threshold = 0.0
    for place in sorted(range(len(sample)), key=lambda row: odds[row]):
        running += raw[place] if has_answer[place] else -float(speaks[place])
        if running > best:
            best, threshold = running, odds[place]
    found = best_official(np.array(raw), np.array(has_answer), np.array(speaks), np.array(odds))
    assert found == (100.0 * best / len(sample), threshold)


@steady
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
            st.sampled_from([0.0, 0.5, 1.0]),
            st.sampled_from([0.0, 1.0]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_the_best_threshold_earns_what_it_says_and_no_other_earns_more(
    sample: list[tuple[float, float, float]],
) -> None:
    no_answer, speaking, silent = (np.array(column) for column in zip(*sample, strict=True))

    def average(threshold: float) -> float:
        return float(np.where(no_answer <= threshold, speaking, silent).mean())

    threshold, best = best_threshold(no_answer, speaking, silent)
    assert 0.0 <= threshold <= 1.0
    assert math.isclose(average(threshold), best, abs_tol=1e-9)
    assert best >= max(average(other) for other in np.linspace(0.0, 1.0, 41)) - 1e-9


def test_of_equally_good_thresholds_the_middle_of_the_widest_gap_is_taken() -> None:
    no_answer = np.array([0.1, 0.2, 0.6, 0.9])
    threshold, best = best_threshold(
        no_answer, np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
    )
    assert threshold == pytest.approx(0.4)
    assert best == 1.0
