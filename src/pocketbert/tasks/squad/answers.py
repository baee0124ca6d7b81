"""From logits to predictions the official way: n-best lists, null odds, and the three files that scripts expect.

Google's post-processing scores a span by start + end logit and takes the best over all windows; the null score is
the least sum of the two logits of [CLS] over the windows; "no answer" is given iff null - best exceeds a threshold. A
span starts at a token to which its window gives the most context. Where that script pairs the 20 best starts with the
20 best ends, all pairs within the length limit are searched here, and texts are slices of the context, never rebuilt
from pieces. For scores that are probabilities over the whole document see `pocketbert.text.calibration`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from pocketbert.errors import InputError
from pocketbert.tasks.squad.features import Feature
from pocketbert.tasks.squad.questions import Question
from pocketbert.text.spans import mask_logits, top_spans


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span of the context, `context[start:end] == text`, and the two logits that speak for it."""

    text: str
    start: int
    end: int
    start_logit: float
    end_logit: float

    @property
    def score(self) -> float:
        return self.start_logit + self.end_logit


@dataclass(frozen=True, slots=True)
class Prediction:
    """All that a reader says on one question: its candidates, best first and each text once, and its null logits."""

    id: str
    candidates: tuple[Candidate, ...]
    null_start_logit: float
    null_end_logit: float

    @property
    def text(self) -> str:
        """The best answer, whatever the null score; empty only if the context holds no token."""
        return self.candidates[0].text if self.candidates else ""

    @property
    def null_score(self) -> float:
        return self.null_start_logit + self.null_end_logit

    @property
    def null_odds(self) -> float:
        """Null score minus best score: the larger, the likelier there is no answer; 0 if there is no candidate."""
        return self.null_score - self.candidates[0].score if self.candidates else 0.0

    def answer(self, threshold: float | None) -> str:
        """The text to give: empty iff the null odds exceed the threshold; None never abstains."""
        return "" if threshold is not None and self.null_odds > threshold else self.text

    def nbest(self, *, null: bool = True) -> list[dict[str, str | float]]:
        """The rows of the n-best file, with a softmax over their scores; `null` adds "no answer" as one of them."""
        rows = [(row.text, row.start_logit, row.end_logit) for row in self.candidates]
        if null or not rows:
            rows.append(("", self.null_start_logit, self.null_end_logit))
        rows.sort(key=lambda row: -(row[1] + row[2]))
        scores = np.array([start + end for _, start, end in rows])
        weights = np.exp(scores - scores.max())
        return [
            {"text": text, "probability": float(weight), "start_logit": start, "end_logit": end}
            for (text, start, end), weight in zip(rows, weights / weights.sum(), strict=True)
        ]


def answers(
    questions: Sequence[Question],
    features: Sequence[Feature],
    start_logits: Sequence[ArrayLike],
    end_logits: Sequence[ArrayLike],
    *,
    n_best: int = 20,
    max_answer_length: int = 30,
) -> list[Prediction]:
    """Read the logits of every window into one prediction per question, in the order of the questions."""
    places = places_by_question(len(questions), features, start_logits, end_logits)
    predictions = []
    for question, rows in zip(questions, places, strict=True):
        windows = [features[row] for row in rows]
        starts = [np.asarray(start_logits[row], dtype=np.float64) for row in rows]
        ends = [np.asarray(end_logits[row], dtype=np.float64) for row in rows]
        logits = mask_logits(windows, starts, ends)
        silent = int(np.argmin(logits.null))
        found: list[tuple[float, int, int, int]] = []
        for window in range(len(rows)):
            # Texts that occur several times are taken once: look at more spans than texts are wanted.
            firsts, lasts, scores = top_spans(
                logits.start[window],
                logits.end[window],
                count=3 * n_best,
                max_answer_length=max_answer_length,
            )
            spans = zip(scores.tolist(), firsts.tolist(), lasts.tolist(), strict=True)
            found += ((score, window, first, last) for score, first, last in spans)
        found.sort(key=lambda span: -span[0])
        candidates: dict[str, Candidate] = {}
        for _, window, first, last in found:
            start, end = windows[window].characters_of(first, last)
            text = question.context[start:end]
            if text.strip() and text not in candidates:
                logit_pair = float(starts[window][first]), float(ends[window][last])
                candidates[text] = Candidate(text, start, end, *logit_pair)
                if len(candidates) == n_best:
                    break
        place = windows[silent].null
        null = float(starts[silent][place]), float(ends[silent][place])
        predictions.append(Prediction(question.id, tuple(candidates.values()), *null))
    return predictions


def places_by_question(
    count: int,
    features: Sequence[Feature],
    start_logits: Sequence[ArrayLike],
    end_logits: Sequence[ArrayLike],
) -> list[list[int]]:
    """For each question the places of its windows in `features`; every question must have one."""
    if not len(features) == len(start_logits) == len(end_logits):
        raise InputError(
            f"{len(features)} features, {len(start_logits)} rows of start logits and {len(end_logits)} of end logits "
            "were given; each feature needs one row of both, in the same order"
        )
    places: list[list[int]] = [[] for _ in range(count)]
    for place, feature in enumerate(features):
        if not 0 <= feature.question_index < count:
            raise InputError(
                f"feature {place} belongs to question {feature.question_index}, but there are {count} questions; "
                "give the questions that the features were made from"
            )
        places[feature.question_index].append(place)
    silent = [index for index, rows in enumerate(places) if not rows]
    if silent:
        raise InputError(
            f"{len(silent)} of {count} questions have no feature, the first is question {silent[0]}; "
            "give the features of all questions"
        )
    return places


def write_predictions(
    folder: str | os.PathLike[str], predictions: Iterable[Prediction], *, threshold: float | None = 0.0
) -> None:
    """Write `predictions.json`, `nbest_predictions.json` and, unless `threshold` is None, `null_odds.json`.

    A threshold of None is SQuAD 1.1, where every question has an answer.
    """
    rows = list(predictions)
    null = threshold is not None
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    _write(target / "predictions.json", {row.id: row.answer(threshold) for row in rows})
    _write(target / "nbest_predictions.json", {row.id: row.nbest(null=null) for row in rows})
    if null:
        _write(target / "null_odds.json", {row.id: row.null_odds for row in rows})


def _write(path: Path, values: Mapping[str, object]) -> None:
    path.write_text(json.dumps(values, indent=4) + "\n", encoding="utf-8")
