#!/usr/bin/env python3
"""Draw how stores grow from benchmarks/results/search.json to docs/pictures/search.svg.

    .venv/bin/python scripts/draw_search.py [FILE [RESULTS]]

Above, the time until the best passages are there, by words, by vectors and by both: the median as a line, up to the
slowest twentieth as a band. Below, the rate of storing, the size on disk and the peak memory.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
LABELS = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
COLOURS = {"sqlite": "tab:blue", "postgres": "tab:orange"}
BELOW = {
    "stored_a_second": "passages stored a second",
    "megabytes": "megabytes on disk",
    "peak_megabytes": "peak megabytes of the indexing process",
}


def latency(axes: Axes, stores: dict[str, Any], way: str) -> None:
    """A line and a band for each store."""
    for store, rows in stores.items():
        sizes = [row["passages"] for row in rows]
        middle, slow = ([row["latency"][way][share] for row in rows] for share in ("p50", "p95"))
        axes.plot(sizes, middle, marker="o", ms=4, color=COLOURS[store], label=LABELS[store])
        axes.fill_between(sizes, middle, slow, color=COLOURS[store], alpha=0.2, lw=0)
    finish(axes, f"by {way}, milliseconds")


def figures(axes: Axes, stores: dict[str, Any], name: str) -> None:
    """A line for each store."""
    for store, rows in stores.items():
        axes.plot(
            [row["passages"] for row in rows], [row[name] for row in rows],
            marker="o", ms=4, color=COLOURS[store], label=LABELS[store],
        )  # fmt: skip
    finish(axes, BELOW[name])


def finish(axes: Axes, title: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, fontsize=10)
    axes.grid(lw=0.3)


def main(file: Path, results: Path) -> None:
    mpl.rcParams |= {"svg.hashsalt": "search", "svg.fonttype": "none"}
    stores = json.loads(results.read_text(encoding="utf-8"))["growth"]["value"]["stores"]
    figure = Figure(figsize=(10, 6), layout="constrained")
    above, below = figure.subplots(2, 3)
    for axes, way in zip(above, ("words", "vectors", "both"), strict=True):
        latency(axes, stores, way)
    for axes, name in zip(below, BELOW, strict=True):
        figures(axes, stores, name)
    above[0].legend(fontsize=8)
    figure.supxlabel("passages", fontsize=9)
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    places = [ROOT / "docs" / "pictures" / "search.svg", ROOT / "benchmarks" / "results" / "search.json"]
    given = [Path(argument) for argument in sys.argv[1:]]
    main(*[*given, *places[len(given) :]])
