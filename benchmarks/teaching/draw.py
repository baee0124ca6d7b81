"""Some questions of many, for runs that need not see all.

    python benchmarks/teaching/draw.py FILES… --output lessons.json [--count 100000] [--longest 1500]

One file of several in SQuAD's format, in an order of its own: no question twice about a text, none about a long text,
whose many windows would crowd out the others.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from pocketbert.tasks.squad.questions import Question
from pocketbert.tasks.squad.reading import read_questions, write_questions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, help="as many at most")
    parser.add_argument("--longest", type=int, default=1500, help="characters of the texts they are about")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    questions = distinct(short(read_questions(options.files, on_bad="skip").questions, options.longest))
    random.Random(options.seed).shuffle(questions)
    questions = questions[: options.count]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_questions(options.output, questions)
    texts = {question.context for question in questions}
    print(f"{len(questions)} questions about {len(texts)} texts", file=sys.stderr)


def drawn(source: Path, file: Path, count: int, *, longest: float = math.inf) -> Path:
    """Write `count` questions of `source` to `file`, drawn the same way each time, unless it is there.

    Those on texts of more than `longest` characters are left out. If there are no more than `count`, all stay in order.
    """
    if not file.is_file():
        questions = short(read_questions(str(source), on_bad="skip").questions, longest)
        file.parent.mkdir(parents=True, exist_ok=True)
        some = random.Random(7).sample(questions, count) if count < len(questions) else questions
        write_questions(file, some)
    return file


def short(questions: Sequence[Question], longest: float) -> list[Question]:
    """Those about a text of at most so many characters."""
    return [question for question in questions if len(question.context) <= longest]


def distinct(questions: Sequence[Question]) -> list[Question]:
    """Each question about a text once, the first of those that ask the same."""
    first: dict[tuple[str, str], Question] = {}
    for question in questions:
        first.setdefault((question.question, question.context), question)
    return list(first.values())


if __name__ == "__main__":
    main()
