"""The settings of a search: whether, how long, and over which other settings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pocketbert.errors import InputError
from pocketbert.train.fields import setting
from pocketbert.train.settings import LoopSettings
from pocketbert.train.trials.space import split_space

TRIALS = 20
_TIME = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class Budget:
    """How many trials, or for how many seconds trials are begun; with neither, as many as is sensible."""

    trials: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """`auto`, a number of trials, or a time such as 45s, 30m, 2h or 1d."""
        time = _TIME.fullmatch(text)
        if text == "auto":
            return cls()
        if text.isdecimal() and int(text):
            return cls(trials=int(text))
        if time and float(time.group(1)):
            return cls(seconds=float(time.group(1)) * _SECONDS[time.group(2)])
        raise InputError(
            f"search = {text!r}: give a number of trials (20), a time (45s, 30m, 2h, 1d), or nothing, with the flag "
            "last or another flag behind it"
        )


@dataclass(frozen=True, kw_only=True)
class SearchSettings(LoopSettings):
    """Try several settings on the same data, and keep the model of the best."""

    search: str | None = setting(
        None,
        help="try settings in the recommended ranges: so many trials (20), or for so long (2h); the best model is kept",
        flag_value="auto",
    )
    search_space: str | None = setting(
        None, help='your own ranges: "learning_rate=2e-5:1e-4 per_device_train_batch_size=16,32"'
    )
    search_fixed: tuple[str, ...] = setting(
        (), help="settings of the recommended ranges that are not searched; those given by a flag never are"
    )

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        if self.search is None:
            if self.search_space is not None:
                raise InputError("search_space is for a search: add --search, or leave it out")
            return
        Budget.parse(self.search)
        if self.search_space is not None:
            split_space(self.search_space)
        if self.eval_strategy == "no":
            raise InputError(
                "a search compares scores, and eval_strategy = no gives none: choose epoch or steps"
            )
