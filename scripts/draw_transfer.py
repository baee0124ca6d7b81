#!/usr/bin/env python3
"""Draw the ablations of knowledge transfer from benchmarks/results/transfer.json to docs/pictures/transfer.svg.

    .venv/bin/python scripts/draw_transfer.py [FILE]

Above, a dot for every seed: how many hidden words a student finds, and how well it does on a task afterwards. Below,
how far each of its layers is from the teacher's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "transfer.json"
LABELS = {
    "alone": "alone",
    "distillation": "+\ndistillation",
    "copied": "+ copied\nends",
    "feature maps": "+ feature\nmaps",
    "progressive": "+ attention =\nprogressive",
    "joint": "joint",
    "auxiliary": "auxiliary",
}


def dots(axes: Axes, arms: dict[str, Any], score: str, teacher: float, title: str) -> None:
    """A column for each arm: its seeds, and a dash at their mean; a line for the teacher."""
    for place, rows in enumerate(arms.values()):
        values = [100 * row[score] for row in rows]
        axes.plot([place] * len(values), values, "o", color="tab:blue", ms=5, alpha=0.7)
        axes.plot([place - 0.3, place + 0.3], [mean(values)] * 2, color="black", lw=1.5)
    axes.axhline(100 * teacher, color="tab:orange", lw=1.2, ls="--")
    axes.set_title(title, fontsize=10)
    axes.set_xticks(range(len(arms)), [LABELS[arm] for arm in arms], fontsize=7)
    axes.grid(axis="y", lw=0.3)


def lines(axes: Axes, arms: dict[str, Any], distance: str, title: str) -> None:
    """A line for each arm over the layers, the mean of its seeds."""
    for arm, rows in arms.items():
        layers = range(len(rows[0]["layers"]))
        axes.plot(
            [layer + 1 for layer in layers],
            [mean(row["layers"][layer][distance] for row in rows) for layer in layers],
            marker="o", ms=3, lw=1.2, label=LABELS[arm].replace("\n", " "),
        )  # fmt: skip
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("block", fontsize=8)
    axes.grid(lw=0.3)


def main(file: Path) -> None:
    mpl.rcParams |= {"svg.hashsalt": "transfer", "svg.fonttype": "none"}
    measured = json.loads(RESULTS.read_text(encoding="utf-8"))["bench"]["value"]
    arms, teacher = measured["arms"], measured["teacher"]
    figure = Figure(figsize=(10, 7), layout="constrained")
    above, below = figure.subplots(2, 2)
    dots(above[0], arms, "masked_lm_accuracy", teacher["masked_lm_accuracy"], "hidden words found, %")
    dots(above[1], arms, "task_accuracy", teacher["task_accuracy"], "fine-tuned: subjective or not, %")
    lines(below[0], arms, "feature_map", "distance of feature maps")
    lines(below[1], arms, "attention", "distance of attention maps")
    below[0].set_yscale("log")
    figure.legend(
        *below[1].get_legend_handles_labels(), loc="outside lower center", ncols=len(arms), fontsize=7
    )
    figure.suptitle("● a seed   – their mean   - - the teacher", fontsize=9)
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    default = ROOT / "docs" / "pictures" / "transfer.svg"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
