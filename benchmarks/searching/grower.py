"""One store that grows: a process of its own, so that its memory is its own.

    python benchmarks/searching/grower.py STORE PLACE FOLDER SIZE…

STORE is sqlite or postgres, PLACE a file or an address. FOLDER holds given.json (paragraphs, queries, seed) and
vectors.npz (of the first passages, and of the queries). For each size a line of JSON is printed. What is timed is the
store alone: texts and vectors are made between its batches.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from texts import Text, mixed, until

from pocketbert.search.index import BATCH
from pocketbert.search.places import Places
from pocketbert.search.rank import DEPTH, fused
from pocketbert.search.store import Document, Entry, Filter, Settings, Store, Vectors

ALL = Filter()
SHOWN = 10  # passages whose texts are fetched
WARM = 5  # queries that are not timed
LINES = Places((0,), (1,), (0,))


def main() -> None:
    kind, place, folder, *sizes = sys.argv[1:]
    given = json.loads((Path(folder) / "given.json").read_text(encoding="utf-8"))
    with np.load(Path(folder) / "vectors.npz") as file:
        real, asked = file["passages"], file["queries"]
    wanted = sorted(map(int, sizes))
    store = opened(kind, place, real.shape[1])
    base = highest(os.getpid())
    done = from_data = since = 0
    seconds = 0.0
    for texts in batches(until(wanted, given["paragraphs"], given["seed"]), wanted):
        entries = made(texts, real, done, given["seed"])
        before = time.perf_counter()
        store.replace(entries)
        seconds += time.perf_counter() - before
        done += sum(len(text.passages) for text in texts)
        from_data += sum(len(text.passages) for text in texts if text.real)
        if done in wanted:
            if kind == "postgres":
                analyze(place)
            latency = latencies(store, given["queries"], asked)
            report = {
                **software(kind, place),
                "passages": done,
                "passages_from_data": from_data,
                "vectors_embedded": min(done, len(real)),
                "stored_a_second": round((done - since) / seconds, 1),
                "megabytes": round(store.statistics().bytes / 1e6, 2),
                "peak_megabytes": highest(os.getpid()),
                "peak_megabytes_before": base,
                "latency": latency,
            }
            print(json.dumps(report), flush=True)
            since, seconds = done, 0.0
    store.close()


def opened(kind: str, place: str, dimensions: int) -> Store:
    settings = Settings(embedder="benchmark", fingerprint="0" * 64, dimensions=dimensions)
    if kind == "postgres":
        from pocketbert.search.postgres import PostgresStore

        return PostgresStore.create(place, settings)
    from pocketbert.search.sqlite import SqliteStore

    return SqliteStore.create(place, settings)


def batches(texts: Iterable[Text], sizes: Sequence[int]) -> Iterator[list[Text]]:
    """As an indexer would bring them; a batch ends where a size is reached, too."""
    batch: list[Text] = []
    waiting = done = 0
    for text in texts:
        batch.append(text)
        waiting += len(text.passages)
        done += len(text.passages)
        if waiting >= BATCH or done in sizes:
            yield batch
            batch, waiting = [], 0


def made(texts: Sequence[Text], real: Vectors, done: int, seed: int) -> list[Entry]:
    """Documents after so many passages, with vectors: those of the embedder while there are any, then mixed ones."""
    generator = np.random.default_rng((seed, done))
    entries = []
    for text in texts:
        count = len(text.passages)
        known = real[done : done + count]
        vectors = np.concatenate([known, mixed(real, count - len(known), generator)])
        data = text.text.encode(errors="replace")
        document = Document(
            f"{done}.txt", "plain", "", hashlib.sha256(data).hexdigest(), len(data), 10**18, len(text.text), count,
            places=LINES,
        )  # fmt: skip
        entries.append(Entry(document, text.passages, vectors))
        done += count
    return entries


def latencies(store: Store, queries: list[str], vectors: Vectors) -> dict[str, dict[str, float]]:
    """Milliseconds until the best passages are there, texts and all, in turns; the first few do not count."""

    def by_words(number: int) -> list[tuple[int, float]]:
        return store.by_words(queries[number], DEPTH, ALL)

    def by_vectors(number: int) -> list[tuple[int, float]]:
        return store.by_vector(vectors[number], DEPTH, ALL)

    ways: dict[str, Callable[[int], list[tuple[int, float]]]] = {
        "words": by_words,
        "vectors": by_vectors,
        "both": lambda number: list(fused(by_words(number), by_vectors(number)).items()),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    warm = min(WARM, len(queries))
    for number in [*range(warm), *range(len(queries))]:
        for name, way in ways.items():
            before = time.perf_counter()
            store.fetch([found for found, _ in way(number)[:SHOWN]])
            taken[name].append(1000 * (time.perf_counter() - before))
    return {
        name: {f"p{share}": round(float(np.percentile(values[warm:], share)), 2) for share in (50, 95)}
        for name, values in taken.items()
    }


def analyze(address: str) -> None:
    """What PostgreSQL does by itself after a minute or so: count words and look at columns."""
    import psycopg

    database, _, schema = address.partition("#")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f'analyze "{schema}".passages')


def software(kind: str, place: str) -> dict[str, object]:
    """What keeps the index, and the peak of the server's process that works for us, if it is on this machine."""
    if kind == "sqlite":
        import apsw
        import sqlite_vec

        return {"software": f"SQLite {apsw.sqlite_lib_version()}, sqlite-vec {sqlite_vec.__version__}"}
    import psycopg

    with psycopg.connect(place.partition("#")[0], autocommit=True) as connection:
        ((release, vector),) = connection.execute(
            "select current_setting('server_version'), extversion from pg_extension where extname = 'vector'"
        ).fetchall()
        rows = connection.execute("select pid from pg_stat_activity where application_name = 'pocketbert'")
        peaks = [peak for (process,) in rows.fetchall() if (peak := highest(process)) is not None]
    return {
        "software": f"PostgreSQL {release}, pgvector {vector}",
        "server_peak_megabytes": max(peaks, default=None),
    }


def highest(process: int) -> float | None:
    """The peak memory of a process in megabytes; not getrusage's, which begins with that of whoever started it."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    values = [int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")]
    return round(values[0], 1) if values else None


if __name__ == "__main__":
    main()
