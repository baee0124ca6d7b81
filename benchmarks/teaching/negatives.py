"""Wrong sentences that an embedder takes for right, to teach the next one with.

    python benchmarks/teaching/negatives.py QUESTIONS --output FILE [--model FOLDER] [--seed 0]

QUESTIONS is a CSV file with anchor, positive and negative, such as sentences_corpus.py writes. Of all sentences in it
each question gets one that is near to it and is not its own: drawn from the nearest few, but for those almost as near
as the right one, which may well be right, too. Written are the rows as they were and, after them, a row for each
question that has such a sentence. The model is an exported embedder [the embedded one].
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pocketbert.runtime.embed import Embedder
from pocketbert.vectors.search import semantic_search

NEAREST = 30
DRAWN = 10  # of the nearest that are left
AT_MOST = 0.95  # of the right one's cosine: nearer ones may be right


class Row(NamedTuple):
    anchor: str
    positive: str
    negative: str


def read(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as stream:
        return [Row(*(row[name] for name in Row._fields)) for row in csv.DictReader(stream)]


def mined(rows: list[Row], embedder: Embedder, draw: random.Random) -> Iterator[Row]:
    """A row more for each question that has a wrong sentence near it."""
    pool = list(dict.fromkeys(text for row in rows for text in (row.positive, row.negative)))
    place = {text: number for number, text in enumerate(pool)}
    right: dict[str, set[int]] = {}
    for row in rows:
        right.setdefault(row.anchor, set()).add(place[row.positive])
    vectors = embedder.encode(pool, normalize_embeddings=True, show_progress_bar=True)
    questions = embedder.encode([row.anchor for row in rows], normalize_embeddings=True)
    near = semantic_search(questions, vectors, top_k=NEAREST)
    for row, question, found in zip(rows, questions, near, strict=True):
        most = AT_MOST * float(question @ vectors[place[row.positive]])
        wrong = [
            pool[int(hit["corpus_id"])]
            for hit in found
            if hit["corpus_id"] not in right[row.anchor] and hit["score"] < most
        ]
        if wrong:
            yield row._replace(negative=draw.choice(wrong[:DRAWN]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", help="an exported embedder")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = read(options.questions)
    more = list(mined(rows, Embedder.load(options.model), random.Random(options.seed)))
    with options.output.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([Row._fields, *rows, *more])
    print(f"{options.output}: {len(rows):,} rows, and {len(more):,} with a sentence that is near")


if __name__ == "__main__":
    main()
