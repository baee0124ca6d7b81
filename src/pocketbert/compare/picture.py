"""A comparison as people look at it: a table, and a plot of latency against size or score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pocketbert.compare.rows import Comparison, Row, smaller_but_slower
from pocketbert.errors import InputError, require


def table(comparison: Comparison) -> str:
    """Rows of text, one a model, the smallest first, and below them what one would not expect."""
    rows = sorted(comparison.rows, key=lambda row: row.parameters)
    forms = list(dict.fromkeys(form for row in rows for form in row.timings))
    scores = list(dict.fromkeys(name for row in rows for name in row.scores))
    lines = [["model", "parameters", "GFLOPs"]]
    for form in forms:
        lines[0] += [f"{form}: MB", "ms", "spread", "peak MB"]
    lines[0] += scores
    for row in rows:
        cells = [row.model, f"{row.parameters / 1e6:.1f} M", f"{row.gflops:.2f}"]
        for form in forms:
            cells += _timing_cells(row, form)
        lines.append(cells + [f"{row.scores[name]:.1f}" if name in row.scores else "-" for name in scores])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    settings = comparison.settings
    text.append(
        f"\n{settings['batch']} x {settings['length']} tokens, {settings['threads']} of "
        f"{comparison.machine['cores']} cores, {comparison.machine['processor']}"
    )
    for form in forms:
        for small, large, times in smaller_but_slower(rows, form)[:3]:
            text.append(
                f"{form}: {small.model} is smaller than {large.model} ({small.parameters / 1e6:.1f} against "
                f"{large.parameters / 1e6:.1f} million parameters) and takes {times:.1f} times as long"
            )
    return "\n".join(text)


def plot(comparison: Comparison, path: Path, *, against: str = "size") -> None:
    """Draw latency against `size` in megabytes, or against a score, into a PNG file."""
    # A figure with its own canvas: pyplot would pick a window system and keep global state.
    figure = require("matplotlib.figure", extra="lab").Figure(figsize=(7, 5), layout="constrained")
    require("matplotlib.backends.backend_agg", extra="lab").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    forms = list(dict.fromkeys(form for row in comparison.rows for form in row.timings))
    drawn = 0
    for form in forms:
        points = [
            (row, row.timings[form], place)
            for row in comparison.rows
            if form in row.timings and (place := _place(row, form, against)) is not None
        ]
        drawn += len(points)
        if points:
            _draw(axes, form, points)
    if not drawn:
        known = sorted({name for row in comparison.rows for name in row.scores})
        raise InputError(
            f"no model has {against!r} to draw latency against; there is size"
            + (
                f" and {', '.join(known)}"
                if known
                else "; scores come with --data, for models that were trained"
            )
        )
    settings = comparison.settings
    title = f"{settings['batch']} x {settings['length']} tokens, threads: {settings['threads']}"
    label = "size on disk (MB)" if against == "size" else against
    axes.set(xlabel=label, ylabel="milliseconds (median and quartiles)", ylim=(0, None), title=title)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, format="png", metadata={"Software": None})


def _draw(axes: Any, form: str, points: list[tuple[Row, Any, float]]) -> None:
    middle = [timing.milliseconds for _, timing, _ in points]
    below = [timing.milliseconds - timing.low for _, timing, _ in points]
    above = [timing.high - timing.milliseconds for _, timing, _ in points]
    places = [place for _, _, place in points]
    axes.errorbar(places, middle, yerr=[below, above], fmt="o", capsize=3, label=form)
    for row, timing, place in points:
        axes.annotate(
            row.model,
            (place, timing.milliseconds),
            textcoords="offset points",
            xytext=(6, 4),
            fontsize="small",
        )


def _place(row: Row, form: str, against: str) -> float | None:
    return row.megabytes.get(form) if against == "size" else row.scores.get(against)


def _timing_cells(row: Row, form: str) -> list[str]:
    timing = row.timings.get(form)
    if timing is None:
        return ["-"] * 4
    return [
        f"{row.megabytes[form]:.1f}",
        f"{timing.milliseconds:.1f}",
        f"{timing.low:.1f}-{timing.high:.1f}",
        f"{timing.peak_megabytes:.0f}",
    ]
