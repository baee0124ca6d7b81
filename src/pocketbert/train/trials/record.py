"""The record of a search, trials.json: all that a killed search needs to go on, written anew after every score."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pocketbert import checkpoint
from pocketbert.errors import CheckpointError, TrainingError
from pocketbert.train.provenance import write_json

VERSION = 1
FILE = "trials.json"
State = Literal["running", "finished", "pruned", "failed"]


@dataclass
class Trial:
    """One run of a search."""

    number: int
    values: dict[str, Any]
    state: State = "running"
    score: float | None = None
    scores: dict[str, float] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)
    """The score after each epoch."""
    seconds: float = 0.0
    error: str | None = None


@dataclass
class Record:
    """The trials of a search, and what they have in common."""

    file: Path
    space: dict[str, str]
    settings: dict[str, Any]
    """What all trials share: a search cannot be resumed with other settings."""
    source: str | None = None
    metric: str | None = None
    greater_is_better: bool = True
    trials: list[Trial] = field(default_factory=list)

    @property
    def ended(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.state != "running"]

    @property
    def running(self) -> Trial | None:
        return next((trial for trial in self.trials if trial.state == "running"), None)

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best score; the first of equals."""
        finished = [trial for trial in self.trials if trial.state == "finished" and trial.score is not None]
        sign = 1 if self.greater_is_better else -1
        return max(finished, key=lambda trial: sign * (trial.score or 0.0), default=None)

    @property
    def seconds(self) -> float:
        return sum(trial.seconds for trial in self.trials)

    def save(self) -> None:
        """Write the file so that it is whole or as it was."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.file, self.to_json())

    def forget(self, trial: Trial) -> None:
        """Take a trial off the record; a record without any is deleted, and its folder if nothing else is in it."""
        self.trials.remove(trial)
        if self.trials:
            self.save()
            return
        self.file.unlink(missing_ok=True)
        with suppress(OSError):
            self.file.parent.rmdir()

    def to_json(self) -> dict[str, Any]:
        """Everything as one document."""
        data = asdict(self)
        del data["file"]
        best = self.best
        return {"version": VERSION, **data, "best": None if best is None else best.number}

    def take_up(self) -> None:
        """Read the trials that the file holds, if they are of this very search."""
        data = checkpoint.read_json(self.file)
        if data.get("version") != VERSION:
            raise CheckpointError(
                f"{self.file} is of version {data.get('version')}; this release reads {VERSION}"
            )
        before: Mapping[str, Any] = {**data["settings"], "the ranges": data["space"]}
        now = {**self.settings, "the ranges": self.space}
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                raise TrainingError(
                    f"{self.file} cannot be gone on with: {name} was {before.get(name)} and is now {now.get(name)}; "
                    "give the settings that the search began with, or another --output_dir"
                )
        self.metric, self.greater_is_better = data["metric"], data["greater_is_better"]
        self.trials = [
            Trial(**{**trial, "seen": {int(epoch): score for epoch, score in trial["seen"].items()}})
            for trial in data["trials"]
        ]
