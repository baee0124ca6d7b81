"""Fit a reader's calibration on held-out questions.

`pocketbert.text.calibration` has the maths and is all that a reader needs at run time. Of its four numbers,

- `temperature` makes the probability of the first answer honest: over the answerable questions it minimises the log
  loss of "the first answer is right (exact match)";
- `slope` and `bias` make the probability of no answer honest: logistic regression of answerable / unanswerable on
  log Z - log W; the share of unanswerable questions in the held-out set is taken as that of the questions to come;
- `threshold` is the probability of no answer above which silence earns more by the official F1. With honest
  probabilities it follows from what an answer is worth: silence earns p, and words (1 - p) times the mean F1 of the
  first answer, g, so that p = g / (1 + g) is the border. The best threshold for the held-out questions themselves is
  no better elsewhere, for it follows their noise.

Each of the first three has a Gaussian prior of standard deviation 1 round its neutral value, worth one observation: it
vanishes among hundreds of questions and keeps the numbers finite on a handful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import InputError
from pocketbert.tasks.squad.answers import places_by_question
from pocketbert.tasks.squad.features import Feature
from pocketbert.tasks.squad.metrics import question_scores
from pocketbert.tasks.squad.questions import Question
from pocketbert.tasks.temperature import least
from pocketbert.text.calibration import Calibration, sigmoid, spans_by_text
from pocketbert.text.spans import SpanLogits, log_mass, mask_logits

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

_TEMPERATURES = (0.1, 10.0)
_LEAST_SLOPE = 1e-3


def fit(
    questions: Sequence[Question],
    features: Sequence[Feature],
    start_logits: Sequence[ArrayLike],
    end_logits: Sequence[ArrayLike],
    *,
    window: int,
    overlap: int,
    max_answer_length: int = 30,
) -> Calibration:
    """Fit on questions that the reader was not trained on, read in windows of `window` tokens.

    Without an unanswerable question there is nothing to learn silence from: slope, bias and threshold then stay such
    that an answer is always given.
    """
    evidence = _gather(questions, features, start_logits, end_logits, max_answer_length)
    if not evidence.has_answer.any():
        raise InputError(
            f"none of the {len(questions)} questions has an answer; a calibration needs answerable questions, and "
            "unanswerable ones if the reader is to learn when to be silent"
        )
    temperature = least(lambda value: _answer_loss(evidence, value), *_TEMPERATURES)
    if evidence.has_answer.all():
        return Calibration(window, overlap, max_answer_length, temperature, threshold=1.0)
    mean_mass = _mean_mass(evidence, temperature)
    slope, bias = _logistic(mean_mass, evidence.has_answer)
    _, best = _first_answers(evidence, temperature)
    _, f1s = evidence.scores(best)
    worth = float(f1s[evidence.has_answer].mean())
    threshold = worth / (1.0 + worth)
    return Calibration(window, overlap, max_answer_length, temperature, slope, bias, threshold)


@dataclass(frozen=True)
class _Evidence:
    """All windows of all questions in a row, and all texts that could be answers in a row.

    Q questions, W windows, K kept spans, G texts.
    """

    questions: Sequence[Question]
    has_answer: NDArray[np.bool_]  # (Q,)
    windows: Integers  # (Q,) how many each question has
    logits: SpanLogits  # (W, S)
    max_answer_length: int
    texts: list[str]  # G
    question_of_text: Integers  # (G,)
    text_of_span: Integers  # (K,)
    log_odds: Floats  # (K,)
    known: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Scores of texts that have been asked for."""

    def scores(self, places: Integers) -> tuple[Floats, Floats]:
        """`exact` and `f1` of one text per question, by its place; 0 where the place is -1, for no text.

        Scoring is slow and few texts are ever first, so it is done when asked for, once.
        """
        unknown = [place for place in places.tolist() if place >= 0 and place not in self.known]
        owners = [self.questions[index] for index in self.question_of_text[unknown].tolist()]
        scored = question_scores(owners, [self.texts[place] for place in unknown])
        self.known.update(
            zip(unknown, zip(*(column.tolist() for column in scored), strict=True), strict=True)
        )
        rows = np.array([self.known.get(place, (0.0, 0.0)) for place in places.tolist()])
        return rows[:, 0], rows[:, 1]


def _gather(
    questions: Sequence[Question],
    features: Sequence[Feature],
    start_logits: Sequence[ArrayLike],
    end_logits: Sequence[ArrayLike],
    max_answer_length: int,
) -> _Evidence:
    places = places_by_question(len(questions), features, start_logits, end_logits)
    order = [row for rows in places for row in rows]
    logits = mask_logits(
        [features[row] for row in order],
        [start_logits[row] for row in order],
        [end_logits[row] for row in order],
    )
    texts: list[str] = []
    question_of_text: list[int] = []
    text_of_span: list[int] = []
    log_odds: list[float] = []
    first = 0
    for index, (question, rows) in enumerate(zip(questions, places, strict=True)):
        part = slice(first, first + len(rows))
        first += len(rows)
        own = SpanLogits(logits.start[part], logits.end[part], logits.null[part])
        windows = [features[row] for row in rows]
        gathered = spans_by_text(question.context, windows, own, max_answer_length=max_answer_length)
        for text, (odds, _, _) in gathered.items():
            text_of_span += [len(texts)] * len(odds)
            log_odds += odds
            texts.append(text)
            question_of_text.append(index)
    return _Evidence(
        questions=questions,
        has_answer=np.array([bool(question.answers) for question in questions], dtype=bool),
        windows=np.array([len(rows) for rows in places], dtype=np.int64),
        logits=logits,
        max_answer_length=max_answer_length,
        texts=texts,
        question_of_text=np.array(question_of_text, dtype=np.int64),
        text_of_span=np.array(text_of_span, dtype=np.int64),
        log_odds=np.array(log_odds, dtype=np.float64),
    )


def _log_total(evidence: _Evidence, temperature: float) -> Floats:
    """The log of Z for each question."""
    mass = log_mass(evidence.logits, temperature=temperature, max_answer_length=evidence.max_answer_length)
    first = np.concatenate([[0], np.cumsum(evidence.windows)[:-1]])
    return np.asarray(np.logaddexp.reduceat(mass, first), dtype=np.float64)  # (Q,)


def _mean_mass(evidence: _Evidence, temperature: float) -> Floats:
    """What answerability is judged by, log Z - log W; a document without any span gets the least of the others."""
    mean_mass = _log_total(evidence, temperature) - np.log(evidence.windows)
    empty = np.isinf(mean_mass)
    return np.where(empty, mean_mass[~empty].min(initial=0.0), mean_mass)  # (Q,)


def _first_answers(evidence: _Evidence, temperature: float) -> tuple[Floats, Integers]:
    """Of each question the share of its likeliest text among all answers, and that text's place; (0, -1) if none."""
    total = _log_total(evidence, temperature)[evidence.question_of_text]
    weights = np.exp(evidence.log_odds / temperature - total[evidence.text_of_span])
    shares = np.bincount(evidence.text_of_span, weights=weights, minlength=len(total))
    # Best last, and of equals the earliest last, so that what is written last into `best` is the first answer.
    order = np.lexsort((-np.arange(len(shares)), shares))
    best = np.full(len(evidence.has_answer), -1, dtype=np.int64)
    best[evidence.question_of_text[order]] = order
    return np.append(shares, 0.0)[best], best


def _answer_loss(evidence: _Evidence, temperature: float) -> float:
    share, best = _first_answers(evidence, temperature)
    rows = evidence.has_answer & (best >= 0)
    exacts, _ = evidence.scores(np.where(rows, best, -1))
    right = exacts[rows] > 0
    share = np.clip(share[rows], 1e-9, 1.0 - 1e-9)
    return float(-np.log(np.where(right, share, 1.0 - share)).sum() + np.log(temperature) ** 2 / 2)


def _logistic(values: Floats, truth: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and bias of sigmoid(slope * value - bias) by Newton's method on a convex loss; the slope stays positive."""
    design = np.stack([values, -np.ones_like(values)], axis=1)  # (Q, 2)
    neutral = np.array([1.0, 0.0])
    weights = neutral.copy()

    def loss(candidate: Floats) -> float:
        scores = design @ candidate
        return float(
            np.logaddexp(0.0, np.where(truth, -scores, scores)).sum() + ((candidate - neutral) ** 2).sum() / 2
        )

    for _ in range(100):
        chance = sigmoid(design @ weights)
        gradient = design.T @ (chance - truth) + (weights - neutral)
        curvature = (design * (chance * (1.0 - chance))[:, None]).T @ design + np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-8 and loss(weights - size * step) > loss(weights):
            size /= 2  # far from the minimum a full step may overshoot
        weights = weights - size * step
        if np.abs(step).max() < 1e-10:
            break
    if weights[0] <= _LEAST_SLOPE:
        # Odds that say nothing, or the opposite of the truth: all that is left is the share of answers.
        return _LEAST_SLOPE, float(-np.log(truth.sum() / (~truth).sum()))
    return float(weights[0]), float(weights[1])
