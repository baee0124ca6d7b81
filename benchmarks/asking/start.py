"""A cold start, stage by stage: from the start of the process to the answer on a short text.

Each round is a fresh interpreter. Stages are given in milliseconds of wall clock and of processor time, as medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXT = (
    "Bert is Ernie's best friend and roommate on Sesame Street. "
    "The pair share the basement apartment at 123 Sesame Street."
)
QUESTION = "Where does Bert live?"

# Run with the model (or "") and the parent's clock at the start; prints stage -> [wall, processor] seconds.
STAGES = """
import json, sys, time
stages, clocks = {}, [float(sys.argv[2]), 0.0]
def mark(name):
    now = [time.time(), time.process_time()]
    stages[name] = [now[0] - clocks[0], now[1] - clocks[1]]
    clocks[:] = now
mark("python")
import numpy
mark("import numpy")
import tokenizers
mark("import tokenizers")
import onnxruntime
mark("import onnxruntime")
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.runtime.folder import find_reader
from pocketbert.runtime.session import Session
mark("import pocketbert")
found = find_reader(sys.argv[1] or None)
mark("check and tokenizer")
session = Session.load(found.path)
mark("session")
reader = QuestionAnswerer(session, found.tokenizer, found.calibration, positions=found.positions)
reader(sys.argv[3], sys.argv[4])
mark("window")
print(json.dumps(stages))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="", help="model folder [the embedded reader]")
    parser.add_argument("--rounds", type=int, default=10)


def measure(options: argparse.Namespace) -> dict[str, object]:
    taken: dict[str, list[list[float]]] = {}
    commands: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.txt"
        page.write_text(TEXT, encoding="utf-8")
        for _ in range(
            options.rounds + 1
        ):  # the first fills the caches of the file system, and does not count
            for name, seconds in stages(options.model).items():
                taken.setdefault(name, []).append(seconds)
            commands.append(command(page, options.model))
    medians = {
        name: {"wall": milliseconds(rows, 0), "processor": milliseconds(rows, 1)}
        for name, rows in ((name, rows[1:]) for name, rows in taken.items())
    }
    total = {clock: round(sum(row[clock] for row in medians.values()), 1) for clock in ("wall", "processor")}
    whole = round(1000 * statistics.median(commands[1:]), 1)
    return {"milliseconds": medians | {"all": total}, "pocketbert ask, wall": whole}


def stages(model: str) -> dict[str, list[float]]:
    arguments = [sys.executable, "-c", STAGES, model, repr(time.time()), QUESTION, TEXT]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def command(page: Path, model: str) -> float:
    """The wall clock of the whole command."""
    words = [sys.executable, "-m", "pocketbert", "ask", str(page), QUESTION, "--threshold", "1", "--json"]
    before = time.perf_counter()
    subprocess.run([*words, *(["--model", model] if model else [])], check=True, capture_output=True)
    return time.perf_counter() - before


def milliseconds(rows: list[list[float]], column: int) -> float:
    return round(1000 * statistics.median(row[column] for row in rows), 1)
