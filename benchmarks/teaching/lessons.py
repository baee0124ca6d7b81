"""One file of lessons from several files of questions in SQuAD's format.

    python benchmarks/teaching/lessons.py FILES… --apart squad2-dev.json… --output lessons.json [--longest 1500]

In an order of its own: no question twice about a text, none about a long text, whose many windows would crowd out the
others, and none that is in a file of --apart, by which the reader is to be measured, or about a text that shares eight
words in a row with one there.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from pocketbert.tasks.squad.questions import Question
from pocketbert.tasks.squad.reading import read_questions, write_questions

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from teaching.apart import Apart


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+")
    parser.add_argument("--apart", nargs="+", required=True, help="questions in SQuAD's format")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, help="as many at most")
    parser.add_argument("--longest", type=int, default=1500, help="characters of the texts they are about")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    apart = Apart(options.apart)
    found = distinct(read_questions(options.files, on_bad="skip").questions)
    fitting = [question for question in found if len(question.context) <= options.longest]
    questions = [question for question in fitting if not apart.has(question)]
    random.Random(options.seed).shuffle(questions)
    kept = questions[: options.count]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_questions(options.output, kept)
    print(
        f"{len(kept)} questions about {len({question.context for question in kept})} texts; of {len(found)} "
        f"{len(found) - len(fitting)} are about longer ones, and {len(fitting) - len(questions)} not apart",
        file=sys.stderr,
    )


def distinct(questions: Sequence[Question]) -> list[Question]:
    """Each question about a text once, the first of those that ask the same."""
    first: dict[tuple[str, str], Question] = {}
    for question in questions:
        first.setdefault((question.question, question.context), question)
    return list(first.values())


if __name__ == "__main__":
    main()
