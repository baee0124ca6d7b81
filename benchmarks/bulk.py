"""Measure how fast whole tables pass through a model, in one process and on a Ray of this machine.

    python benchmarks/bulk.py --data FILE… [--classifier DIR] [--embedder DIR] [--reader DIR] [--rows 20000]

Embeds, classifies and answers the same rows with `--engine local` and `--engine ray`, as the verbs do, Parquet in and
out: rows a second of the second half of the parts, when every worker has its model. Data are text files; a text is
about `--words` words of them, as a passage of an index is. A question is asked of every `--answer_every`th text.
Classifying is measured if there is a classifier. Results go to results/bulk.json; `--dry` prints and records nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet

from pocketbert.bulk.jobs import Answer, Classify, Embed
from pocketbert.bulk.on_ray import connected
from pocketbert.bulk.plan import Part
from pocketbert.bulk.run import run
from record import record

ENGINES = ("local", "ray")
ENOUGH = 16  # parts: of fewer, two workers may bring the last ones at the same moment


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embedder", help="an exported embedder [default: the embedded one]")
    parser.add_argument("--classifier", help="an exported classifier")
    parser.add_argument("--reader", help="a reader [default: the embedded one]")
    parser.add_argument("--data", nargs="+", required=True, help="text files")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=100, help="of a text")
    parser.add_argument("--answer_every", type=int, default=10)
    parser.add_argument("--part_rows", type=int, default=512)
    parser.add_argument("--dry", action="store_true", help="record nothing")
    options = parser.parse_args()
    measured = measure(options)
    if not options.dry:
        record("bulk", {"rows a second": measured})
    print(json.dumps(measured))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    texts = passages(options.data, options.words, options.rows)
    jobs: dict[str, Any] = {
        "embedding": Embed("text", model=options.embedder),
        "answering": Answer(context_column="text", model=options.reader),
    }
    if options.classifier:
        jobs["classifying"] = Classify(options.classifier, "text")
    report: dict[str, Any] = {
        "cores": os.cpu_count(),
        "words": round(sum(len(text.split()) for text in texts) / len(texts)),
        "jobs": {},
    }
    with tempfile.TemporaryDirectory() as name, connected():
        folder = Path(name)
        few = texts[:: options.answer_every]
        write(folder / "texts.parquet", {"text": texts})
        write(folder / "questions.parquet", {"text": few, "question": [question(text) for text in few]})
        for kind, job in jobs.items():
            file = folder / ("questions.parquet" if kind == "answering" else "texts.parquet")
            report["jobs"][kind] = {
                engine: timed(job, file, folder / f"{kind}-{engine}", engine, options) for engine in ENGINES
            }
    return report


def timed(job: Any, file: Path, out: Path, engine: Any, options: argparse.Namespace) -> dict[str, Any]:
    """One run on one thread a worker: rows a second of the second half, and bytes of a row."""
    ends: list[tuple[float, int]] = []

    def watched(parts: Iterable[Part]) -> Iterator[Part]:
        for part in parts:
            ends.append((time.perf_counter(), part.rows))
            yield part

    report = run(job, [file], out, engine=engine, part_rows=options.part_rows, threads=1, progress=watched)
    half = len(ends) // 2
    seconds = ends[-1][0] - ends[half][0]
    rows = sum(rows for _, rows in ends[half + 1 :]) if len(ends) >= ENOUGH else 0
    size = sum(path.stat().st_size for path in out.glob("*.parquet"))
    return {
        "rows": report.said.rows,
        "rows_per_second": round(rows / seconds, 1) if rows else None,
        "bytes_per_row": round(size / report.said.rows),
    }


def passages(files: list[str], words: int, rows: int) -> list[str]:
    """Texts of so many words, all different, from the beginning of the files on."""
    every = [word for file in files for word in Path(file).read_text(encoding="utf-8").split()]
    step = max(1, min(words, len(every) // rows))
    return [" ".join(every[start : start + words]) for start in range(0, step * rows, step)]


def question(text: str) -> str:
    return f"What is {' '.join(text.split()[:3])}?"


def write(path: Path, columns: dict[str, list[str]]) -> None:
    parquet.write_table(arrow.table(columns), path)


if __name__ == "__main__":
    main()
