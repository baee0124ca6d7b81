from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pocketbert.errors import InputError
from pocketbert.tasks.squad.answers import Prediction, answers, write_predictions
from pocketbert.tasks.squad.features import Feature
from pocketbert.tasks.squad.questions import Question

CONTEXT = "Anna met Otto in Bonn and Otto left"
WORDS = [(0, 4), (5, 8), (9, 13), (14, 16), (17, 21), (22, 25), (26, 30), (31, 35)]


def window(index: int, first: int, last: int, owned: list[int]) -> Feature:
    """`[CLS] ? [SEP]` and the words from `first` to `last`; word w is at position w - first + 3."""
    size = last - first + 1
    return Feature(
        question_index=index,
        input_ids=np.zeros(size + 4, dtype=np.int32),
        document_start=3,
        characters=np.array(WORDS[first : last + 1], dtype=np.int32),
        owned=np.array([word in owned for word in range(first, last + 1)]),
    )


def ask(name: str = "q") -> Question:
    return Question(name, "", "Who?", CONTEXT, (), True)


def logits(size: int, **at: float) -> np.ndarray:
    row = np.full(size, -5.0)
    for place, value in at.items():
        row[int(place[1:])] = value
    return row


def test_one_window_by_hand() -> None:
    whole = window(0, 0, 7, list(range(8)))
    # Question and special tokens score highest, to no avail.
    start = logits(12, p0=1.0, p1=50.0, p2=50.0, p5=4.0, p9=3.0, p11=50.0)
    end = logits(12, p0=0.5, p1=50.0, p2=50.0, p3=90.0, p5=2.0, p9=3.5, p11=50.0)
    (prediction,) = answers([ask()], [whole], [start], [end], n_best=3)
    best, second, third = prediction.candidates
    assert (best.text, best.start, best.end, best.score) == ("Anna", 0, 4, 85.0)
    assert (second.text, second.score) == ("Otto in Bonn and Otto", 7.5)
    assert (third.text, third.start, third.score) == ("Otto", 26, 6.5)  # the better of two places, once
    assert (prediction.null_score, prediction.null_odds) == (1.5, 1.5 - 85.0)
    (short,) = answers([ask()], [whole], [start], [end], n_best=3, max_answer_length=4)
    assert "Otto in Bonn and Otto" not in [candidate.text for candidate in short.candidates]


def test_a_text_that_occurs_twice_is_one_candidate_at_its_better_place() -> None:
    whole = window(0, 0, 7, list(range(8)))
    both = logits(12, p5=3.0, p9=4.0, p7=2.0)  # Otto, Otto, Bonn
    for n_best in (2, 20):
        (prediction,) = answers([ask()], [whole], [both], [both], n_best=n_best, max_answer_length=1)
        texts = [candidate.text for candidate in prediction.candidates]
        assert texts[:2] == ["Otto", "Bonn"]
        assert texts.count("Otto") == 1
        assert (prediction.candidates[0].start, prediction.candidates[0].score) == (26, 8.0)


def test_windows_are_merged_by_score_and_null_is_the_least() -> None:
    left, right = window(0, 0, 4, [0, 1, 2]), window(0, 2, 7, [3, 4, 5, 6, 7])
    starts = [logits(9, p0=2.0, p7=8.0), logits(10, p0=-1.0, p3=9.0, p5=7.0)]
    ends = [logits(9, p0=2.0, p7=8.0), logits(10, p0=-1.0, p3=9.0, p5=6.0)]
    (prediction,) = answers([ask()], [left, right], starts, ends)
    # "Bonn" scores 16 at the edge of the left window and "Otto" 18 at the edge of the right; neither owns its word.
    assert prediction.candidates[0].text == "Bonn"
    assert prediction.candidates[0].score == 13.0
    assert prediction.null_score == -2.0
    assert all(CONTEXT[row.start : row.end] == row.text for row in prediction.candidates)


def test_random_logits_against_a_plain_search() -> None:
    generator = np.random.default_rng(3)
    features = [window(0, 0, 4, [0, 1, 2]), window(1, 0, 7, list(range(8))), window(0, 2, 7, [3, 4, 5, 6, 7])]
    starts = [generator.normal(size=len(feature) + 2) for feature in features]  # two positions of padding
    ends = [generator.normal(size=len(feature) + 2) for feature in features]
    found = answers([ask("a"), ask("b")], features, starts, ends, n_best=5, max_answer_length=3)
    for index, prediction in enumerate(found):
        scores: dict[str, float] = {}
        for feature, start, end in zip(features, starts, ends, strict=True):
            for i in range(len(feature.characters) if feature.question_index == index else 0):
                for j in range(i, min(i + 3, len(feature.characters))):
                    if feature.owned[i]:
                        text = CONTEXT[feature.characters[i, 0] : feature.characters[j, 1]]
                        scores[text] = max(scores.get(text, -np.inf), start[3 + i] + end[3 + j])
        expected = sorted(scores.items(), key=lambda pair: -pair[1])[:5]
        assert [candidate.text for candidate in prediction.candidates] == [text for text, _ in expected]
        assert [candidate.score for candidate in prediction.candidates] == pytest.approx(
            [score for _, score in expected]
        )


def test_n_best_rows_sum_to_one_with_and_without_null() -> None:
    whole = window(0, 0, 7, list(range(8)))
    (prediction,) = answers(
        [ask()], [whole], [logits(12, p0=0.0, p3=1.0)], [logits(12, p0=0.0, p3=1.0)], n_best=2
    )
    with_null, without = prediction.nbest(), prediction.nbest(null=False)
    assert [row["text"] for row in with_null] == ["Anna", "", "Anna met"]
    assert with_null[1] == {
        "text": "",
        "probability": with_null[1]["probability"],
        "start_logit": 0.0,
        "end_logit": 0.0,
    }
    for rows in (with_null, without):
        assert sum(float(row["probability"]) for row in rows) == pytest.approx(1.0)
    assert float(with_null[0]["probability"]) / float(with_null[1]["probability"]) == pytest.approx(
        np.exp(2.0)
    )
    assert "" not in [row["text"] for row in without]


def test_the_threshold_decides() -> None:
    whole = window(0, 0, 7, list(range(8)))
    (prediction,) = answers([ask()], [whole], [logits(12, p0=3.0, p3=1.0)], [logits(12, p0=0.0, p3=1.0)])
    assert prediction.null_odds == 1.0
    assert [prediction.answer(threshold) for threshold in (0.5, 1.0, None)] == ["", "Anna", "Anna"]


def test_the_three_files(tmp_path: Path) -> None:
    whole = [window(0, 0, 7, list(range(8))), window(1, 0, 7, list(range(8)))]
    starts = [logits(12, p0=9.0, p3=1.0), logits(12, p0=0.0, p3=1.0)]
    found = answers([ask("a"), ask("b")], whole, starts, starts, n_best=2)
    write_predictions(tmp_path / "two", found)
    contents = {path.name: json.loads(path.read_text()) for path in (tmp_path / "two").iterdir()}
    assert contents["predictions.json"] == {"a": "", "b": "Anna"}
    assert contents["null_odds.json"] == {"a": 16.0, "b": -2.0}
    assert set(contents["nbest_predictions.json"]["a"][0]) == {
        "text",
        "probability",
        "start_logit",
        "end_logit",
    }
    write_predictions(tmp_path / "one", found, threshold=None)
    assert {path.name for path in (tmp_path / "one").iterdir()} == {
        "predictions.json",
        "nbest_predictions.json",
    }
    assert json.loads((tmp_path / "one" / "predictions.json").read_text()) == {"a": "Anna", "b": "Anna"}


def test_a_context_without_tokens_has_no_answer() -> None:
    empty = window(0, 0, -1, [])
    (prediction,) = answers([ask()], [empty], [np.ones(4)], [np.ones(4)])
    assert prediction == Prediction("q", (), 1.0, 1.0)
    assert (prediction.text, prediction.null_odds, prediction.answer(None)) == ("", 0.0, "")
    assert prediction.nbest(null=False) == [
        {"text": "", "probability": 1.0, "start_logit": 1.0, "end_logit": 1.0}
    ]


def test_questions_features_and_logits_must_match() -> None:
    whole = window(0, 0, 7, list(range(8)))
    row = np.zeros(12)
    with pytest.raises(InputError, match="1 features, 2 rows of start logits and 1 of end logits"):
        answers([ask()], [whole], [row, row], [row])
    with pytest.raises(InputError, match="1 of 2 questions have no feature, the first is question 1"):
        answers([ask("a"), ask("b")], [whole], [row], [row])
    with pytest.raises(InputError, match="feature 0 belongs to question 3, but there are 1 questions"):
        answers([ask()], [window(3, 0, 7, [])], [row], [row])
