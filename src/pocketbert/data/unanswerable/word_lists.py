"""The package's own lists of words, read from the text files beside this one."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def lines(file: str) -> tuple[str, ...]:
    """The lines of a file in `lists/`, without comments and empty ones."""
    text = (resources.files(__package__) / "lists" / file).read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line.strip() and not line.startswith("#"))


def word_list(name: str, *, file: str = "words.txt") -> tuple[str, ...]:
    """The words of one list, in the order they are written down."""
    return _word_lists(file)[name]


def word_set(name: str, *, file: str = "words.txt") -> frozenset[str]:
    return frozenset(word_list(name, file=file))


@cache
def _word_lists(file: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines(file):
        if line.startswith(" "):
            found[name].extend(line.split())
        else:
            name = line.removesuffix(":")
            found[name] = []
    return {name: tuple(words) for name, words in found.items()}
