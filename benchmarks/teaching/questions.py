"""Questions to teach a small reader with, from folders of SQuAD JSON files and of inference pairs in CSV.

    python benchmarks/teaching/questions.py QA_FILES… --pairs PAIRS.csv… --output FOLDER [--held-out 600]

Writes FOLDER/train.json, in which missing words tell nothing about whether there is an answer; FOLDER/wide.json with
more of everything, for whoever learns from a teacher's labels alone and cannot be misled by such cues; and
FOLDER/held-out.json with paragraphs and premises that are in neither.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from pocketbert.data.unanswerable import (
    balanced,
    from_pairs,
    hold_out,
    mix,
    read_all,
    read_pairs,
    write_squad_json,
)

NEGATIONS = 0.33
"""A third of the negations: they would fill the group of questions without missing words."""
PREMISES = 400
WIDE = {"ratio": 2.0, "harmless_ratio": 0.5, "seed": 1}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pairs", nargs="*", type=Path, default=[])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--held-out", type=int, default=600)
    options = parser.parse_args()

    train, held = hold_out(read_all(options.files), options.held_out, seed=0)
    pairs = [pair for file in options.pairs for pair in read_pairs(file)]
    premises = sorted({pair.premise for pair in pairs})
    random.Random(0).shuffle(premises)
    kept = set(premises[:PREMISES])
    made = list(from_pairs([pair for pair in pairs if pair.premise not in kept], seed=0))
    human = list(from_pairs([pair for pair in pairs if pair.premise in kept], seed=1))
    options.output.mkdir(parents=True, exist_ok=True)
    items = [*mix(train, ratio=1.0, harmless_ratio=0.2, seed=0), *made]
    write_squad_json(options.output / "train.json", balanced(items, weights={"negation": NEGATIONS}, seed=0))
    write_squad_json(options.output / "wide.json", [*mix(train, **WIDE), *made])
    asked = [*mix(held, ratio=0.5, seed=0), *random.Random(0).sample(human, min(len(human), 300))]
    write_squad_json(options.output / "held-out.json", asked)


if __name__ == "__main__":
    main()
