"""What every kind of page becomes: a text, and for each stretch of it where it stands in the source."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pocketbert.errors import InputError

Kind = Literal["html", "markdown", "pdf", "plain"]
Part = Literal["article", "all"]

LINE_END = re.compile(r"\r\n|\n|\r")
PAGE_LINE_END = re.compile(r"\n|\f")


@dataclass(frozen=True)
class Place:
    """Where a stretch of a page's text stands in what it was read from."""

    line: int
    """The line in which it begins, from 1; in a PDF the line on its page."""
    column: int
    """The character of that line at which it begins, from 1."""
    page: int | None
    """The page of a PDF, from 1."""
    source_start: int
    source_end: int
    """`page.source[source_start:source_end]` is the stretch as written, tags and all."""


@dataclass(frozen=True)
class Offsets:
    """Runs of a text, each with its range in the source.

    A run as long as its range matches it character by character. Any other is a unit: a character reference, or white
    space of any length that became one blank. An empty range belongs to what was added, such as a line break.
    """

    text_starts: Sequence[int]
    source_starts: Sequence[int]
    source_ends: Sequence[int]
    text_length: int

    @classmethod
    def same(cls, length: int) -> Offsets:
        """The offsets of a text that is its own source."""
        return cls((0,), (0,), (length,), length) if length else cls((), (), (), 0)

    def in_source(self, start: int, end: int) -> tuple[int, int]:
        """The range in the source from the first to the last character that comes from there."""
        if not self.text_starts:
            return 0, 0
        first, last = self._run(start), self._run(max(start, end - 1))
        while first < last and self._is_added(first):
            first, start = first + 1, self.text_starts[first + 1]
        while first < last and self._is_added(last):
            last, end = last - 1, self.text_starts[last]
        if self._is_added(first) or start == end:
            place = self._character(first, start)[0]
            return place, place
        return self._character(first, start)[0], self._character(last, end - 1)[1]

    def _run(self, place: int) -> int:
        return bisect_right(self.text_starts, place) - 1

    def _is_added(self, run: int) -> bool:
        return self.source_starts[run] == self.source_ends[run]

    def _character(self, run: int, place: int) -> tuple[int, int]:
        """The range in the source of one character of the text."""
        start, end = self.source_starts[run], self.source_ends[run]
        following = self.text_starts[run + 1] if run + 1 < len(self.text_starts) else self.text_length
        if end - start != following - self.text_starts[run]:
            return start, end
        within = place - self.text_starts[run]
        return start + within, min(start + within + 1, end)


@dataclass(frozen=True)
class Page:
    r"""A page as text.

    >>> from pocketbert.text.pages import page_from_text
    >>> page = page_from_text("<h1>Tea</h1><p>Boil&shy;ing water, <b>5&nbsp;min</b>utes.", kind="html")
    >>> page.text
    'Tea\n\nBoiling water, 5\xa0minutes.'
    >>> place = page.locate(page.text.index("Boiling"), page.text.index(","))
    >>> page.source[place.source_start : place.source_end]
    'Boil&shy;ing water'
    """

    text: str
    kind: Kind
    title: str
    """What the page calls itself; empty if it does not say."""
    source: str = field(repr=False)
    """The decoded text that offsets point into; of a PDF the lines of all pages, each page ended by a form feed."""
    offsets: Offsets = field(repr=False)
    encoding: str | None = None
    """The encoding that the bytes were read with."""
    name: str | None = None
    """The file or address that the page came from."""
    notes: tuple[str, ...] = ()
    """What could not be read, in words for people, such as scanned pages of a PDF."""

    def locate(self, start: int, end: int) -> Place:
        """Where `text[start:end]` stands in the source."""
        if not 0 <= start <= end <= len(self.text):
            raise InputError(
                f"the stretch {start} to {end} is not in this page; its text has {len(self.text)} characters"
            )
        source_start, source_end = self.offsets.in_source(start, end)
        number = None
        first_line = 0
        if self.kind == "pdf":
            number = bisect_right(self._page_starts, source_start)
            first_line = self._line(self._page_starts[number - 1])
        line = self._line(source_start)
        column = source_start - self._line_starts[line] + 1
        return Place(line - first_line + 1, column, number, source_start, source_end)

    def _line(self, place: int) -> int:
        return bisect_right(self._line_starts, place) - 1

    @cached_property
    def _line_starts(self) -> list[int]:
        pattern = PAGE_LINE_END if self.kind == "pdf" else LINE_END
        return [0, *(found.end() for found in pattern.finditer(self.source))]

    @cached_property
    def _page_starts(self) -> list[int]:
        starts = [0, *(found.end() for found in re.finditer("\f", self.source))]
        return starts[:-1] if len(starts) > 1 else starts
