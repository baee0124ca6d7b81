"""How early the window with the answer comes, by the question's words alone: no reader is needed."""

from __future__ import annotations

import argparse

import numpy as np

from asking import documents
from pocketbert.runtime.documents import Document, Plan
from pocketbert.runtime.order import promises
from pocketbert.tasks.squad.questions import Question
from pocketbert.text import Tokenizer

SHARES = (0.05, 0.1, 0.25, 0.5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    documents.add_arguments(parser)
    parser.add_argument("--window", type=int, default=384)


def measure(options: argparse.Namespace) -> dict[str, object]:
    tokenizer = Tokenizer.load()
    ranks, windows, surprise = [], [], []
    known: dict[str, Document] = {}
    for question in documents.questions_of(options):
        if question.context not in known:
            known = {question.context: Document.of(question.context, tokenizer)}
        ids = tuple(token for token, _ in tokenizer.stream(question.question))
        plan = Plan.of(ids, [known[question.context]], max_length=options.window, overlap=None)
        right = right_windows(question, plan)
        if not right.any():
            continue
        promise = promises(plan)
        ranks.append(np.count_nonzero(promise > promise[right].max()) / len(plan))
        surprise.append(-np.log(promise[right].sum()))
        windows.append(len(plan))
    share = np.array(ranks)
    return {
        "questions": len(ranks),
        "windows": round(float(np.mean(windows)), 1),
        "first": percent(share == 0),
        "within": {f"{limit:.0%}": percent(share < limit) for limit in SHARES},
        "surprise": round(float(np.mean(surprise)), 3),
    }


def right_windows(question: Question, plan: Plan) -> np.ndarray:
    """Which windows hold a gold answer whole."""
    (document,) = plan.documents
    right = np.zeros(len(plan), dtype=bool)
    for answer in question.answers:
        first = int(np.searchsorted(document.ends, answer.start, side="right"))
        last = int(np.searchsorted(document.starts, answer.end, side="left"))
        right |= np.array([part.first <= first and last <= part.last for part in plan.stretches])
    return right


def percent(hits: np.ndarray) -> float:
    return round(100 * float(hits.mean()), 1)
