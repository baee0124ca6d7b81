"""What a run tells: a JSON line per mark to a file, and a progress bar to a terminal."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO


class Log:
    """A file of JSON lines; each has `kind`, `step` and `time`."""

    def __init__(self, file: Path, *, after: int | None, enabled: bool = True) -> None:
        """Begin a log, or continue one `after` a step: what was logged beyond it is dropped."""
        self.file, self._enabled = file, enabled
        if not enabled:
            return
        kept = "" if after is None else "".join(f"{line}\n" for line in _lines(file, after))
        temporary = file.with_suffix(".unfinished")
        temporary.write_text(kept, encoding="utf-8")
        temporary.replace(file)

    def write(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        """Add a line; it is on its way to the disk when this returns."""
        if self._enabled:
            record = {"kind": kind, "step": step, **_finite(values), "time": round(time.time(), 3)}
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record, allow_nan=False) + "\n")


def read_log(file: Path) -> list[dict[str, Any]]:
    """The lines of a log; a last line that a kill cut short is left out."""
    records = []
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                records.append(json.loads(line))
    return records


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: a score that is none, or an overflowed fp16 gradient, becomes null."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines(file: Path, after: int) -> list[str]:
    return [json.dumps(record) for record in read_log(file) if record.get("step", 0) <= after]


class Progress:
    """One line that is rewritten in place: share done, loss, rate, throughput and time left."""

    def __init__(self, total: int, *, enabled: bool, stream: TextIO | None = None) -> None:
        """Draw to stderr, and only where that is a terminal."""
        self._stream = stream or sys.stderr
        self._enabled = enabled and self._stream.isatty()
        self._total, self._began, self._first, self._drawn = total, time.monotonic(), None, 0.0
        self._steps: int | None = None

    def show(self, step: int, *, loss: float, rate: float, tokens_per_second: float) -> None:
        """Redraw, at most five times a second."""
        now = time.monotonic()
        if self._steps is None:
            self._steps, self._began = step, now
        if not self._enabled or (now - self._drawn < 0.2 and step < self._total):
            return
        self._drawn = now
        done = step - self._steps
        left = clock((now - self._began) / done * (self._total - step)) if done else "?"
        share = step / self._total
        width = shutil.get_terminal_size((80, 20)).columns
        text = (
            f"{share:4.0%} {step}/{self._total}  loss {loss:.4f}  rate {rate:.2e}  "
            f"{tokens_per_second:,.0f} tokens/s  {left} left"
        )
        bar = max(0, min(30, width - len(text) - 4))
        filled = round(share * bar)
        self._stream.write("\r\x1b[2K" + f"{'━' * filled}{' ' * (bar - filled)} {text}"[: width - 1])
        self._stream.flush()

    def say(self, text: str) -> None:
        """A line that stays, above the bar."""
        if self._enabled:
            self._stream.write(f"\r\x1b[2K{text}{os.linesep}")
            self._stream.flush()

    def close(self) -> None:
        """Leave the bar as it is and go to the next line."""
        if self._enabled and self._drawn:
            self._stream.write("\n")
            self._stream.flush()


def clock(seconds: float) -> str:
    """Seconds as 1:02:03."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
