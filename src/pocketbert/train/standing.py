"""Where a run stands: all of its state that is not tensors, as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pocketbert.train.best import Best
from pocketbert.train.window import Window


@dataclass
class Standing:
    """Steps done, the last evaluation, the best one, and the sums of the log."""

    best: Best
    step: int = 0
    evaluated: int = -1  # after how many steps the last evaluation was
    scores: dict[str, float] = field(default_factory=dict)
    window: Window = field(default_factory=Window)

    def state(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {
            "step": self.step,
            "evaluated": self.evaluated,
            "scores": self.scores,
            "best": self.best.state(),
            "window": self.window.state(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Continue."""
        self.step, self.evaluated, self.scores = state["step"], state["evaluated"], dict(state["scores"])
        self.best.load(state["best"])
        self.window = Window.load(state["window"])
