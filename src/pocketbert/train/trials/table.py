"""The trials of a search for people: a table in a terminal, a CSV file, a picture."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

from pocketbert.errors import require
from pocketbert.train.fields import shown
from pocketbert.train.log import clock
from pocketbert.train.trials.record import Record, Trial
from pocketbert.train.trials.space import Range, Space


class Report:
    """What a search gives back: prints as the table and the scores of the best trial."""

    def __init__(self, record: Record, best: Trial) -> None:
        self.record, self.best = record, best

    def to_json(self) -> dict[str, Any]:
        """The scores of the best trial, its settings, and every trial."""
        data = self.record.to_json()
        return {
            "scores": self.best.scores,
            "best": {"trial": self.best.number, **self.best.values},
            "metric": data["metric"],
            "space": data["space"],
            "source": data["source"],
            "trials": data["trials"],
        }

    def __str__(self) -> str:
        chosen = " ".join(f"{name}={shown(value)}" for name, value in self.best.values.items())
        return "\n".join(
            [
                table(self.record),
                "",
                f"the best of {len(self.record.ended)} trials is {self.best.number}: {chosen}",
                *(f"{name}: {shown(value)}" for name, value in self.best.scores.items()),
            ]
        )


def table(record: Record) -> str:
    """The trials in columns; a star marks the best."""
    best = record.best
    header = ["trial", "state", *record.space, record.metric or "score", "epochs", "time"]
    rows = [
        [
            f"{trial.number}{'*' if trial is best else ''}",
            trial.state,
            *(shown(value) for value in trial.values.values()),
            "" if trial.score is None else f"{trial.score:.4g}",
            str(max(trial.seen, default="")),
            clock(trial.seconds),
        ]
        for trial in record.trials
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in (header, *rows)
    )
    return "\n".join(line.rstrip() for line in lines)


def write_csv(file: Path, record: Record) -> None:
    """The trials as a table for other programs."""
    best = record.best
    names = sorted({name for trial in record.trials for name in trial.scores} - {record.metric})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    metric = record.metric or "score"
    writer.writerow(["trial", "state", "best", *record.space, metric, *names, "epochs", "seconds", "error"])
    for trial in record.trials:
        scores = ["" if value is None else value for value in (trial.score, *map(trial.scores.get, names))]
        writer.writerow(
            [trial.number, trial.state, int(trial is best), *trial.values.values(), *scores,
             max(trial.seen, default=""), round(trial.seconds, 1), trial.error or ""]
        )  # fmt: skip
    _write(file, stream.getvalue().encode())


def draw(picture: Path, record: Record, space: Space) -> None:
    """The score against each setting that was searched, to a PNG file."""
    require("matplotlib", extra="lab")
    from matplotlib.figure import Figure

    known = [trial for trial in record.trials if trial.score is not None]
    if not known:
        return
    figure = Figure(figsize=(3.6 * len(space), 3.4), layout="constrained")
    axes = figure.subplots(1, len(space), squeeze=False, sharey=True)[0]
    looks = {"finished": ("o", "tab:blue", "finished"), "pruned": ("x", "tab:gray", "given up early")}
    for axis, (name, part) in zip(axes, space.items(), strict=True):
        for state, (marker, colour, label) in looks.items():
            chosen = [trial for trial in known if trial.state == state]
            if chosen:
                axis.scatter(
                    [_place(trial.values[name]) for trial in chosen],
                    [trial.score for trial in chosen],
                    marker=marker, color=colour, s=28, label=label,
                )  # fmt: skip
        best = record.best
        if best is not None:
            axis.scatter(
                [_place(best.values[name])], [best.score], marker="*", color="tab:orange", s=140, label="best"
            )
        if isinstance(part, Range) and part.log:
            axis.set_xscale("log")
            marks = (part.low, math.sqrt(part.low * part.high), part.high)
            axis.set_xticks(marks, [f"{mark:.2g}" for mark in marks])
            axis.minorticks_off()
        elif not isinstance(part, Range) and all(_place(value) == value for value in part.values):
            axis.set_xticks(part.values, [shown(value) for value in part.values])
        axis.set_xlabel(name)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(record.metric or "score")
    axes[-1].legend(fontsize="small", loc="best")
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    _write(picture, drawn.getvalue())


def _place(value: Any) -> Any:
    """Numbers stand where they are, words one beside the other."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _write(file: Path, data: bytes) -> None:
    temporary = file.with_name(f".{file.name}.unfinished")
    try:
        temporary.write_bytes(data)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
