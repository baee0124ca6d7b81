"""What the pipelines share: arguments by name, and one text, a list of texts or a stream of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pocketbert.errors import InputError, check_count
from pocketbert.runtime.inputs import is_collection

Choices = TypeVar("Choices")


def made_of(kind: type[Choices], given: Mapping[str, Any]) -> Choices:
    """Arguments from keywords; one that does not exist is an error that lists those that do.

    `num_workers` may be given to every pipeline and has no effect: there are no processes that load data.
    """
    given = dict(given)
    if given.get("num_workers") is not None:
        check_count("num_workers", given["num_workers"], 0)
    given.pop("num_workers", None)
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # it is a dataclass
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise InputError(f"there is no argument {', '.join(unknown)}; there are {', '.join(names)}")
    return kind(**given)


def answered(inputs: Any, run: Callable[[Iterator[Any]], Iterator[Any]]) -> Any:
    """What `run` makes of one input, a list for a list, or a generator for a generator.

    A list may be anything of which the length is known, such as a column of a data set, and a generator anything else
    that can be gone through.
    """
    if not is_collection(inputs):
        return next(run(iter([inputs])))
    results = run(iter(inputs))
    return list(results) if hasattr(inputs, "__len__") else results


def check_cut(truncation: object, max_length: object) -> None:
    """Refuse what does not say whether, and to how many tokens, a text may be cut."""
    if truncation not in (None, True, False, "longest_first", "do_not_truncate"):
        raise InputError(f"truncation is {truncation!r}; it must be True or False")
    if max_length is not None:
        check_count("max_length", max_length)


def longest(truncation: bool | str | None, max_length: int | None, positions: int | None) -> int | None:
    """How many tokens a text is cut to; None if it is not."""
    if truncation in (None, False, "do_not_truncate"):
        return None
    return min((size for size in (max_length, positions) if size is not None), default=None)


def check_fits(tokens: int, positions: int | None) -> None:
    """Refuse a text that the model cannot read at once; transformers fails there, too, but does not say why."""
    if positions is not None and tokens > positions:
        raise InputError(
            f"a text has {tokens} tokens, and this model reads at most {positions} at once; "
            "give truncation=True to cut its end, or a shorter text"
        )


def token_kwargs(given: object, name: str) -> tuple[Any, Any]:
    """`truncation` and `max_length` from a dictionary of arguments for the tokenizer."""
    if given is None:
        return None, None
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {given!r}; it must be a dictionary such as {{'truncation': True}}")
    unknown = sorted(set(given) - {"truncation", "max_length", "padding"})
    if unknown:
        raise InputError(f"{name} has {', '.join(unknown)}; it may have truncation, max_length and padding")
    return given.get("truncation"), given.get("max_length")
