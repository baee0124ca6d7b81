"""How far some work is, on one line of the error stream."""

from __future__ import annotations

import sys
from types import TracebackType


class Progress:
    """Counts what is done, if it is to be shown; the line is ended where the work ends, or fails."""

    def __init__(self, shown: bool | None, what: str, total: int | None = None) -> None:
        self._shown, self._what, self._total, self._done = bool(shown), what, total, 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._done:
            sys.stderr.write("\n")

    def add(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        if self._shown:
            of = "" if self._total is None else f" of {self._total}"
            sys.stderr.write(f"\r{self._done}{of} {self._what}")
            sys.stderr.flush()
