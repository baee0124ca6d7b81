"""Sums between two lines of the log; part of a checkpoint, so a resumed run writes the same lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pocketbert.train.step import Outcome


@dataclass
class Window:
    """The steps since the last line, and the totals of the run."""

    steps: int = 0
    loss: float = 0.0
    tokens: int = 0
    padded: int = 0
    seconds: float = 0.0
    logged: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(
        default_factory=dict
    )  # in how many steps; a stage may end within the window
    total_tokens: int = 0
    total_seconds: float = 0.0

    def add(self, outcome: Outcome, seconds: float) -> None:
        """Take in a step and how long it took."""
        self.steps += 1
        self.loss += outcome.loss
        self.tokens += outcome.tokens
        self.padded += outcome.padded
        self.seconds += seconds
        for name, value in outcome.logged.items():
            self.logged[name] = self.logged.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1
        self.total_tokens += outcome.tokens
        self.total_seconds += seconds

    @property
    def tokens_per_second(self) -> float:
        """Real tokens, padding not counted; evaluating and saving do not count as time."""
        return self.tokens / max(self.seconds, 1e-9)

    def line(self) -> dict[str, Any]:
        """The means of the window, which then begins anew."""
        means = {name: value / self.counts[name] for name, value in self.logged.items()}
        line = {
            **means,
            "loss": self.loss / self.steps,
            "tokens_per_second": round(self.tokens_per_second, 1),
            "padding": round(1 - self.tokens / max(1, self.padded), 4),
            "tokens": self.total_tokens,
            "seconds": round(self.total_seconds, 3),
        }
        self.steps, self.loss, self.tokens, self.padded, self.seconds = 0, 0.0, 0, 0, 0.0
        self.logged, self.counts = {}, {}
        return line

    def state(self) -> dict[str, Any]:
        """For the checkpoint."""
        return asdict(self)

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Window:
        """Continue."""
        return cls(**{**state, "logged": dict(state["logged"]), "counts": dict(state["counts"])})
