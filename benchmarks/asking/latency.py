"""A window, a paragraph, batches and a long page, beside the same model in transformers eager and plain onnxruntime.

Batches are of two sorts: ragged texts, from a line to a window in length, as a search returns them, of which padding
makes equals; and paragraphs, most of whose windows are full, so that nothing but arithmetic counts.

One process per contender, all alive at once; in each round each reads each case in turn, so that a busy moment of the
machine meets all alike. Medians are reported, and how many times faster than the first contender each is.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asking.contenders import CONTENDERS
from asking.documents import joined
from pocketbert.tasks.squad.questions import Question
from pocketbert.tasks.squad.reading import read_questions

BATCH = 32  # texts in a batch
REST = 0.3  # seconds, in which the threads of the contender before stop spinning
SHORTEST, LONGEST = 5, 75  # words of a ragged text, which with its question fits into a window


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", required=True, help="folder with weights and with int8 and int8-fast exports"
    )
    parser.add_argument("--data", nargs="+", required=True, help="SQuAD JSON files to take questions from")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--words", type=int, default=10_000, help="of the long page")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))


def measure(options: argparse.Namespace) -> dict[str, object]:
    cases = make_cases(list(read_questions(options.data, on_bad="skip")), words=options.words)
    processes = {name: open_contender(name, options.model, options.threads) for name in options.contenders}
    taken: dict[tuple[str, str], list[list[float]]] = {}
    for round_number in range(options.rounds + 1):  # the first warms up, and does not count
        for case_name, case in cases.items():
            for name, process in processes.items():
                if case["read"] == "fast" and not name.startswith("pocketbert"):
                    continue
                time.sleep(REST)
                measured = ask(process, case)
                if round_number:
                    taken.setdefault((case_name, name), []).append(measured)
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    return {
        "threads": options.threads,
        "cases": {case: summary(case, cases[case], taken, options.contenders) for case in cases},
        "peak_megabytes": {
            name: max(row[1] for (_, other), rows in taken.items() for row in rows if other == name)
            for name in options.contenders
        },
    }


def make_cases(questions: list[Question], *, words: int) -> dict[str, dict[str, Any]]:
    """What is asked: fixed choices from the data, so that runs can be compared."""
    generator = random.Random(0)
    answerable = [question for question in questions if question.answers]
    by_length = sorted(answerable, key=lambda question: len(question.context))
    usual = by_length[len(by_length) // 2]
    some = generator.sample(answerable, min(BATCH, len(answerable)))
    page = generator.choice([question for question in joined(questions, words=words) if question.answers])
    return {
        "one window": case([shortened(usual, LONGEST)], "all"),
        "one paragraph": case([usual], "all"),
        "ragged texts": case(
            [shortened(question, generator.randint(SHORTEST, LONGEST)) for question in some], "all"
        ),
        "paragraphs": case(some, "all"),
        "long page, all": case([page], "all"),
        "long page, fast": case([page], "fast"),
    }


def shortened(question: Question, words: int) -> Question:
    """The question, asked about the first words of its paragraph."""
    return replace(question, context=" ".join(question.context.split()[:words]))


def case(questions: list[Question], read: str) -> dict[str, Any]:
    return {
        "questions": [question.question for question in questions],
        "contexts": [question.context for question in questions],
        "read": read,
    }


def open_contender(name: str, model: str, threads: int) -> subprocess.Popen[str]:
    file = Path(__file__).with_name("contenders.py")
    command = [sys.executable, str(file), name, model, str(threads)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen[str], case: dict[str, Any]) -> list[float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(case) + "\n")
    process.stdin.flush()
    answer: list[float] = json.loads(process.stdout.readline())
    return answer


def summary(
    name: str,
    case: dict[str, Any],
    taken: dict[tuple[str, str], list[list[float]]],
    contenders: Sequence[str],
) -> dict[str, object]:
    """Milliseconds, windows read and speed-up of each contender; a fast case is compared with reading all."""
    base = statistics.median(row[0] for row in taken[name.replace("fast", "all"), contenders[0]])
    report: dict[str, object] = {}
    for contender in contenders:
        rows = taken.get((name, contender))
        if rows is None:
            continue
        seconds = statistics.median(row[0] for row in rows)
        report[contender] = {
            "milliseconds": round(1000 * seconds, 1),
            "documents_a_minute": round(60 * len(case["questions"]) / seconds, 1),
            "windows": rows[0][2],
            f"times_{contenders[0]}": round(base / seconds, 2),
        }
    return report
