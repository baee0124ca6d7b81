"""How a question is to be read: every choice with its default, checked in one place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from pocketbert.errors import InputError

Reading = Literal["fast", "all"]
Progress = Callable[[int, int], object]
"""Called with the windows read so far and the windows there are."""


@dataclass(frozen=True)
class Options:
    """What `QuestionAnswerer` can be told with each question."""

    top_k: int = 1
    """How many answers at most."""
    read: Reading = "fast"
    """"fast" reads the windows that promise an answer first, and stops once the others are unlikely to hold a better
    one; "all" reads every window. Before "not on this page" is said, both have read all."""
    deadline: float | None = None
    """Seconds after which no further batch of windows is begun; one is always read."""
    progress: Progress | None = None
    threshold: float | None = None
    """The probability of no answer above which none is given; 1.0 always answers. None is the model's own."""
    max_answer_length: int | None = None
    """In tokens; None is the model's own, as for the next two."""
    window: int | None = None
    overlap: int | None = None
    align_to_words: bool = True
    """Whether an answer that begins or ends inside a word takes in all of it."""
    overlapping: bool = False
    """Whether answers may share words. If not, variants of an answer come last, only if there is nothing else."""
    miss: float = 0.05
    """For "fast": reading goes on until the answer is in an unread window with at most this chance."""
    least: int = 3
    """For "fast": how many windows are read in any case."""

    def __post_init__(self) -> None:
        for name in ("top_k", "max_answer_length", "window", "overlap", "least"):
            value = getattr(self, name)
            lowest = 0 if name == "overlap" else 1
            optional = name not in ("top_k", "least")
            if optional and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
                raise InputError(f"{name} is {value!r}; it must be a whole number from {lowest} up")
        for name, highest in (("deadline", math.inf), ("threshold", 1.0), ("miss", 1.0)):
            value = getattr(self, name)
            if name != "miss" and value is None:
                continue
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not 0 <= value <= highest:
                limit = "from 0 up" if highest == math.inf else f"from 0 to {highest:g}"
                raise InputError(f"{name} is {value!r}; it must be a number {limit}")
        if self.read not in get_args(Reading):
            raise InputError(f"read is {self.read!r}; allowed are {', '.join(map(repr, get_args(Reading)))}")
        for name in ("align_to_words", "overlapping"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {getattr(self, name)!r}; it must be True or False")
        if self.progress is not None and not callable(self.progress):
            raise InputError(f"progress is {self.progress!r}; it must be a function of two numbers, or None")

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """Options from keyword arguments; one that does not exist is an error that lists those that do."""
        names = [field.name for field in fields(cls)]
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise InputError(f"there is no option {', '.join(unknown)}; the options are {', '.join(names)}")
        return cls(**given)
