"""What is known of each model, as rows that can be kept in a file and joined with others of the same machine."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pocketbert.compare.timing import Timing
from pocketbert.errors import InputError


@dataclass(frozen=True)
class Row:
    """One model."""

    model: str
    family: str
    parameters: int
    gflops: float
    """Of one sequence of the chosen length."""
    megabytes: dict[str, float]
    """Form -> its weights on disk."""
    timings: dict[str, Timing] = field(default_factory=dict)
    """Form -> time and memory."""
    scores: dict[str, float] = field(default_factory=dict)
    """Where data was given, and the model has learnt the task."""


@dataclass(frozen=True)
class Comparison:
    """Rows that may stand beside each other, for they were measured on one machine in one way."""

    machine: dict[str, Any]
    settings: dict[str, Any]
    rows: tuple[Row, ...]

    def joined(self, other: Comparison, source: str) -> Comparison:
        """With the rows of another that are not here yet; refuses what cannot be compared."""
        for what, ours, theirs in (
            ("machine", self.machine, other.machine),
            ("settings", self.settings, other.settings),
        ):
            differing = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
            if differing:
                told = "; ".join(f"{key}: {theirs.get(key)} there, {ours.get(key)} here" for key in differing)
                raise InputError(
                    f"{source} was measured with another {what} ({told}); measure its models again here"
                )
        known = {row.model for row in self.rows}
        return Comparison(
            self.machine, self.settings, (*self.rows, *(row for row in other.rows if row.model not in known))
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def read(cls, path: Path) -> Comparison:
        """What `to_json` wrote to a file."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            rows = tuple(_row(row) for row in data["rows"])
            return cls(dict(data["machine"]), dict(data["settings"]), rows)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is no comparison ({type(error).__name__}: {error}); give a file that "
                "`pocketbert compare --json` wrote"
            ) from error


def this_machine() -> dict[str, Any]:
    """What makes one machine's times differ from another's."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def smaller_but_slower(rows: Sequence[Row], form: str) -> list[tuple[Row, Row, float]]:
    """Pairs of which the first has fewer parameters and takes longer, and how many times longer; the worst first."""
    timed = [row for row in rows if form in row.timings]
    found = [
        (small, large, small.timings[form].milliseconds / large.timings[form].milliseconds)
        for small in timed
        for large in timed
        if small.parameters < large.parameters
        and small.timings[form].low > large.timings[form].high  # beyond the spread of both
    ]
    return sorted(found, key=lambda pair: -pair[2])


def _row(data: dict[str, Any]) -> Row:
    timings = {form: Timing(**timing) for form, timing in data["timings"].items()}
    return Row(**{**data, "timings": timings})


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
