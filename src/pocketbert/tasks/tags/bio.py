"""Entities as tags: B- begins one, I- goes on with it, O is outside. What breaks the scheme is found and mended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from pocketbert.errors import InputError
from pocketbert.tasks.tags.sentences import Sentence

Kind = Literal["entities", "words"]


def kind_of(names: Iterable[str]) -> Kind:
    """Whether tags mark entities (all are O, B-… or I-…) or say something of each word, such as its part of speech."""
    rest = {name for name in names if name != "O"}
    return "entities" if rest and all(name[:2] in ("B-", "I-") and name[2:] for name in rest) else "words"


def both_marks(names: Iterable[str]) -> tuple[str, ...]:
    """O, and B- and I- of every kind that occurs: a kind that only ever began may go on in texts to come.

    >>> both_marks(["O", "I-place", "B-person"])
    ('O', 'B-person', 'I-person', 'B-place', 'I-place')
    """
    kinds = sorted({name[2:] for name in names if name != "O"})
    return ("O", *(f"{mark}-{kind}" for kind in kinds for mark in "BI"))


def slips(tags: Sequence[str]) -> list[int]:
    """The places where an I- goes on with nothing: at the start, behind O, or behind another kind."""
    found = []
    before = "O"
    for place, tag in enumerate(tags):
        if tag.startswith("I-") and before[2:] != tag[2:]:
            found.append(place)
        before = tag
    return found


def repair(tags: Sequence[str]) -> tuple[str, ...]:
    """The same with a B- wherever an I- went on with nothing: what most scripts take it for.

    >>> repair(["O", "I-person", "I-person", "I-place"])
    ('O', 'B-person', 'I-person', 'B-place')
    """
    mended = list(tags)
    for place in slips(tags):
        mended[place] = f"B-{tags[place][2:]}"
    return tuple(mended)


def checked(
    sentences: Sequence[Sentence], *, on_slip: Literal["repair", "error"] = "repair"
) -> tuple[list[Sentence], int]:
    """The sentences in the scheme, and how many words were mended; with `error` the first slip is one."""
    mended = 0
    result = []
    for sentence in sentences:
        found = slips(sentence.tags)
        if found and on_slip == "error":
            word = found[0]
            raise InputError(
                f"{sentence.place}, word {word + 1} ({sentence.words[word]!r}): the tag {sentence.tags[word]!r} goes "
                f"on with nothing; it must be B-{sentence.tags[word][2:]}, or follow one; on_slip = repair mends it"
            )
        mended += len(found)
        result.append(replace(sentence, tags=repair(sentence.tags)) if found else sentence)
    return result, mended
