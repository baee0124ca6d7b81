"""Questions that people asked, about texts gathered around the sentence that answers each.

    python benchmarks/teaching/gathered.py PAIRS.json… --output gathered.json [--texts 2]

PAIRS has `questions` and `answers`, a sentence each, as ReQA's training sets do. A text is that sentence among others
that share words with it or with the question; every second text of a question lacks the sentence itself. Nobody knows
which words answer, so no answer is marked in any of them: they are for whoever learns from a teacher's labels alone.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pocketbert.data.unanswerable.words import content, stem
from pocketbert.tasks.squad.questions import Question
from pocketbert.tasks.squad.reading import write_questions
from pocketbert.text.bm25 import Bm25

LONGEST = 480
"""Characters of a text: with its question it fits into one window."""
NEAREST = 24


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=2, help="for each question")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    pairs = [pair for file in options.files for pair in read(file)]
    questions = list(gathered(pairs, options.texts, random.Random(options.seed)))
    write_questions(options.output, questions)
    print(f"{len(questions)} questions from {len(pairs)} pairs", file=sys.stderr)


def read(file: Path) -> Iterator[tuple[str, str]]:
    """Each question with its sentence."""
    found = json.loads(file.read_text(encoding="utf-8"))
    yield from zip(found["questions"], found["answers"], strict=True)


def gathered(pairs: Sequence[tuple[str, str]], texts: int, chance: random.Random) -> Iterator[Question]:
    """So many texts for each question; one that no other sentence is like has the first alone."""
    pool = list(dict.fromkeys(sentence for _, sentence in pairs))
    index = Bm25([terms(sentence) for sentence in pool])
    for number, (question, sentence) in enumerate(pairs):
        near = [
            pool[place]
            for place in index.nearest(terms(f"{question} {sentence}"), NEAREST)
            if pool[place] != sentence
        ]
        for copy in range(texts):
            parts = drawn(near, [] if copy % 2 else [sentence], chance)
            if parts:
                yield Question(f"{number}-{copy}", "gathered", question, " ".join(parts), (), True)


def drawn(near: Sequence[str], parts: list[str], chance: random.Random) -> list[str]:
    """As many sentences as fit beside these, the nearest likelier than others, in an order by chance."""
    kept = list(parts)
    for sentence in near:
        if chance.random() < 0.5 and sum(len(part) + 1 for part in (*kept, sentence)) <= LONGEST:
            kept.append(sentence)
    chance.shuffle(kept)
    return kept


def terms(text: str) -> list[str]:
    """The stems of the words that carry meaning."""
    return [stem(word.text) for word in content(text)]


if __name__ == "__main__":
    main()
