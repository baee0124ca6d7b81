"""HTML as tags and texts with their exact places in the source.

The rules are those of the HTML standard's tokenizer, which every browser follows. It is written here because no parser
that we could lean on says where a *text* stands: html5lib, lxml and lexbor know elements at best, and the standard
library's `html.parser` needs quadratic time on broken markup (46 seconds for 120 kB in Python 3.11). A test
compares the outcome with another implementation of the standard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from typing import NamedTuple

from pocketbert.text.pages.html_names import BREAKS_OUT, DECODED, FOREIGN, RAW

MARKUP = re.compile(r"<(?:(/?)([a-zA-Z][^ \t\n\f\r/>]*)|(!--)|(!\[CDATA\[)|(/>)|(?=[!?])|/(?=[^a-zA-Z]))")
EMPTY_COMMENT = re.compile(r"-?>")
COMMENT_END = re.compile(r"--!?>")
CDATA_END = re.compile(r"\]\]>")
ATTRIBUTE = re.compile(
    r"[ \t\n\f\r/]*([^ \t\n\f\r/>][^ \t\n\f\r/>=]*)"
    r"""(?:[ \t\n\f\r]*=[ \t\n\f\r]*("[^"]*"?|'[^']*'?|[^ \t\n\f\r>"'][^ \t\n\f\r>]*|(?=>)))?"""
)
TAG_END = re.compile(r"[ \t\n\f\r/]*>")
RAW_END = {name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE) for name in RAW}
SCRIPT_STEP = re.compile(r"<!--(?:-?>)?|-->|<(/?)script(?=[ \t\n\f\r/>])", re.IGNORECASE)
REFERENCE = re.compile(r"&(?:#(?:[xX][0-9a-fA-F]+|[0-9]+);?|[a-zA-Z][a-zA-Z0-9]{0,30};?)")


class Tag(NamedTuple):
    """A start or an end tag; `closed` if it is both: a tag of SVG or MathML that ends in `/>`."""

    name: str
    attributes: dict[str, str]
    start: int
    end: int
    is_end: bool
    closed: bool


class Text(NamedTuple):
    """A stretch of the source between tags; `raw` if character references in it are not meant as such."""

    start: int
    end: int
    raw: bool


def tokens(source: str) -> Iterator[Tag | Text]:
    """Tags and texts in order, comments left out; whatever the source holds, in linear time."""
    foreign = 0  # how many svg and math elements are open: other rules hold inside
    place = 0
    while (found := MARKUP.search(source, place)) is not None:
        slash, name, is_comment, is_data, is_nothing = found.groups()
        yield from _text(place, found.start())
        if name is None:
            if is_data and foreign:
                ending = CDATA_END.search(source, found.end())
                yield from _text(found.end(), ending.start() if ending else len(source), raw=True)
                place = ending.end() if ending else len(source)
            elif is_comment:
                ending = EMPTY_COMMENT.match(source, found.end()) or COMMENT_END.search(source, found.end())
                place = ending.end() if ending else len(source)
            else:
                stop = found.end() - 1 if is_nothing else source.find(">", found.end())
                place = len(source) if stop < 0 else stop + 1
            continue
        attributes, closing = _attributes(source, found.end())
        if closing is None:
            return  # the source ends inside a tag: it counts for nothing, as in a browser
        name = name.lower()
        place = closing.end()
        closed = bool(foreign or name in FOREIGN) and closing[0].endswith("/>")
        yield Tag(name, attributes, found.start(), place, bool(slash), closed)
        if name in FOREIGN:
            foreign = max(0, foreign + (-1 if slash else not closed))
        elif foreign and not slash and name in BREAKS_OUT:
            foreign = 0
        elif not foreign and not slash and (name in RAW or name == "plaintext"):
            place = _raw_end(source, name, closing.end())
            yield from _text(closing.end(), place, raw=name not in DECODED)
    yield from _text(place, len(source))


def references(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and meaning of every character reference.

    >>> list(references("Tom &amp; J&eacuterry &co; &#8364;"))
    [(4, 9, '&'), (11, 18, 'é'), (27, 34, '€')]
    """
    for found in REFERENCE.finditer(text):
        written = found[0][1:]
        if written[0] == "#":
            yield found.start(), found.end(), unescape(found[0])
            continue
        # Some old names need no semicolon, and the longest name counts: &notit; is ¬it;
        for length in range(len(written), 1, -1):
            meaning = html5.get(written[:length])
            if meaning is not None:
                yield found.start(), found.start() + 1 + length, meaning
                break


def decode(text: str) -> str:
    """The text with its character references replaced."""
    if "&" not in text:
        return text
    parts = []
    place = 0
    for start, end, meaning in references(text):
        parts += [text[place:start], meaning]
        place = end
    return "".join([*parts, text[place:]])


def _text(start: int, end: int, *, raw: bool = False) -> Iterator[Text]:
    if start < end:
        yield Text(start, end, raw)


def _attributes(source: str, place: int) -> tuple[dict[str, str], re.Match[str] | None]:
    """The attributes from here on, the first of each name, and what closes the tag."""
    attributes: dict[str, str] = {}
    while (closing := TAG_END.match(source, place)) is None:
        found = ATTRIBUTE.match(source, place)
        if found is None or found.end() == len(source):
            return attributes, None
        value = found[2] or ""
        if value[:1] in ('"', "'"):
            value = value[1:-1]
        attributes.setdefault(found[1].lower(), decode(value))
        place = found.end()
    return attributes, closing


def _raw_end(source: str, name: str, place: int) -> int:
    """Where an element ends whose content is not markup."""
    if name == "script":
        return _script_end(source, place)
    closing = RAW_END[name].search(source, place) if name in RAW else None
    return closing.start() if closing else len(source)


def _script_end(source: str, place: int) -> int:
    """A script may hold a comment, and that another script, whose end tag does not end the outer one."""
    commented = nested = False
    for step in SCRIPT_STEP.finditer(source, place):
        if step[0] == "<!--":
            commented = True
        elif step[0] == "-->":
            commented = nested = False
        elif step[1] is None:
            continue  # an empty comment
        elif nested:
            nested = not step[1]
        elif step[1]:
            return step.start()
        else:
            nested = commented
    return len(source)
