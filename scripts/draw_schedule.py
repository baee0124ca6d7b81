#!/usr/bin/env python
"""Draw what is learnt when, from the schedules themselves, to docs/pictures/schedule.svg.

python scripts/draw_schedule.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from pocketbert.transfer.methods import Course, Method, schedule
from pocketbert.transfer.schedule import WORD_LOSSES, at, total

METHODS: tuple[Method, ...] = ("progressive", "joint", "auxiliary", "none")
COURSE = Course(blocks=6, block_steps=2, distillation_steps=10, warmup=2, end=0.1)
PARTS = ["embeddings", *(f"block.{block}" for block in range(COURSE.blocks)), "head"]


def draw(method: Method, axes: Axes) -> None:
    """One column a step: shaded by how fast each part moves, with a dot where a loss looks."""
    stages = schedule(method, COURSE)
    steps = range(total(stages))
    shades = [
        [stage.rate(number, part) for stage, number in (at(stages, step) for step in steps)] for part in PARTS
    ]
    axes.imshow(
        shades, cmap="Blues", norm=PowerNorm(0.5, vmin=0, vmax=1.6), aspect="auto", origin="lower",
        interpolation="nearest", extent=(0, len(steps), 0, len(PARTS)),
    )  # fmt: skip
    layers = [(step + 0.5, layer + 1.5) for step in steps for layer in at(stages, step)[0].layers]
    words = [step + 0.5 for step in steps if any(name in at(stages, step)[0].losses for name in WORD_LOSSES)]
    axes.plot([x for x, _ in layers], [y for _, y in layers], "o", color="black", ms=3.5)
    axes.plot(words, [len(PARTS) - 0.5] * len(words), "D", color="tab:orange", ms=4)
    axes.set_xlim(0, total(stages))
    axes.set_ylim(0, len(PARTS))
    axes.set_xticks([0, COURSE.transfer_steps, total(stages)], ["0", "transfer", "end"])
    axes.set_yticks([row + 0.5 for row in range(len(PARTS))], [part.replace(".", " ") for part in PARTS])
    axes.set_title(method, fontsize=10)
    axes.axvline(COURSE.transfer_steps, color="grey", lw=0.8, ls=":")


def main(file: Path) -> None:
    mpl.rcParams |= {
        "svg.hashsalt": "schedule",
        "svg.fonttype": "none",
    }  # the same bytes for the same picture
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    for method, axes in zip(METHODS, figure.subplots(2, 2).flat, strict=True):
        draw(method, axes)
    figure.supxlabel("shade: share of the rate   ● layers compared with the teacher   ◆ words", fontsize=9)
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    default = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "schedule.svg"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
