"""Documents to passages: stretches of about a hundred words that are found, shown and read as one.

Passages are made of whole sentences and share a few with their neighbours, so that what stands at a seam is whole in
one of them. Together they hold every character of the document, blanks included: an index needs no other copy of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pocketbert.errors import InputError
from pocketbert.text.sentences import sentence_spans

WORDS = 100
OVERLAP = 20
HEADING = 12  # words; what is longer, or ends like a sentence, is none

# A letter of a script without blanks counts as a word, and so does every twenty characters of a run without any.
WITHOUT_BLANKS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(f"[{WITHOUT_BLANKS}]|[^\\s{WITHOUT_BLANKS}]{{1,20}}")
BLANK_LINE = re.compile(r"\n[ \t\r]*\n\s*$")
Span = tuple[int, int]


@dataclass(frozen=True)
class Passage:
    """A stretch of a document, `document[start:end] == text`."""

    number: int
    """Its place among the passages of the document, from 0."""
    start: int
    end: int
    text: str


def passages(text: str, *, words: int = WORDS, overlap: int = OVERLAP) -> list[Passage]:
    """Cut a document into passages of about so many words, of which neighbours share at most `overlap`.

    >>> [found.text for found in passages("One two. Three four. Five six.", words=4, overlap=2)]
    ['One two. Three four. ', 'Three four. Five six.']
    """
    if words < 1 or not 0 <= overlap <= words // 2:
        raise InputError(
            f"passages of {words} words that share {overlap} cannot be cut; "
            "give at least one word, and an overlap of at most half as many"
        )
    if not text.strip():
        return []
    pieces = list(_pieces(text, words, max(overlap, 1)))
    sizes = [_size(text[start:end]) for start, end in pieces]
    found = []
    for number, (first, last) in enumerate(_groups(text, pieces, sizes, words, overlap)):
        start, end = pieces[first][0], pieces[last - 1][1]
        found.append(Passage(number, start, end, text[start:end]))
    return found


def _pieces(text: str, words: int, least: int) -> Iterator[Span]:
    """Sentences; one that is longer than a passage comes in pieces as long as the overlap."""
    for start, end in sentence_spans(text):
        places = [match.start() for match in WORD.finditer(text, start, end)]
        if len(places) <= words:
            yield start, end
            continue
        cuts = [start, *places[least::least], end]
        yield from pairwise(cuts)


def _groups(
    text: str, pieces: Sequence[Span], sizes: Sequence[int], words: int, overlap: int
) -> Iterator[Span]:
    """The first piece of each passage, and the one after its last."""
    first = done = 0  # pieces before `done` are in a passage already
    while done < len(pieces):
        last, size = done + 1, sum(sizes[first : done + 1])
        while last < len(pieces) and size + sizes[last] <= words:
            size += sizes[last]
            last += 1
        while (
            last < len(pieces) and any(sizes[done : last - 1]) and _is_heading(text[slice(*pieces[last - 1])])
        ):
            last -= 1  # it belongs to what follows, unless there are but blanks before it
        if last < len(pieces) and not any(sizes[last:]):
            last = len(pieces)  # blanks at the end are no passage
        yield first, last
        begun, first, done, shared = first, last, last, 0
        if done == len(pieces) or _is_heading(text[slice(*pieces[done])]):
            continue  # a new section shares nothing with the one before
        while first - 1 > begun and 0 < sizes[first - 1] <= overlap - shared:
            if shared + sizes[first - 1] + sizes[done] > words:
                break
            shared += sizes[first - 1]
            first -= 1


def _is_heading(piece: str) -> bool:
    """Whether a piece is short, stands alone and does not end like a sentence."""
    words = piece.strip()
    return (
        bool(words)
        and bool(BLANK_LINE.search(piece))
        and words[-1] not in ".!?…:;,。！？"
        and ("\n" not in words and _size(words) <= HEADING)
    )


def _size(text: str) -> int:
    return sum(1 for _ in WORD.finditer(text))
