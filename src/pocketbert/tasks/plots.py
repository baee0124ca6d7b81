"""Pictures of scores, as PNG files: risk against coverage, reliability, and which label was taken for which."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import require
from pocketbert.tasks.confidence import Reliability, RiskCoverage


def plot_risk_coverage(path: str | os.PathLike[str], curves: dict[str, RiskCoverage]) -> None:
    """Draw one or more named risk-coverage curves into a PNG file."""
    figure, axes = _figure()
    for name, curve in curves.items():
        axes.plot(100 * curve.coverage, 100 * curve.risk, label=f"{name} (area {100 * curve.area:.1f})")
    axes.set(
        xlabel="questions answered, the surest first (%)", ylabel="risk (%)", xlim=(0, 100), ylim=(0, None)
    )
    axes.legend()
    _save(figure, path)


def plot_reliability(path: str | os.PathLike[str], reliability: Reliability) -> None:
    """Draw accuracy against confidence into a PNG file, with the number of predictions in each bin below."""
    figure, axes = _figure()
    full = reliability.count > 0
    width = np.diff(reliability.edges)
    axes.bar(
        reliability.edges[:-1][full], reliability.accuracy[full], width=width[full], align="edge", alpha=0.6
    )
    axes.plot(reliability.confidence[full], reliability.accuracy[full], "o-", color="black", markersize=3)
    axes.plot([0, 1], [0, 1], "--", color="grey")
    for left, size, accuracy, count in zip(
        reliability.edges, width, reliability.accuracy, reliability.count, strict=False
    ):
        if count:
            axes.text(left + size / 2, accuracy, str(count), ha="center", va="bottom", fontsize=6)
    title = f"expected calibration error {100 * reliability.error:.1f} %"
    axes.set(xlabel="confidence", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1.05), title=title)
    _save(figure, path)


def plot_confusion(
    path: str | os.PathLike[str], counts: NDArray[np.int64], names: Sequence[str], *, most: int = 40
) -> None:
    """Draw into a PNG file how often each label (row) was taken for each (column); of many, the most frequent."""
    largest = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:most])
    shown = counts[np.ix_(largest, largest)]
    labels = [names[place] if len(names[place]) <= 24 else f"{names[place][:23]}…" for place in largest]
    size = max(4.0, 0.4 * len(labels) + 2)
    figure, axes = _figure((size, size))
    axes.grid(visible=False)
    shares = shown / np.maximum(shown.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(shown):
        colour = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, str(count), ha="center", va="center", fontsize=7, color=colour)
    ticks = range(len(labels))
    axes.set_xticks(ticks, labels, rotation=90)
    axes.set_yticks(ticks, labels)
    axes.set(xlabel="said", ylabel="true")
    _save(figure, path)


def _figure(size: tuple[float, float] = (5, 4)) -> tuple[Any, Any]:
    # Figure with its own Agg canvas: pyplot would pick a window system and keep global state.
    figure = require("matplotlib.figure", extra="lab").Figure(figsize=size, layout="constrained")
    require("matplotlib.backends.backend_agg", extra="lab").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, format="png", metadata={"Software": None})
