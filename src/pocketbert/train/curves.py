"""The curves of a run as a picture: loss, rate and every score over the steps, drawn from its log."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import require
from pocketbert.train.log import read_log


def draw(log_file: Path, picture: Path) -> None:
    """Draw the log of a run to a PNG file."""
    require("matplotlib", extra="lab")
    from matplotlib.figure import Figure

    records = read_log(log_file)
    train = [record for record in records if record["kind"] == "train"]
    # The mean of the snapshots, evaluated last, is no point of the curve.
    evaluations = [record for record in records if record["kind"] == "evaluation" and "of" not in record]
    scores = sorted(
        {name for record in evaluations for name, value in record["scores"].items() if value is not None}
    )
    panels = 1 + bool(scores)
    figure = Figure(figsize=(8, 3.5 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]

    steps = np.asarray([record["step"] for record in train])
    losses = np.asarray([record["loss"] for record in train])
    axes[0].plot(steps, losses, color="tab:blue", alpha=0.3, linewidth=1)
    axes[0].plot(steps, smoothed(losses), color="tab:blue", linewidth=1.5, label="loss")
    axes[0].set_xlabel("step")
    axes[0].set_ylabel("loss")
    rate = axes[0].twinx()
    rate.plot(steps, [record["rate"] for record in train], color="tab:orange", linewidth=1)
    rate.set_ylabel("rate", color="tab:orange")
    rate.ticklabel_format(axis="y", scilimits=(0, 0))
    for name in scores:
        marks = [(record["step"], record["scores"].get(name)) for record in evaluations]
        known = [mark for mark in marks if mark[1] is not None]
        axes[-1].plot(*zip(*known, strict=True), marker="o", markersize=3, linewidth=1.2, label=name)
    if scores:
        axes[-1].set_xlabel("step")
        axes[-1].legend(fontsize="small", loc="best")
    for axis in axes:
        axis.grid(alpha=0.3)

    picture_bytes = io.BytesIO()
    figure.savefig(picture_bytes, format="png", dpi=110)
    temporary = picture.with_name(f".{picture.name}.unfinished")
    try:
        temporary.write_bytes(picture_bytes.getvalue())
        temporary.replace(picture)
    finally:
        temporary.unlink(missing_ok=True)


def smoothed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A running mean over a twentieth of the run, at least over one value."""
    window = max(1, len(values) // 20)
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - window)
    means: NDArray[np.float64] = (sums[ends] - sums[starts]) / (ends - starts)
    return means
