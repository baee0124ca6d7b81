"""Peak memory: after loading, on a short text, on a page of 10,000 words and on a book, each in a fresh process."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

CODE = """
import json, resource, sys
from pocketbert.runtime.questions import QuestionAnswerer
reader = QuestionAnswerer.load(sys.argv[1] or None)
line = "In the year {} the people of the town number {} went to the market by the river and came back late. "
text = "".join(line.format(1000 + number, number) for number in range(int(sys.argv[2]) // 20))
read = 0
if text:
    result = reader("Who built the bridge?", text, read="all", deadline=float(sys.argv[3]))
    read = result.read.windows
print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, read]))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="", help="model folder [the embedded reader]")
    parser.add_argument("--words", type=int, nargs="+", default=[0, 100, 10_000, 500_000])
    parser.add_argument("--deadline", type=float, default=120.0, help="seconds of reading for each")


def measure(options: argparse.Namespace) -> dict[str, object]:
    report: dict[str, object] = {}
    for words in options.words:
        arguments = [sys.executable, "-c", CODE, options.model, str(words), str(options.deadline)]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        peak, windows = json.loads(done.stdout)
        report[f"{words} words"] = {"peak_megabytes": round(peak, 1), "windows": windows}
    return report
