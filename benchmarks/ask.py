"""How fast, how light and how good is asking? Each verb measures one thing and writes it to results/ask.json.

    python benchmarks/ask.py latency --model DIR --data FILE    beside transformers eager and plain onnxruntime
    python benchmarks/ask.py trade --model DIR --data FILE…     F1 against the share of windows that are read
    python benchmarks/ask.py order --data FILE…                 how early the right window comes, by words alone
    python benchmarks/ask.py start [--model DIR]                a cold start, stage by stage
    python benchmarks/ask.py memory [--model DIR]               peak memory on a short text and on a book

Data are SQuAD JSON files; `--words N` joins paragraphs to documents of N words. `--key NAME` is the entry of the
result, by default the verb; `--dry` prints and records nothing.
"""

from __future__ import annotations

import argparse
import json

from asking import latency, memory, order, start, trade
from record import record

VERBS = {"latency": latency, "trade": trade, "order": order, "start": start, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, module in VERBS.items():
        verb = verbs.add_parser(name, help=(module.__doc__ or "").splitlines()[0])
        module.add_arguments(verb)
        verb.add_argument("--key", default=name, help="the entry of results/ask.json")
        verb.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()
    measured = VERBS[options.verb].measure(options)
    if not options.dry:
        record("ask", {options.key: measured})
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
