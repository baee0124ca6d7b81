"""A space of settings: values to choose from and ranges to draw from, each under the name of its setting.

    learning_rate=2e-5:1e-4 per_device_train_batch_size=16,32 num_train_epochs=2:10:1

`a,b,c` are values; `low:high` is a range, of all whole numbers where the setting is one; `low:high:step` goes in steps;
`low:high:log` is drawn evenly in its logarithm, which rates always are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pocketbert.errors import InputError
from pocketbert.train.fields import Field, coerce, fields_of, shown

LOGARITHMIC = ("learning_rate", "transfer_learning_rate", "adam_epsilon")
# What the search itself is made of, and what would make scores of different data out of the trials' scores.
NOT_SEARCHED = ("output_dir", "overwrite_output_dir", "resume_from_checkpoint", "seed", "search", "search_space",
                "search_fixed", "train_file", "validation_file", "validation_split", "max_eval_samples",
                "metric_for_best_model", "greater_is_better", "eval_strategy")  # fmt: skip


@dataclass(frozen=True)
class Choices:
    """One of some values."""

    values: tuple[Any, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.values


@dataclass(frozen=True)
class Range:
    """A real number between two, both included."""

    low: float
    high: float
    log: bool

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


Space = Mapping[str, Choices | Range]


def parse_space(texts: Mapping[str, str], settings_class: type) -> dict[str, Choices | Range]:
    """The space that some texts describe, by settings; what cannot be searched is an error."""
    fields = fields_of(settings_class)
    space = {}
    for name, text in texts.items():
        if name not in fields or name in NOT_SEARCHED:
            known = ", ".join(sorted(each for each in fields if each not in NOT_SEARCHED))
            what = "cannot be searched" if name in fields else "is no setting of this recipe"
            raise InputError(f"search_space: {name} {what}; allowed are {known}")
        space[name] = _dimension(text, fields[name])
    return space


def split_space(text: str) -> dict[str, str]:
    """`name=… name=…` as texts by name."""
    found: dict[str, str] = {}
    for word in text.split():
        name, equals, values = word.partition("=")
        name = name.replace("-", "_")
        if not equals or not name or not values:
            raise InputError(
                f"search_space: {word!r} is not name=values; write it as learning_rate=2e-5:1e-4 "
                "per_device_train_batch_size=16,32"
            )
        if name in found:
            raise InputError(f"search_space names {name} twice: {found[name]} and {values}")
        found[name] = values
    if not found:
        raise InputError("search_space is empty; write it as learning_rate=2e-5:1e-4 num_train_epochs=2,3,4")
    return found


def points(space: Space) -> list[dict[str, Any]] | None:
    """Every point of a space that is made of values; None where a range has no end of them."""
    choices = [part.values for part in space.values() if isinstance(part, Choices)]
    if len(choices) < len(space):
        return None
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*choices)]


def _dimension(text: str, field: Field) -> Choices | Range:
    source = "search_space"
    if ":" not in text:
        values = tuple(dict.fromkeys(coerce(word, field, source) for word in text.split(",")))
        if not all(value is None or isinstance(value, bool | int | float | str) for value in values):
            raise InputError(f"search_space: {field.name} is {field.allowed}, which cannot be searched")
        return Choices(values)
    low_text, high_text, *rest = text.split(":")
    mode = rest[0] if rest else None
    if not _numeric(field) or len(rest) > 1:
        raise InputError(
            f"search_space: {field.name}={text} is no range; "
            + (
                "give low:high or low:high:step"
                if _numeric(field)
                else f"give values of {field.allowed}: a,b,c"
            )
        )
    low, high = coerce(low_text, field, source), coerce(high_text, field, source)
    if not low < high:
        raise InputError(
            f"search_space: {field.name}={text}: {shown(low)} is not below {shown(high)}; give low:high"
        )
    if mode in (None, "log"):
        if _whole(field) and mode is None:
            return _steps(low, high, 1, field)
        log = mode == "log" or field.name in LOGARITHMIC
        if log and low <= 0:
            raise InputError(f"search_space: {field.name}={text}: a logarithmic range must begin above 0")
        if _whole(field):
            raise InputError(
                f"search_space: {field.name}={text}: whole numbers go by low:high or low:high:step"
            )
        return Range(float(low), float(high), log)
    return _steps(low, high, coerce(mode, field, source), field)


def _steps(low: float, high: float, step: float, field: Field) -> Choices:
    if step <= 0:
        raise InputError(f"search_space: {field.name}: the step is {shown(step)}; it must be above 0")
    count = math.floor((high - low) / step + 1e-9) + 1
    return Choices(tuple(coerce(low + number * step, field, "search_space") for number in range(count)))


def _kinds(field: Field) -> Sequence[Any]:
    return get_args(field.kind) or (field.kind,)


def _numeric(field: Field) -> bool:
    return any(kind in (int, float) for kind in _kinds(field))


def _whole(field: Field) -> bool:
    return int in _kinds(field)
