#!/usr/bin/env python3
"""Draw the readers of the package from benchmarks/results/readers.json to docs/pictures/readers.svg.

    .venv/bin/python scripts/draw_readers.py [FILE]

A disc for each: how long it takes for a window, how often it is right, and, by its area, how large its file is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "readers.json"
AREA = 40  # square points a megabyte


def draw(readers: dict[str, Any], machine: str) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for score, marker, label in (
        ("has_answer_f1", "tab:blue", "where it must answer"),
        ("f1", "tab:orange", "where it may be silent"),
    ):
        places = [(row["milliseconds"]["1"], row["scores"][score]) for row in readers.values()]
        sizes = [AREA * row["megabytes"] for row in readers.values()]
        axes.plot(*zip(*places, strict=True), color=marker, lw=1, ls=":")
        axes.scatter(*zip(*places, strict=True), s=sizes, color=marker, alpha=0.5, label=label)
    for name, row in readers.items():
        text = f"{name}\n{row['blocks']} blocks, {row['megabytes']:.0f} MB"
        middle = sum(row["scores"][score] for score in ("f1", "has_answer_f1")) / 2
        axes.annotate(text, (row["milliseconds"]["1"], middle), ha="center", va="center", fontsize=9)
    axes.margins(0.3)
    axes.set_xlim(left=0)
    axes.set_xlabel("milliseconds for a window of 128 tokens, one thread")
    axes.set_ylabel("F1 on SQuAD 2.0, development set")
    axes.set_title(machine, fontsize=8)
    axes.grid(lw=0.3)
    legend = axes.legend(loc="lower right")
    for handle in legend.legend_handles:
        handle.set_sizes([80])
    return figure


def main() -> None:
    entry = json.loads(RESULTS.read_text(encoding="utf-8"))["embedded"]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures" / "readers.svg"
    mpl.rcParams["svg.hashsalt"] = "pocketbert"  # the same bytes on every run
    draw(entry["value"], entry["circumstances"]["machine"]).savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
