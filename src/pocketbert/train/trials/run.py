"""A search: trials one after the other, each a whole run of the recipe in a folder of its own, and the best is kept."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import torch

from pocketbert import checkpoint, hub
from pocketbert.errors import InputError, TrainingError, require
from pocketbert.model import read_config
from pocketbert.train.fields import shown, to_json
from pocketbert.train.interrupt import Interrupted
from pocketbert.train.log import clock
from pocketbert.train.step import Diverged
from pocketbert.train.together import processes
from pocketbert.train.trials import disk, table
from pocketbert.train.trials.ranges import recommended
from pocketbert.train.trials.record import FILE, Record, Trial
from pocketbert.train.trials.sampler import falls_behind, propose
from pocketbert.train.trials.settings import TRIALS, Budget, SearchSettings
from pocketbert.train.trials.space import NOT_SEARCHED, Choices, Space, parse_space, points, split_space
from pocketbert.train.watch import Pruned, Sight, watched

Settings = TypeVar("Settings", bound=SearchSettings)

# What may differ when a search goes on: none of it changes a trial's score.
_FREE = {*(name for name in NOT_SEARCHED if name.startswith(("output", "overwrite", "resume", "search"))),
         "save_steps", "save_minutes", "save_total_limit", "logging_steps", "plot_curves"}  # fmt: skip


def searchable(run: Callable[[Settings], Mapping[str, float]]) -> Callable[[Settings], Any]:
    """Let `--search` run a recipe several times: put it above the recipe's `run`."""

    @wraps(run)
    def run_or_search(settings: Settings) -> Any:
        return run(settings) if settings.search is None else _Search(run, settings).run()

    return run_or_search


class _Search:
    """One search, begun or gone on with."""

    def __init__(self, run: Callable[[Any], Mapping[str, float]], settings: SearchSettings) -> None:
        if processes().num_processes > 1:
            raise InputError(
                "a search runs its trials one after the other in one process: start it without a launcher"
            )
        require("optuna", extra="lab")
        self.recipe, self.settings, self.output = run, settings, settings.output_dir
        self.budget = Budget.parse(settings.search or "auto")
        texts, source = _ranges(settings)
        self.space = parse_space(texts, type(settings))
        _check(self.space, settings)
        shared = {
            name: value for name, value in to_json(settings).items() if name not in {*_FREE, *self.space}
        }
        self.record = Record(self.output / FILE, texts, shared, source)
        if disk.begin(settings):
            self.record.take_up()
        every = points(self.space)
        self.grid = every is not None and len(every) <= (self.budget.trials or TRIALS)
        self.most = self.budget.trials if self.budget.seconds is None else None
        if self.budget == Budget():
            self.most = len(every) if self.grid and every is not None else TRIALS

    def run(self) -> table.Report:
        disk.tidy(self.output, self.record)
        with _said_once():
            while (trial := self.record.running or self._next()) is not None:
                self._try(trial)
                disk.tidy(self.output, self.record)
                self._write()
        best = self.record.best
        if best is None:
            raise TrainingError(f"no trial came to a score; {self._failures()}")
        disk.promote(self.output, self.record, best)
        self._write()
        return table.Report(self.record, best)

    def _next(self) -> Trial | None:
        """The next trial, on record before it begins; None when there is none to begin."""
        ended = self.record.ended
        if self.most is not None and len(ended) >= self.most:
            return None
        if self.budget.seconds is not None and self.record.seconds >= self.budget.seconds:
            return None
        values = propose(
            self.space,
            ended,
            first={name: getattr(self.settings, name) for name in self.space},
            seed=self.settings.seed,
            greater_is_better=self.record.greater_is_better,
            grid=self.grid,
        )
        if values is None:
            return None
        trial = Trial(len(ended), values)
        self.record.trials.append(trial)
        self.record.save()
        return trial

    def _try(self, trial: Trial) -> None:
        """Run a trial to its end, or on to its end: every way to end it is written down."""
        chosen = " ".join(f"{name}={shown(value)}" for name, value in trial.values.items())
        self._say(f"trial {trial.number}{'' if self.most is None else f' of {self.most}'}: {chosen}")
        folder = disk.trial_folder(self.output, trial)
        settings = replace(
            self.settings,
            **trial.values,
            search=None,
            search_space=None,
            search_fixed=(),
            output_dir=folder,
            overwrite_output_dir=False,
            resume_from_checkpoint="latest" if folder.is_dir() else None,
        )
        before, began = trial.seconds, time.monotonic()

        def look(sight: Sight) -> None:
            trial.seconds = before + time.monotonic() - began
            self._look(trial, sight)

        try:
            with watched(look):
                scores = None if self._behind(trial) else self.recipe(settings)
            self._end(trial, scores)
        except Pruned:
            self._end(trial, None)
        except InputError:
            if (
                not folder.is_dir()
            ):  # nothing has begun, and nothing is to be in the way of a corrected command
                self.record.forget(trial)
            raise
        except Interrupted as stopped:
            self.record.save()
            raise Interrupted(
                f"trial {trial.number} {str(stopped).partition(';')[0]}; go on with the same command and "
                "--resume_from_checkpoint latest"
            ) from stopped
        except (TrainingError, torch.OutOfMemoryError) as error:
            if isinstance(error, TrainingError) and not isinstance(error.__cause__, Diverged):
                raise  # a full disk, say: the next trial would fail as well
            trial.state, trial.error = "failed", str(error).partition(";")[0]
        trial.seconds = before + time.monotonic() - began
        self.record.save()
        self._say(self._outcome(trial))

    def _end(self, trial: Trial, scores: Mapping[str, float] | None) -> None:
        """Write down what a trial came to; without scores it was given up."""
        if scores is None:
            trial.state, trial.score = "pruned", list(trial.seen.values())[-1]
            return
        metric = self.record.metric
        if metric is None or metric not in scores:
            raise InputError("this recipe evaluated nothing that trials could be compared by")
        if math.isfinite(scores[metric]):
            trial.state, trial.score, trial.scores = "finished", float(scores[metric]), dict(scores)
        else:
            trial.state, trial.error = "failed", f"{metric} is {scores[metric]}"

    def _look(self, trial: Trial, sight: Sight) -> None:
        """Write a score down, and end a trial that falls behind."""
        record = self.record
        record.metric, record.greater_is_better = sight.metric, sight.greater_is_better
        epoch = math.floor(sight.epoch + 1e-6)
        if epoch >= 1 and epoch not in trial.seen and math.isfinite(sight.score):
            trial.seen[epoch] = sight.score
        record.save()
        if self._behind(trial):
            raise Pruned(f"trial {trial.number} fell behind after {epoch} epochs")

    def _behind(self, trial: Trial) -> bool:
        """Whether to give a trial up; one that has done all its epochs is not."""
        done = max(trial.seen, default=0)
        epochs = trial.values.get("num_train_epochs", self.settings.num_train_epochs)
        if not done or (self.settings.max_steps is None and done >= epochs):
            return False
        greater = self.record.greater_is_better
        return falls_behind(self.space, self.record.ended, trial, greater_is_better=greater)

    def _write(self) -> None:
        table.write_csv(self.output / "trials.csv", self.record)
        if self.settings.plot_curves:
            table.draw(self.output / "trials.png", self.record, self.space)

    def _failures(self) -> str:
        failed = [trial for trial in self.record.ended if trial.error]
        return "; ".join(f"trial {trial.number}: {trial.error}" for trial in failed[:3]) or "none was begun"

    def _outcome(self, trial: Trial) -> str:
        if trial.state == "failed":
            return f"trial {trial.number} failed: {trial.error}"
        best = self.record.best
        known = "" if best is None else f"; the best so far is {best.score:.4g} (trial {best.number})"
        word = "gave" if trial.state == "finished" else "was given up at"
        return f"trial {trial.number} {word} {self.record.metric} {trial.score:.4g} in {clock(trial.seconds)}{known}"

    @staticmethod
    def _say(text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


@contextmanager
def _said_once() -> Iterator[None]:
    """Within, a warning that every trial would repeat is logged once."""
    said: set[str] = set()

    def new(line: logging.LogRecord) -> bool:
        before = len(said)
        said.add(line.getMessage())
        return len(said) > before

    logger = logging.getLogger("pocketbert")
    logger.addFilter(new)
    try:
        yield
    finally:
        logger.removeFilter(new)


def _ranges(settings: SearchSettings) -> tuple[dict[str, str], str | None]:
    """The ranges to search as texts by setting, and whose they are."""
    if settings.search_space is not None:
        return split_space(settings.search_space), None
    folder = hub.resolve(str(getattr(settings, "model", ""))).folder
    config = read_config(checkpoint.read_json(folder / "config.json"))
    ranges = recommended(config.model_type, lora=getattr(settings, "lora_rank", None) is not None)
    fixed = {*settings.search_fixed, *(("num_train_epochs",) if settings.max_steps is not None else ())}
    texts = {name: text for name, text in ranges.settings.items() if name not in fixed}
    if not texts:
        raise InputError(
            f"nothing is left to search: {', '.join(ranges.settings)} are all given; leave one out, or say "
            "what to search by --search_space"
        )
    return texts, ranges.source


def _check(space: Space, settings: SearchSettings) -> None:
    """Refuse values that no run can use before the first trial, and settings that would do nothing."""
    if "num_train_epochs" in space and settings.max_steps is not None:
        raise InputError(
            "num_train_epochs is searched, but max_steps decides how long a trial is: leave one out"
        )
    for name, part in space.items():
        for value in part.values if isinstance(part, Choices) else (part.low, part.high):
            replace(settings, **{name: value})
