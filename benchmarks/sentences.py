"""How fast are sentence vectors, beside sentence-transformers? One run measures three things, in turns.

    python benchmarks/sentences.py --weights DIR --model DIR --data FILE… [--peer DIR --peer_model DIR] [--cross DIR]

- encode: sentences a second, for ragged texts, and how near the vectors are to those of sentence-transformers;
- pair: the most alike two of 10,000 sentences, end to end;
- count: how long a cross-encoder would take for all their 50 million pairs, from a sample.

`--weights` is a folder that sentence-transformers loads, `--model` the same model exported; of fp32, int8 and int8-fast
all that are there run. `--peer` is another sentence-transformers model to compare with, such as all-MiniLM-L6-v2, and
`--peer_model` its export. `--cross` is an exported reranker. Data are text files with a sentence a line. Results go to
results/sentences.json under "threads N"; `--dry` prints and records nothing.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from embedding.cases import distinct_lines, pairs_among, some_pairs
from embedding.run import Contender, agreement, encode, speeds
from pocketbert.runtime.session import FILES
from record import record

BASE = "sentence-transformers"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", required=True, help="folder for sentence-transformers")
    parser.add_argument("--model", required=True, help="the same model, exported")
    parser.add_argument("--peer", help="another folder for sentence-transformers")
    parser.add_argument("--peer_model", help="that model, exported")
    parser.add_argument("--cross", help="an exported reranker")
    parser.add_argument("--data", nargs="+", required=True, help="text files with a sentence a line")
    parser.add_argument(
        "--sentences", type=int, default=10_000, help="among which the most alike two are sought"
    )
    parser.add_argument("--limit", type=int, default=2_000, help="so many texts for encode")
    parser.add_argument("--pairs", type=int, default=200, help="the sample for the cross-encoder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()
    measured = measure(options)
    if not options.dry:
        record("sentences", {f"threads {options.threads}": measured})
    print(json.dumps(measured))


def measure(options: argparse.Namespace) -> dict[str, object]:
    lines = distinct_lines(options.data, options.seed)
    texts, many = lines[: options.limit], lines[: options.sentences]
    contenders = {
        name: Contender(kind, folder, options.threads) for name, (kind, folder) in line_up(options).items()
    }
    with tempfile.TemporaryDirectory() as folder:
        taken = encode(contenders, texts, rounds=options.rounds, folder=Path(folder))
        near = agreement(Path(folder), own(contenders), BASE)
    pair = {name: contender.take({"task": "pair", "texts": many}) for name, contender in contenders.items()}
    report: dict[str, object] = {
        "threads": options.threads,
        "encode": {
            "texts": len(texts),
            "words": round(sum(len(text.split()) for text in texts) / len(texts), 1),
            "contenders": speeds(taken, len(texts), BASE, contenders),
            "cosine": near,
        },
        "pair": {
            "texts": len(many),
            "contenders": {name: pair_of(said) for name, said in pair.items()},
        },
    }
    for contender in contenders.values():
        contender.close()
    if options.cross:
        seconds = {name: said["seconds"] for name, said in pair.items()}
        report["count"] = count(options, many, seconds)
    return report


def line_up(options: argparse.Namespace) -> dict[str, tuple[str, str]]:
    """Name -> kind and folder; the models of `--weights` and `--model` first."""
    found = {BASE: ("torch", options.weights)} | exported(options.model, "pocketbert")
    if options.peer:
        found[f"{BASE}, peer"] = ("torch", options.peer)
    if options.peer_model:
        found |= exported(options.peer_model, "pocketbert, peer")
    return found


def exported(folder: str, name: str) -> dict[str, tuple[str, str]]:
    return {
        f"{name} {form}": (form, folder)
        for form, file in FILES.items()
        if form != "fp16" and (Path(folder) / file).is_file()
    }


def own(contenders: dict[str, Contender]) -> list[str]:
    """Those of the same model as the first, which come first."""
    return [name for name in contenders if "peer" not in name]


def pair_of(said: dict[str, Any]) -> dict[str, object]:
    score, first, second = said["found"]
    return {"seconds": round(said["seconds"], 2), "score": round(score, 4), "pair": [first, second]}


def count(options: argparse.Namespace, texts: list[str], seconds: dict[str, float]) -> dict[str, object]:
    """What a cross-encoder would take for all pairs, beside what the embedders took."""
    reranker = Contender("cross", options.cross, options.threads)
    case = {"task": "cross", "pairs": some_pairs(texts, options.pairs, options.seed)}
    reranker.take(case)  # warms up
    sample = min(reranker.take(case)["seconds"] for _ in range(2))
    reranker.close()
    whole = sample / options.pairs * pairs_among(len(texts))
    return {
        "pairs": pairs_among(len(texts)),
        "sample": options.pairs,
        "pairs_per_second": round(options.pairs / sample, 1),
        "hours": round(whole / 3600, 2),
        "times": {name: round(whole / taken) for name, taken in seconds.items()},
    }


if __name__ == "__main__":
    main()
