"""The official SQuAD scores, written from their definition; names and percentages as in the official script.

Two texts are compared after *normalising*: lower case, ASCII punctuation deleted, the words a, an, the replaced by a
blank, runs of white space made one blank. `exact` asks whether the normalised texts are equal; `f1` is the harmonic
mean of precision and recall over the bag of normalised words, and where either bag is empty it asks whether both are.
With several gold answers the best one counts. The gold answer of an impossible question is the empty text.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tasks.squad.questions import Question

Floats: TypeAlias = NDArray[np.float64]
Metrics: TypeAlias = dict[str, float | int]
Value = TypeVar("Value")

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """Lower case, no punctuation, no articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact(prediction: str, gold: str) -> int:
    """1 if both texts are equal once normalised, else 0."""
    return int(normalise(prediction) == normalise(gold))


def f1(prediction: str, gold: str) -> float:
    """Harmonic mean of precision and recall over the normalised words."""
    return _overlap(normalise(prediction).split(), normalise(gold).split())


def question_scores(questions: Sequence[Question], texts: Sequence[str]) -> tuple[Floats, Floats]:
    """`exact` and `f1`, between 0 and 1, of one predicted text per question, against its best gold answer."""
    if len(questions) != len(texts):
        raise InputError(
            f"{len(questions)} questions and {len(texts)} texts were given; each needs exactly one"
        )
    exacts, f1s = np.zeros(len(texts)), np.zeros(len(texts))
    for row, (question, text) in enumerate(zip(questions, texts, strict=True)):
        prediction, golds = normalise(text), normal_golds(question)
        exacts[row] = prediction in golds
        f1s[row] = max(_overlap(prediction.split(), gold.split()) for gold in golds)
    return exacts, f1s


def normal_golds(question: Question) -> list[str]:
    """What a prediction is compared with: normalised golds that still have a word; the empty text if none has."""
    texts = [normalise(answer.text) for answer in question.answers]
    return [text for text in texts if text] or [""]


def evaluate(
    questions: Sequence[Question],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float] | None = None,
    *,
    threshold: float | None = None,
) -> Metrics:
    """The SQuAD 2.0 scores of predicted texts by question id; "" says "no answer".

    With `null_odds` (any number per question that grows with the belief in "no answer") a question whose number
    exceeds `threshold` counts as "no answer", and the scores at the best threshold are added. Without a threshold the
    texts stand as they are.
    """
    texts = _in_order(questions, predictions, "prediction")
    if threshold is not None and null_odds is None:
        raise InputError(
            f"threshold is {threshold}, but there are no null odds to compare it with; give null_odds"
        )
    raw_exact, raw_f1 = question_scores(questions, texts)
    has_answer = np.array([bool(row.answers) for row in questions], dtype=bool)
    exacts, f1s = raw_exact, raw_f1
    if null_odds is not None:
        odds = np.array(_in_order(questions, null_odds, "null odds"), dtype=np.float64)
        if threshold is not None:
            silent = odds > threshold
            exacts = np.where(silent, ~has_answer, raw_exact)
            f1s = np.where(silent, ~has_answer, raw_f1)
    scores = _averages(exacts, f1s)
    for name, rows in (("HasAns", has_answer), ("NoAns", ~has_answer)):
        if rows.any():
            scores |= {f"{name}_{key}": value for key, value in _averages(exacts[rows], f1s[rows]).items()}
    if null_odds is not None:
        speaks = np.array([bool(text) for text in texts], dtype=bool)
        for name, raw in (("exact", raw_exact), ("f1", raw_f1)):
            best, best_threshold = best_official(raw, has_answer, speaks, odds)
            scores |= {f"best_{name}": best, f"best_{name}_thresh": best_threshold}
    return scores


def evaluate_v1(questions: Sequence[Question], predictions: Mapping[str, str]) -> Metrics:
    """The SQuAD 1.1 scores, `exact_match` and `f1`; there an empty text shares no word with anything."""
    texts = _in_order(questions, predictions, "prediction")
    unanswered = [row.id for row in questions if not row.answers]
    if unanswered:
        raise InputError(
            f"question {unanswered[0]!r} has no answer, which SQuAD 1.1 does not know; score such sets with `evaluate`"
        )
    pairs = list(zip(questions, texts, strict=True))
    exacts = [max(exact(text, gold.text) for gold in row.answers) for row, text in pairs]
    f1s = [
        max(f1(text, gold.text) if normalise(text) else 0.0 for gold in row.answers) for row, text in pairs
    ]
    scores = _averages(np.array(exacts, dtype=np.float64), np.array(f1s, dtype=np.float64))
    return {"exact_match": scores["exact"], "f1": scores["f1"]}


def best_official(
    raw: Floats, has_answer: NDArray[np.bool_], speaks: NDArray[np.bool_], odds: Floats
) -> tuple[float, float]:
    """The best average in percent over all thresholds, and that threshold, by the official sweep in O(n log n).

    It starts with silence on every question (threshold 0) and lets the questions speak in the order of their odds, one
    at a time even where odds are equal, as the official script does. `best_threshold` treats equals as equals.
    """
    if not len(raw):
        raise InputError("there is no question to score; give at least one")
    order = np.argsort(odds, kind="stable")
    gains = np.where(has_answer, raw, np.where(speaks, -1.0, 0.0))[order]
    totals = np.cumsum(np.concatenate([[float(np.count_nonzero(~has_answer))], gains]))
    place = int(np.argmax(totals))
    return 100.0 * float(totals[place]) / len(raw), float(odds[order[place - 1]]) if place else 0.0


def best_threshold(no_answer: Floats, speaking: Floats, silent: Floats) -> tuple[float, float]:
    """The threshold on `no_answer` that gives the highest average score, and that average.

    A question is answered, and earns `speaking`, iff its `no_answer` is at most the threshold; else it earns `silent`.
    Between neighbouring values the average is constant: the threshold lies in the middle of the best gap, of the
    widest one where several are best. `no_answer` holds probabilities, so the outermost gaps end at 0 and 1.
    """
    if not len(no_answer):
        raise InputError("there is no question to fit a threshold on; give at least one")
    order = np.argsort(no_answer, kind="stable")
    totals = np.cumsum(np.concatenate([[silent.sum()], (speaking - silent)[order]]))
    edges = np.concatenate([[0.0], no_answer[order], [1.0]])
    gaps = np.diff(edges)
    # A gap of width zero lies between equals and cannot be chosen, except that 0 and 1 are always thresholds.
    possible = gaps > 0
    possible[-1] = True
    peak = totals[possible].max()
    best = possible & (totals >= peak - 1e-9 * max(1.0, abs(peak)))
    place = int(np.argmax(np.where(best, gaps, -1.0)))
    return float((edges[place] + edges[place + 1]) / 2), float(totals[place] / len(no_answer))


def _overlap(predicted_words: list[str], gold_words: list[str]) -> float:
    if not predicted_words or not gold_words:
        return float(predicted_words == gold_words)
    shared = sum((Counter(predicted_words) & Counter(gold_words)).values())
    if shared == 0:
        return 0.0
    precision = shared / len(predicted_words)
    recall = shared / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def _in_order(questions: Sequence[Question], values: Mapping[str, Value], what: str) -> list[Value]:
    missing = [row.id for row in questions if row.id not in values]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(questions)} questions have no {what}, the first is {missing[0]!r}; "
            f'give one for every id ("" says no answer)'
        )
    return [values[row.id] for row in questions]


def _averages(exacts: Floats, f1s: Floats) -> Metrics:
    total = len(exacts)
    if not total:
        raise InputError("there is no question to score; give at least one")
    return {
        "exact": 100.0 * sum(exacts.tolist()) / total,
        "f1": 100.0 * sum(f1s.tolist()) / total,
        "total": total,
    }
