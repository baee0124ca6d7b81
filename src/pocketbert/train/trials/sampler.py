"""What to try next, and what to give up: optuna's TPE and median pruner, asked anew each time.

The study is built from the trials on record, and its seed follows from the number of the trial. So a search that was
killed proposes what it would have proposed, and the record is the only thing that must survive.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pocketbert.errors import require
from pocketbert.train.trials.record import Trial
from pocketbert.train.trials.space import Choices, Space, points

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

STARTUP = 5  # so many trials are drawn at random, and so many must have ended before one is given up
_ATTEMPTS = 20


def propose(
    space: Space,
    trials: Sequence[Trial],
    *,
    first: dict[str, Any],
    seed: int,
    greater_is_better: bool,
    grid: bool,
) -> dict[str, Any] | None:
    """The settings of the next trial; None if every point has been tried.

    The first has the settings as they stand, `first`, where they lie in the space: a search is never worse than none.
    """
    number = len(trials)
    tried = [trial.values for trial in trials]
    if not tried and all(first[name] in part for name, part in space.items()):
        return {name: first[name] for name in space}
    every = points(space)
    left = None if every is None else [point for point in every if point not in tried]
    if left is not None:
        if not left:
            return None
        random.Random(seed).shuffle(left)  # noqa: S311 - no secret; a search cut short has then seen of everything
        if grid:
            return left[0]
    for attempt in range(_ATTEMPTS):
        study = _study(
            space, trials, seed=seed + 1000 * number + attempt, greater_is_better=greater_is_better
        )
        proposal = study.ask(fixed_distributions=_distributions(space)).params
        if proposal not in tried:
            return {name: proposal[name] for name in space}
    return left[0] if left else None


def falls_behind(space: Space, trials: Sequence[Trial], trial: Trial, *, greater_is_better: bool) -> bool:
    """Whether a running trial scores below the median of the others after as many epochs."""
    study = _study(space, trials, seed=0, greater_is_better=greater_is_better)
    study.enqueue_trial(trial.values)
    running = study.ask(fixed_distributions=_distributions(space))
    for epoch, score in trial.seen.items():
        running.report(score, epoch)
    return bool(trial.seen) and running.should_prune()


def _study(space: Space, trials: Sequence[Trial], *, seed: int, greater_is_better: bool) -> Study:
    optuna = require("optuna", extra="lab")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study: Study = optuna.create_study(
        direction="maximize" if greater_is_better else "minimize",
        sampler=optuna.samplers.TPESampler(seed=seed % 2**32, n_startup_trials=STARTUP),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP),
    )
    states = {"finished": optuna.trial.TrialState.COMPLETE, "pruned": optuna.trial.TrialState.PRUNED}
    for trial in trials:
        if trial.state in states:
            study.add_trial(
                optuna.trial.create_trial(
                    state=states[trial.state],
                    value=trial.score,
                    params=trial.values,
                    distributions=_distributions(space),
                    intermediate_values=trial.seen,
                )
            )
    return study


def _distributions(space: Space) -> dict[str, BaseDistribution]:
    distributions = require("optuna.distributions", extra="lab")
    return {
        name: distributions.CategoricalDistribution(part.values)
        if isinstance(part, Choices)
        else distributions.FloatDistribution(part.low, part.high, log=part.log)
        for name, part in space.items()
    }
