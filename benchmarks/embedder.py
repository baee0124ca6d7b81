"""What an embedder's vectors are worth, in torch and in each of its files, beside those of others and beside BM25.

    python benchmarks/embedder.py FOLDER --data FOLDER [--name NAME] [--precision fp32 …] [--words]

Data is the folder that holds glue/STS-B/original, retrieval/reqa-squad and retrieval/cranfield. Measured are Spearman's
correlation on STS-B's test pairs, and how far up the right sentence (ReQA) or the judged abstracts (Cranfield) come.
A text longer than the model reads at once is cut in torch, as sentence-transformers does it, and read to its end by
the exported files. With `--words` BM25 is measured too, which needs no model. Written to results/embedder.json under
`--name`; `--dry` records nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketbert.runtime.embed import Embedder
from pocketbert.runtime.session import FILES
from pocketbert.tasks.sentences import metrics, retrieval
from pocketbert.tasks.sentences.collections import read_collection
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.tasks.sentences.retrieval import Collection
from record import record

COLLECTIONS = {"reqa": "retrieval/reqa-squad/test.json", "cranfield": "retrieval/cranfield"}
SHOWN = ("mrr@10", "ndcg@10", "recall@1", "recall@10", "recall@100", "map@100")
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
    parser.add_argument("--words", action="store_true", help="measure BM25, too")
    parser.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()

    pairs = sts(options.data)
    collections = {name: read_collection([str(options.data / place)]) for name, place in COLLECTIONS.items()}
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
    found = {options.name: measured}
    if options.words:
        found["bm25"] = {
            name: ranking(retrieval.bm25_order(collection), collection)
            for name, collection in collections.items()
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


def scores(
    encode: Encode, pairs: Sequence[tuple[str, str, float]], collections: dict[str, Collection]
) -> dict[str, object]:
    left, right, truth = zip(*pairs, strict=True)
    found: dict[str, object] = {"sts_b": metrics.likeness(encode(left), encode(right), np.array(truth))}
    for name, collection in collections.items():
        queries, corpus = encode(collection.queries), encode(collection.corpus)
        found[name] = ranking(retrieval.search(queries, corpus), collection)
    return found


def ranking(ranked: Sequence[Sequence[int]] | NDArray[np.int64], collection: Collection) -> dict[str, float]:
    found = retrieval.evaluate(ranked, collection.judged)
    return {score: found[score] for score in SHOWN}


if __name__ == "__main__":
    main()
