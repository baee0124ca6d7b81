"""The words of a tokenizer, whatever its kind: their ids, the special ones among them, and those added later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pocketbert.errors import TokenizerError

Role = Literal["unk", "cls", "sep", "pad", "mask"]
Kind = Literal["word", "continuation", "character", "unused", "special"]


@dataclass(frozen=True)
class AddedWord:
    """A word that was added to a finished vocabulary; it is found in a text before anything else is done."""

    text: str
    in_vocabulary: bool = False
    """Whether the model may find it too, where this search does not."""
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True


@dataclass(frozen=True)
class Vocabulary:
    """The words in the order of their ids, and what some of them are for."""

    words: tuple[str, ...]
    roles: Mapping[Role, str]
    """What the special tokens that every model has are called here."""
    further_special: frozenset[str] = frozenset()
    added: tuple[AddedWord, ...] = ()
    stripping: frozenset[str] = frozenset()
    """Special tokens that take in the blanks before them, for those who look for them in a text: we do not."""

    def __post_init__(self) -> None:
        _check_words(self.words, self.roles)
        needed = [self.roles[role] for role in ("unk", "cls", "sep")]
        missing = sorted(set(needed) - set(self.words))
        if missing:
            raise TokenizerError(
                f"the vocabulary has no {', '.join(missing)}; this tokenizer needs {', '.join(needed)}"
            )
        if len(set(self.roles.values())) < len(self.roles):
            raise TokenizerError(f"special tokens share a name: {dict(self.roles)}; each needs its own")

    @cached_property
    def ids(self) -> dict[str, int]:
        """Every word with its id, in the order of the ids."""
        return {word: position for position, word in enumerate(self.words)}

    @cached_property
    def special(self) -> frozenset[str]:
        """The special tokens of the vocabulary."""
        return (frozenset(self.roles.values()) | self.further_special) & self.ids.keys()

    @property
    def new_words(self) -> tuple[AddedWord, ...]:
        """The added words that the model itself must not find."""
        return tuple(word for word in self.added if not word.in_vocabulary)

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The words that no text may become except by being added: special ones and new ones."""
        return self.special | {word.text for word in self.new_words}

    def key(self, word: str) -> str:
        """The name under which the library gets to know a word.

        No stretch of text that it looks up holds a space. That is how a special token written out in a text
        stays text, under every name and without being looked for.
        """
        return f" {word}" if word in self.hidden or word.startswith(" ") else word


def _check_words(words: tuple[str, ...], roles: Mapping[Role, str]) -> None:
    if not words:
        needed = ", ".join(roles[role] for role in ("unk", "cls", "sep"))
        raise TokenizerError(f"the vocabulary is empty; it needs at least {needed}")
    for position, word in enumerate(words):
        if not isinstance(word, str) or not word or "\n" in word or "\r" in word:
            raise TokenizerError(
                f"word {position} of the vocabulary is {word!r}; a word is a string of one line and not empty"
            )
    if len(set(words)) < len(words):
        first: dict[str, int] = {}
        for position, word in enumerate(words):
            if first.setdefault(word, position) != position:
                raise TokenizerError(
                    f"the word {word!r} stands in the vocabulary twice, as {first[word]} and {position}; "
                    "every word has one id"
                )
    try:
        "".join(words).encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(f"the vocabulary holds half a character: {error.reason}") from error
