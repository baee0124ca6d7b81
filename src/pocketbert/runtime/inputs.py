"""What callers may give: texts and lists of them, checked once for all who take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from pocketbert.errors import InputError

AHEAD = 128
"""Texts of a stream that are read together, so that batches of like length can be made of them."""


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether several things were given, and not one text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def is_collection(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether several things were given, in a list or in anything else that can be gone through."""
    if isinstance(value, (str, bytes, bytearray, Mapping)):
        return False
    return isinstance(value, Iterable) or (hasattr(value, "__getitem__") and hasattr(value, "__len__"))


def listed(value: object) -> Sequence[Any]:
    """Several things as they are, one in a list."""
    return value if is_list(value) else [value]


def text_of(value: object, name: str = "the text") -> str:
    """A text that is not empty."""
    if not isinstance(value, str):
        raise InputError(f"{name} is {kind_of(value)}; it must be a text (str)")
    if not value.strip():
        raise InputError(f"{name} is empty; give one with at least a word")
    return value


def check_without_torch(device: object, convert_to_tensor: object) -> None:
    """Refuse what sentence-transformers does with torch, and takes by the same names."""
    if device is not None and str(device) != "cpu":
        raise InputError(
            f"device is {device!r}; allowed are None and 'cpu', which is where exported models run"
        )
    if convert_to_tensor:
        raise InputError(
            "convert_to_tensor is True, but no torch is used here; give the array to torch.from_numpy"
        )


def kind_of(value: object) -> str:
    """What a value is, in a message."""
    return "None" if value is None else f"of the type {type(value).__name__}"
