"""Which evaluation was the best, and when to stop waiting for a better one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pocketbert.errors import TrainingError


@dataclass
class Best:
    """The best score so far."""

    metric: str | None
    greater_is_better: bool
    score: float | None = None
    step: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    waited: int = 0

    def offer(self, scores: Mapping[str, float], step: int) -> bool:
        """Take in an evaluation; says whether it is the best so far."""
        if self.metric is None:
            return False
        if self.metric not in scores:
            raise TrainingError(
                f"metric_for_best_model = {self.metric!r}, but the evaluation gave {', '.join(sorted(scores))}"
            )
        if self.beats(scores[self.metric]):
            self.score, self.step, self.scores, self.waited = scores[self.metric], step, dict(scores), 0
            return True
        self.waited += 1
        return False

    def beats(self, score: float) -> bool:
        """Whether a score is better than the best so far; one that is no number never is."""
        if math.isnan(score):
            return False
        if self.score is None:
            return True
        return score > self.score if self.greater_is_better else score < self.score

    def forget(self) -> None:
        """Begin anew: the weights that scored so are not here."""
        self.score, self.step, self.scores, self.waited = None, 0, {}, 0

    def state(self) -> dict[str, Any]:
        """For the checkpoint."""
        return asdict(self)

    def load(self, state: Mapping[str, Any]) -> None:
        """Continue; another metric begins anew."""
        if state["metric"] == self.metric and state["greater_is_better"] == self.greater_is_better:
            self.score, self.step = state["score"], state["step"]
            self.scores, self.waited = dict(state["scores"]), state["waited"]
