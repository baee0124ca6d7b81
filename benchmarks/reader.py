"""What is a reader worth, in torch and in each of its exported files? Written to results/reader.json.

    python benchmarks/reader.py FOLDER --data squad2-dev.json [--half report] [--precision fp32 …]

FOLDER holds the torch model, its calibration and its ONNX files (`pocketbert export`). Scores are the official ones at
the calibration's threshold; `equal` is the share of questions to which the file says exactly what torch says.
`--key NAME` is the entry of the result, by default squad2; `--dry` records nothing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pocketbert.export.exams.questions import QuestionExam
from pocketbert.heads import load
from pocketbert.runtime.session import FILES, Session
from pocketbert.tasks import trust
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.questions import halves_by_title
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import Calibration
from record import record


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--half", choices=["all", "fit", "report"], default="report")
    parser.add_argument("--precision", nargs="*", choices=list(FILES), default=["fp32", "int8"])
    parser.add_argument("--key", default="squad2")
    parser.add_argument("--dry", action="store_true")
    options = parser.parse_args()

    questions = list(read_questions(options.data, split="validation").questions)
    if options.half != "all":
        questions = halves_by_title(questions)[options.half == "report"]
    tokenizer, calibration = Tokenizer.load(options.folder), Calibration.load(options.folder)
    features = featurise(questions, tokenizer, max_length=calibration.window, overlap=calibration.overlap)
    exam = QuestionExam(load(options.folder), questions, features, calibration, pad_id=tokenizer.pad_id)
    measured: dict[str, object] = {
        "data": [Path(name).name for name in options.data],
        "half": options.half,
        "questions": len(questions),
        "unanswerable": sum(not question.answers for question in questions),
        "torch": exam.scores,
    }
    for precision in options.precision:
        with Session.load(options.folder, precision=precision) as session:
            logits = exam.read(session)
        comparison = exam.judge(logits, 0.0)
        readings = trust.read_all(calibration, questions, features, *logits)
        assert comparison.exported is not None
        measured[precision] = {
            **comparison.exported,
            "equal": comparison.equal,
            "megabytes": (options.folder / FILES[precision]).stat().st_size / 1e6,
            "trust": trust.trust(questions, readings).summary(),
        }
        print(precision, json.dumps(measured[precision]), flush=True)
    if not options.dry:
        record("reader", {options.key: measured})
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
