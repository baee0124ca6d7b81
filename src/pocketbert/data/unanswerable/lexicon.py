"""Words that may stand in for others in the form they are found in: `increased` gives `decreased`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from pocketbert.data.unanswerable.word_lists import lines

_VOWELS = "aeiou"

Table = dict[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def antonyms() -> Table:
    """Every form of every listed word with its opposites."""
    return _collected(pair for line in lines("antonyms.txt") for pair in _form_pairs(line))


@lru_cache(maxsize=1)
def synonyms() -> Table:
    """Every form of every listed word with the words that may stand for it."""
    return _collected(pair for line in lines("synonyms.txt") for pair in _form_pairs(line))


@lru_cache(maxsize=1)
def alternatives() -> Table:
    """Every word of a group with the others, singular with singular and plural with plural."""
    groups = [[_forms("noun", entry) for entry in line.split()] for line in lines("groups.txt")]
    return _collected(
        (forms[number], others[number])
        for group in groups
        for forms in group
        for others in group
        for number in (0, 1)
        if forms != others
    )


def plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def verb_forms(base: str, past: str = "", participle: str = "") -> tuple[str, str, str, str, str]:
    """Base, third person, -ing form, past and participle; the last two by rule where not given."""
    past = past or _past(base)
    return (
        base,
        base + "es" if base.endswith("o") else plural(base),
        _ing(base, past),
        past,
        participle or past,
    )


def _form_pairs(line: str) -> Iterator[tuple[str, str]]:
    part, left, right = line.split()
    return zip(_forms(part, left), _forms(part, right), strict=True)


def _forms(part: str, entry: str) -> tuple[str, ...]:
    """The forms of an entry in a fixed order; an empty string stands for a form that is not in use."""
    base, *irregular = entry.split("/")
    if part == "verb":
        return verb_forms(base, *irregular)
    if part == "adjective":
        more, most = irregular or (_graded(base, "er"), _graded(base, "est"))
        return base, more, most
    if part == "noun":
        return base, irregular[0] if irregular else plural(base)
    return (base,)


def _collected(pairs: Iterator[tuple[str, str]]) -> Table:
    table: dict[str, dict[str, None]] = {}
    for word, other in pairs:
        if word and other and word != other:
            table.setdefault(word, {})[other] = None
    return {word: tuple(others) for word, others in table.items()}


def _past(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


def _ing(verb: str, past: str) -> str:
    """The -ing form; whether the last consonant doubles shows in the past, or in a short irregular verb."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    closed = (
        verb[-1] not in "wxy" + _VOWELS
        and verb[-2:-1] in tuple(_VOWELS)
        and verb[-3:-2] not in tuple(_VOWELS)
    )
    doubles = past == verb + verb[-1] + "ed" or (closed and len(verb) <= 6 and not past.endswith("ed"))
    return verb + (verb[-1] if doubles else "") + "ing"


def _graded(adjective: str, ending: str) -> str:
    """`older`, `oldest`; nothing for the long words that take `more` and `most`."""
    if len(adjective) > 6 or adjective.endswith(
        ("ful", "ous", "al", "ic", "ed", "st", "ior", "er", "et", "le")
    ):
        return adjective + ending if adjective == "quiet" else ""
    if adjective.endswith("y"):
        return adjective[:-1] + "i" + ending
    return adjective + (ending[1:] if adjective.endswith("e") else ending)
