"""Compare the size and speed of the family, as `pocketbert compare` does without arguments, and record it.

    python benchmarks/family.py [MODEL …] [--rounds 30] [--threads 1] [--dry]

Presets run with fresh weights: time and memory do not depend on what a model has learnt.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pocketbert.cli.compare import DEFAULT
from pocketbert.compare.picture import table
from pocketbert.compare.run import Plan, compare
from record import record


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=DEFAULT)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()

    found = compare(options.models, Plan(rounds=options.rounds, threads=options.threads))
    if not options.dry:
        key = f"{found.settings['batch']}x{found.settings['length']}, threads: {options.threads}"
        record("family", {key: asdict(found)})
    print(table(found))


if __name__ == "__main__":
    main()
