#!/usr/bin/env python3
"""Put a reader into the package: one file in eight bits, its settings, its card and the hashes of all of them.

    .venv/bin/python scripts/embed.py FOLDER [--name mini] [--precision int8]

FOLDER is a model folder with a calibration and a file that `pocketbert export` let pass. The card is written from what
`benchmarks/reader.py` measured, of `mini` with `--key mini`. Run this for a release, not for a try: each file stays in
the history.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from pocketbert.hub import EMBEDDED
from pocketbert.runtime.manifest import write_manifest
from pocketbert.runtime.session import FILES

LARGEST = 27_000_000
SETTINGS = ("config.json", "qa_config.json")
RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results" / "reader.json"
KEYS = {"reader": "squad2", "mini": "mini"}
"""The entries of the results, by the names of the readers."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", choices=KEYS, default="reader")
    parser.add_argument("--precision", choices=["int8", "int8-fast"], default="int8-fast")
    options = parser.parse_args()
    folder, model, place = options.folder, FILES[options.precision], EMBEDDED[options.name]

    missing = [name for name in (*SETTINGS, model) if not (folder / name).is_file()]
    if missing:
        sys.exit(f"{folder} lacks {', '.join(missing)}; calibrate it and export it first")
    if (folder / model).stat().st_size > LARGEST:
        sys.exit(f"{folder / model} is larger than {LARGEST:,} bytes")
    shutil.rmtree(place, ignore_errors=True)
    (place / "onnx").mkdir(parents=True)
    for name in (*SETTINGS, model):
        shutil.copyfile(folder / name, place / name)
    (place / "README.md").write_text(card(options.name, options.precision), encoding="utf-8")
    write_manifest(place)
    print(f"{place} is complete; look at the card and commit")


def card(name: str, precision: str) -> str:
    """The model card."""
    measured = json.loads(RESULTS.read_text(encoding="utf-8"))[KEYS[name]]["value"]
    exported, trusted = measured[precision], measured[precision]["trust"]
    rows = {
        "F1 at the fitted threshold": exported["f1"],
        "exact match at the fitted threshold": exported["exact"],
        "F1 on questions with an answer, made to answer": exported["has_answer_f1"],
        "silent on questions without one": exported["no_answer"],
        "expected calibration error": trusted["expected_calibration_error"],
        "F1 of the torch model": measured["torch"]["f1"],
        "answers equal to torch": exported["equal"],
    }
    table = "\n".join(f"| {name} | {value:.2f} |" for name, value in rows.items())
    return CARD.format(
        about=ABOUT[name],
        made=MADE[name],
        precision=precision,
        questions=f"{measured['questions']:,}",
        unanswerable=f"{measured['unanswerable']:,}",
        table=table,
    )


ABOUT = {
    "reader": """# The embedded reader

An English MobileBERT (24 blocks, 24.6 million parameters, 384 positions) that answers questions with the
exact words of a text, or says that the answer is not there. Weights in eight bits, 26 MB. `pocketbert ask`
and `QuestionAnswerer.load()` use it; `pocketbert.load("pocketbert/reader")` takes it into torch.""",
    "mini": """# The small embedded reader

An English MobileBERT of six blocks (9.3 million parameters, 384 positions) that answers questions with the
exact words of a text, or says that the answer is not there. Weights in eight bits, 10 MB. `pocketbert ask
--model mini` and `QuestionAnswerer.load("mini")` use it; `pocketbert.load("pocketbert/mini")` takes it into
torch. It takes a quarter of the arithmetic of the embedded reader, which is more often right.""",
}
MADE = {
    "reader": "Fine-tuned from Google's MobileBERT",
    "mini": """Made of the embedded reader by `benchmarks/shrink.py`: the blocks that were missed least were left
out, and the rest learnt from the whole reader's answers to the questions below, but for those of ReQA-SQuAD
and RTE. The whole reader was fine-tuned from Google's MobileBERT""",
}
CARD = """---
language: "en"
library_name: pocketbert
pipeline_tag: question-answering
license: "apache-2.0"
base_model: "google/mobilebert-uncased"
tags: ["pocketbert", "mobilebert", "int8"]
---

{about}

## Scores

On {questions} questions of SQuAD 2.0's development set, {unanswerable} of them unanswerable, from four
articles that neither training nor calibration saw; in per cent, {precision} in the light runtime.

| | |
| --- | ---: |
{table}

## Data

{made} on a sample of SQuAD's training questions and on questions of ReQA-SQuAD
that the reader answered itself (CC BY-SA 4.0), SQuADShifts (new Wikipedia, Reddit, Amazon; CC BY 4.0),
FairytaleQA's explicit questions (Apache-2.0) and PolicyQA (MIT); on unanswerable questions that
`pocketbert.data.unanswerable` made from them; and on questions made from the inference pairs of MultiNLI's,
SNLI's and SciTail's development sets, MPE's training set (a collection under MIT) and RTE's training set.
Calibrated on the four other articles of that development set.

## Limits

English, in lower case. It finds words; it does not add, count or conclude over several places. It was
trained on paragraphs of encyclopedias, reviews, posts, stories and privacy policies: on law, medicine or
code trust its score less. It can be fooled by a passage that resembles an answer, and it repeats what a
page says, true or not.

## Licence

Apache-2.0. Made from Google's MobileBERT (google/mobilebert-uncased), Copyright 2020 The Google Research
Authors, Apache-2.0.
"""


if __name__ == "__main__":
    main()
