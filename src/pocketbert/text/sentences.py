"""Sentences by a rule of thumb: the one around an answer, for people to read, and all of a text, for a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator

CELLS = " | "  # what stands between the cells of a table's row: a row is a sentence
REACH = 1000  # characters looked at on either side; a text without full stops must not become one sentence

# A sentence ends at a blank line or before a point of a list, after a full stop of a script that writes no blanks, or
# after . ! ? … (and closing quotes or brackets) where blanks and something other than a small letter follow.
END = re.compile(
    r"""\n[ \t\r]*\n\s* | \n\s*(?=(?:[-*•–]|\d+[.)])[ \t]) | [。！？｡] ["'”’」』）)\]]* \s*
    | [.!?…]+ ["'”’»)\]]* \s+ (?![a-zà-ÿ])""",
    re.VERBOSE,
)
# … unless it ends an abbreviation, an initial or the number of a point.
ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Lt|Capt|Sgt|Rev|Hon|Gov|Sen|Rep|No|Nos|vs|etc|cf|al|ca|approx"
    r"|e\.g|i\.e|Fig|Figs|Eq|Vol|pp?|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
    r"|(?:^|[\s(.])[A-Z]|(?:^|\n)[ \t]*\d{1,3})\.$"
)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text in their order, without the blanks between them.

    >>> list(sentences("Dr. Ada wrote it. Who else? Nobody."))
    ['Dr. Ada wrote it.', 'Who else?', 'Nobody.']
    """
    for start, end in sentence_spans(text):
        if sentence := text[start:end].strip():
            yield sentence


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence stands, with the blanks behind it: every character of the text is in one, and in one only."""
    first = 0
    for match in END.finditer(text):
        if not _is_abbreviation(text, match):
            yield first, match.end()
            first = match.end()
    if first < len(text):
        yield first, len(text)


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence begins and ends that holds `text[start:end]`; several if the stretch runs over their ends."""
    left, right = max(0, start - REACH), min(len(text), end + REACH)
    above, below = text.rfind("\n", left, start), text.find("\n", end, right)
    row = (left if above < 0 else above + 1), (right if below < 0 else below)
    if CELLS in text[slice(*row)]:
        return _trimmed(text, start, end, *row)
    first, last = left, right
    for match in END.finditer(text, left, right):
        if _is_abbreviation(text, match):
            continue
        if match.end() <= start:
            first = match.end()
        elif match.start() >= end or _closes(text, match, end):
            last = match.end()
            break
    return _trimmed(text, start, end, first, last)


def _trimmed(text: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """The stretch from `first` to `last` without blanks at its ends, but with all of `start` to `end`."""
    while first < start and text[first].isspace():
        first += 1
    while last > end and text[last - 1].isspace():
        last -= 1
    return first, last


def _closes(text: str, match: re.Match[str], end: int) -> bool:
    """Whether the full stop that ends the sentence is part of the stretch itself, and nothing comes after it."""
    return match.start() < end <= match.end() and not text[end : match.end()].strip()


def _is_abbreviation(text: str, match: re.Match[str]) -> bool:
    if not match.group().startswith(".") or match.group().startswith(".."):
        return False
    return ABBREVIATION.search(text, max(0, match.start() - 12), match.start() + 1) is not None
