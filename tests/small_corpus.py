"""A small corpus of made-up sentences: enough of them to count masks and pairs, few enough to train on in a second."""

from __future__ import annotations

import random
from pathlib import Path

from pocketbert.text import Tokenizer
from pocketbert.text.learning import learn_tokenizer

WHO = [
    "the miller",
    "a teacher",
    "my neighbour",
    "the youngest sailor",
    "an unhurried painter",
    "her grandmother",
]
WHAT = ["repainted", "measured", "forgot", "carried", "described", "overlooked", "borrowed", "unwrapped"]
WHICH = [
    "the wooden boat",
    "seven letters",
    "a blue lantern",
    "the old bridge",
    "two bicycles",
    "an unfinished map",
]
WHERE = [
    "by the river",
    "in the market",
    "behind the station",
    "before breakfast",
    "in late autumn",
    "at home",
]


def documents(count: int = 30, *, least: int = 3, most: int = 12, seed: int = 7) -> list[list[str]]:
    """Documents of a few sentences each."""
    draw = random.Random(seed)

    def sentence() -> str:
        words = " ".join(draw.choice(part) for part in (WHO, WHAT, WHICH, WHERE))
        return words[0].upper() + words[1:] + draw.choice([".", ".", "!", "?"])

    return [[sentence() for _ in range(draw.randint(least, most))] for _ in range(count)]


def write(path: Path, texts: list[list[str]] | None = None) -> Path:
    """The documents as BERT's own data are written: a sentence a line, a blank line between documents."""
    lines = ["\n".join(document) for document in (documents() if texts is None else texts)]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return path


def tokenizer(**options: object) -> Tokenizer:
    """A tokenizer that cuts some of the words into pieces."""
    texts = [sentence for document in documents() for sentence in document]
    return learn_tokenizer(texts, **{"size": 120, **options})
