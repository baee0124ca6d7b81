"""Entities as tags: B- begins one, I- goes on with it, O is outside.

What breaks the scheme is found and mended, and other schemes are turned into this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from pocketbert.errors import InputError
from pocketbert.tasks.tags.sentences import Sentence

Kind = Literal["entities", "words"]
# Schemes that also mark the end of an entity (E, L), its middle (M) or one of a single word (S, U), and ours for each.
SCHEMES = {"BIOES": "BIES", "BMES": "BMES", "BILOU": "BILU"}
OURS = {"B": "B", "I": "I", "M": "I", "E": "I", "L": "I", "S": "B", "U": "B"}


def kind_of(names: Iterable[str]) -> Kind:
    """Whether tags mark entities (all are O, B-… or I-…) or say something of each word, such as its part of speech."""
    rest = {name for name in names if name != "O"}
    return "entities" if rest and all(name[:2] in ("B-", "I-") and name[2:] for name in rest) else "words"


def other_scheme(names: Iterable[str]) -> str | None:
    """The scheme of tags that mark entities in more ways than by B- and I-; None for all other tags.

    >>> other_scheme(["O", "S-place", "B-person", "E-person"])
    'BIOES'
    """
    rest = {name for name in names if name != "O"}
    if kind_of(rest) == "entities" or not all(name[1:2] == "-" and name[2:] for name in rest):
        return None
    marks = {name[0] for name in rest}
    return next((scheme for scheme, known in SCHEMES.items() if rest and marks <= set(known)), None)


def in_bio(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags of another scheme as B-, I- and O: the same entities.

    >>> in_bio(["S-place", "O", "B-person", "E-person"])
    ('B-place', 'O', 'B-person', 'I-person')
    """
    return tuple(tag if tag == "O" else f"{OURS[tag[0]]}{tag[1:]}" for tag in tags)


def told_in_bio(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with their tags as B-, I- and O where they are of another scheme."""
    if other_scheme({tag for sentence in sentences for tag in sentence.tags}) is None:
        return list(sentences)
    return [replace(sentence, tags=in_bio(sentence.tags)) for sentence in sentences]


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
    """The sentences in the scheme, and how many words were mended; with `error` the first slip is one.

    Sentences in BIOES, BMES or BILOU are turned into BIO first.
    """
    mended = 0
    result = []
    for sentence in told_in_bio(sentences):
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
