"""SQuAD: read its files, cut questions into windows, turn logits into answers, score them officially."""

from __future__ import annotations

from pocketbert.tasks.squad.answers import Candidate, Prediction, answers, write_predictions
from pocketbert.tasks.squad.features import Feature, featurise
from pocketbert.tasks.squad.metrics import evaluate, evaluate_v1, question_scores
from pocketbert.tasks.squad.questions import Answer, Question, QuestionSet, halves_by_title, hold_out
from pocketbert.tasks.squad.reading import read_questions, write_questions

__all__ = [
    "Answer",
    "Candidate",
    "Feature",
    "Prediction",
    "Question",
    "QuestionSet",
    "answers",
    "evaluate",
    "evaluate_v1",
    "featurise",
    "halves_by_title",
    "hold_out",
    "question_scores",
    "read_questions",
    "write_predictions",
    "write_questions",
]
