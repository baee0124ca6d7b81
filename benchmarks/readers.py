"""How fast and how large are the readers of the package, and what are they worth? Written to results/readers.json.

    python benchmarks/readers.py [--models reader mini] [--threads 1 2] [--rounds 20]

Times are of one window of 128 tokens, in turns; scores are those that `benchmarks/reader.py` wrote, of the same
questions for all. `scripts/draw_readers.py` draws both.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from pocketbert import hub
from pocketbert.compare.timing import time_in_turns
from pocketbert.model import read_config
from pocketbert.runtime.session import FILES
from record import record, recorded

SCORES = {"reader": "squad2", "mini": "mini"}
"""The entries of results/reader.json."""
LENGTH = 128


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=list(SCORES), help="embedded readers")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()

    folders = {name: hub.resolve(f"pocketbert/{name}").folder for name in options.models}
    forms = {
        name: next(form for form, file in FILES.items() if (folder / file).is_file())
        for name, folder in folders.items()
    }
    measured: dict[str, dict[str, Any]] = {}
    for name, folder in folders.items():
        config = read_config(json.loads((folder / "config.json").read_text(encoding="utf-8")))
        measured[name] = {
            "blocks": config.num_hidden_layers,
            "form": forms[name],
            "megabytes": round((folder / FILES[forms[name]]).stat().st_size / 1e6, 1),
            "milliseconds": {},
            "scores": scores(name, forms[name]),
        }
    for threads in options.threads:
        timings = time_in_turns(
            {(name, forms[name]): str(folder) for name, folder in folders.items()},
            batch=1, length=LENGTH, rounds=options.rounds, threads=threads,
        )  # fmt: skip
        for (name, _), timing in timings.items():
            measured[name]["milliseconds"][str(threads)] = round(timing.milliseconds, 2)
            measured[name]["peak_megabytes"] = round(timing.peak_megabytes)
    if not options.dry:
        record("readers", {"embedded": measured})
    print(json.dumps(measured))


def scores(name: str, form: str) -> dict[str, float]:
    """F1 with silence allowed, and where an answer must be given."""
    found = recorded("reader", SCORES[name])[form]
    return {key: round(found[key], 2) for key in ("f1", "exact", "has_answer_f1", "no_answer")}


if __name__ == "__main__":
    main()
