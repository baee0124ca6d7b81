"""Some questions of many, for runs that need not see all."""

from __future__ import annotations

import math
import random
from pathlib import Path

from pocketbert.tasks.squad.reading import read_questions, write_questions


def drawn(source: Path, file: Path, count: int, *, longest: float = math.inf) -> Path:
    """Write `count` questions of `source` to `file`, drawn the same way each time, unless it is there.

    Those on texts of more than `longest` characters are left out. If there are no more than `count`, all stay in order.
    """
    if not file.is_file():
        found = read_questions(str(source), on_bad="skip").questions
        questions = [question for question in found if len(question.context) <= longest]
        file.parent.mkdir(parents=True, exist_ok=True)
        some = random.Random(7).sample(questions, count) if count < len(questions) else questions
        write_questions(file, some)
    return file
