"""F1 against the share of windows that fast reading reads, for answerable and unanswerable questions apart.

With its own threshold the reader reads on while it would stay silent, so that silence costs all windows; with "always"
it gives its likeliest words, and the share is what finding them costs.

Every window is run through the model once. What the reader would have done with other settings is then played from
these logits, so that a whole curve costs no more than reading everything once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from asking import documents
from pocketbert.runtime.answer import Result
from pocketbert.runtime.documents import Document
from pocketbert.runtime.options import Options
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.runtime.session import FILES
from pocketbert.tasks.squad.metrics import question_scores
from pocketbert.tasks.squad.questions import Question
from pocketbert.text.windows import pad_windows

MISSES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)
LEASTS = (1, 3, 8)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    documents.add_arguments(parser)
    parser.add_argument("--model", help="model folder [the embedded reader]")
    parser.add_argument("--precision", choices=list(FILES))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--window", type=int, help="tokens in a window [the model's]")


def measure(options: argparse.Namespace) -> dict[str, object]:
    reader = QuestionAnswerer.load(options.model, precision=options.precision, threads=options.threads)
    questions = documents.questions_of(options)
    settings: dict[str, Options] = {}
    for mode, threshold in (("own threshold", None), ("always", 1.0)):
        shared = Options(window=options.window, threshold=threshold)
        settings[f"{mode}: all"] = replace(shared, read="all")
        for least, miss in product(LEASTS, MISSES):
            settings[f"{mode}: least {least}, miss {miss}"] = replace(shared, least=least, miss=miss)
    results = play(reader, questions, settings)
    return {
        "questions": len(questions),
        "windows": sum(result.read.of for result in results["always: all"]),
        "settings": {name: scores(questions, results[name]) for name in settings},
    }


def play(
    reader: QuestionAnswerer, questions: Sequence[Question], settings: dict[str, Options]
) -> dict[str, list[Result]]:
    """What the reader says under each of the settings; all of them must cut windows alike."""
    results: dict[str, list[Result]] = {name: [] for name in settings}
    known: dict[str, Document] = {}
    for count, question in enumerate(questions, start=1):
        if question.context not in known:
            known = {question.context: reader.document(question.context)}
        document = known[question.context]
        logits: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for name, chosen in settings.items():
            inquiry = reader.inquiry(question.question, [document], chosen)
            while not inquiry.done:
                for number in inquiry.take(len(inquiry.plan)):
                    window = inquiry.plan.window(number)
                    if number not in logits:
                        output = reader.session.run(**pad_windows([window], reader.tokenizer).arrays())
                        logits[number] = output["start_logits"][0], output["end_logits"][0]
                    inquiry.hear(number, window, *logits[number])
            results[name].append(inquiry.result())
        if sys.stderr.isatty():
            print(f"\r{count} of {len(questions)} questions", end="", file=sys.stderr)
    return results


def scores(questions: Sequence[Question], results: Sequence[Result]) -> dict[str, object]:
    """Official scores and the share of windows read, for both kinds of questions.

    `always_f1` is the F1 of the likeliest words on answerable questions, whether the reader would have spoken or not.
    """
    report: dict[str, object] = {}
    for kind, impossible in (("answerable", False), ("unanswerable", True)):
        chosen = [pair for pair in zip(questions, results, strict=True) if pair[0].impossible == impossible]
        if not chosen:
            continue
        asked = [question for question, _ in chosen]
        exact, f1 = question_scores(asked, [result.text for _, result in chosen])
        row: dict[str, object] = {
            "questions": len(chosen),
            "exact": average(100 * exact),
            "f1": average(100 * f1),
            "read": average(np.array([100 * result.read.windows / result.read.of for _, result in chosen])),
        }
        if not impossible:
            first = [result.candidates[0].text if result.candidates else "" for _, result in chosen]
            row["always_f1"] = average(100 * question_scores(asked, first)[1])
        report[kind] = row
    return report


def average(values: np.ndarray) -> float:
    return round(float(values.mean()), 2)
