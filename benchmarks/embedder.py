"""What an embedder's vectors are worth, in torch and in each of its files, beside those of others and beside BM25.

    python benchmarks/embedder.py FOLDER --data FOLDER [--name NAME] [--precision fp32 …]

Data is the folder that holds glue/STS-B/original, retrieval/reqa-squad and retrieval/cranfield. Measured are Spearman's
correlation on STS-B's test pairs, and how far up the right sentence (ReQA) or the judged abstracts (Cranfield) come.
A text longer than the model reads at once is cut in torch, as sentence-transformers does it, and read to its end by
the exported files. BM25 is measured beside, and both together: their orders fused, as `pocketbert search` does it.
Written to results/embedder.json under `--name` and "bm25"; `--dry` records nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketbert.runtime.embed import Embedder
from pocketbert.runtime.session import FILES
from pocketbert.search.rank import fused
from pocketbert.tasks.sentences import metrics, retrieval
from pocketbert.tasks.sentences.collections import read_collection
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.tasks.sentences.retrieval import Collection
from record import record

COLLECTIONS = {"reqa": "retrieval/reqa-squad/test.json", "cranfield": "retrieval/cranfield"}
SHOWN = ("mrr@10", "ndcg@10", "recall@1", "recall@10", "recall@100", "map@100")
Orders = Sequence[Sequence[int]]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, help="the torch model, with its ONNX files if they are to be measured"
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--name", default="embedder", help="the entry of the results")
    parser.add_argument("--precision", nargs="*", choices=list(FILES), default=[])
    parser.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()

    pairs = sts(options.data)
    collections = {
        name: Asked.of(read_collection([str(options.data / place)])) for name, place in COLLECTIONS.items()
    }
    whole = TorchEmbedder.load(options.folder)
    measured: dict[str, object] = {
        "dimensions": whole.dimensions,
        "parameters": sum(part.numel() for part in whole.model.parameters()),
        "torch": scores(whole.encode, pairs, collections),
    }
    for precision in options.precision:
        embedder = Embedder.load(options.folder, precision=precision)
        measured[precision] = scores(embedder.encode, pairs, collections) | {
            "megabytes": (options.folder / FILES[precision]).stat().st_size / 1e6
        }
    found = {
        options.name: measured,
        "bm25": {name: asked.judge(asked.words) for name, asked in collections.items()},
    }
    if not options.dry:
        record("embedder", found)
    print(json.dumps(found))


def sts(data: Path) -> list[tuple[str, str, float]]:
    """The test pairs of STS-B with what people said of them; GLUE's own file has no scores."""
    file = data / "glue" / "STS-B" / "original" / "sts-test.tsv"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row[5], row[6], float(row[4])) for row in rows]


@dataclass
class Asked:
    """A collection, and what BM25 finds in it for each query."""

    collection: Collection
    words: Orders

    @classmethod
    def of(cls, collection: Collection) -> Asked:
        return cls(collection, retrieval.bm25_order(collection))

    def judge(self, ranked: Orders) -> dict[str, float]:
        found = retrieval.evaluate(ranked, self.collection.judged)
        return {score: found[score] for score in SHOWN}

    def both(self, ranked: Orders) -> Orders:
        """The orders of BM25 and of vectors as one; a place counts, and not the score that led to it."""
        return [
            list(fused([(text, 0.0) for text in words], [(text, 0.0) for text in near]))[: retrieval.DEEP]
            for words, near in zip(self.words, ranked, strict=True)
        ]


def scores(
    encode: Encode, pairs: Sequence[tuple[str, str, float]], collections: dict[str, Asked]
) -> dict[str, object]:
    left, right, truth = zip(*pairs, strict=True)
    found: dict[str, object] = {"sts_b": metrics.likeness(encode(left), encode(right), np.array(truth))}
    for name, asked in collections.items():
        queries, corpus = encode(asked.collection.queries), encode(asked.collection.corpus)
        ranked = retrieval.search(queries, corpus).tolist()
        found[name] = asked.judge(ranked)
        found[f"{name}_both"] = asked.judge(asked.both(ranked))
    return found


if __name__ == "__main__":
    main()
