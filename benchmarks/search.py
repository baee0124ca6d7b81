"""How good is searching, and how does it grow? Each verb measures one thing and writes it to results/search.json.

    python benchmarks/search.py quality --data FILE…    what words, vectors and both find and answer
    python benchmarks/search.py growth --data FILE…     1,000 to 100,000 passages in each kind of store

Data are SQuAD JSON files, and models the embedded ones unless others are given. `--key NAME` is the entry of the
result, by default the verb; `--dry` prints and records nothing. `scripts/draw_search.py` draws the growth.
"""

from __future__ import annotations

import argparse
import json

from record import record
from searching import growth, quality

VERBS = {"quality": quality, "growth": growth}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, module in VERBS.items():
        verb = verbs.add_parser(name, help=(module.__doc__ or "").splitlines()[0])
        verb.add_argument("--data", nargs="+", required=True, help="SQuAD JSON files")
        verb.add_argument("--embedder", help="folder of an exported embedder [the embedded one]")
        verb.add_argument("--threads", type=int, help="processor threads of models [all]")
        verb.add_argument("--seed", type=int, default=0)
        module.add_arguments(verb)
        verb.add_argument("--key", default=name, help="the entry of results/search.json")
        verb.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()
    measured = VERBS[options.verb].measure(options)
    if not options.dry:
        record("search", {options.key: measured})
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
