"""SIGTERM and SIGINT end a run after the step at hand, not in the middle of it."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from pocketbert.errors import TrainingError


class Interrupted(TrainingError):  # noqa: N818 - nothing went wrong
    """A run that was asked to stop, saved itself and can be resumed."""


class Signals:
    """Notes the first SIGTERM or SIGINT; a second SIGINT breaks off at once, as one expects of Ctrl-C."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self.number = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        """Take over the signals, where that is possible: only the main thread can."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.number and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.number = number
