"""A text put together from stretches of a source, with white space tidied and every place remembered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pocketbert.text.pages.page import Offsets

SPACE = " \t\n\f\r\u00a0"
# Soft hyphens, zero-width spaces and their like: nobody sees them, and they would split words for a reader.
UNSEEN = "\0\u00ad\u200b\u2060\ufeff"
SPECIAL = re.compile(rf"[{SPACE}]{{2,}}|[\t\n\f\r\u00a0]|[{UNSEEN}]+")
CODE = re.compile(rf"(\r\n|\r|\n)|([ \t]+)|[{UNSEEN}]+|[^ \t\r\n{UNSEEN}]+")
FORGET = dict.fromkeys(map(ord, UNSEEN))

NOTHING, BLANK, LINE, PARAGRAPH = range(4)
BREAKS = ("", " ", "\n", "\n\n")

Run = tuple[str, int, int]


class Writer:
    """Collects a text; breaks are held back until more text follows, so that none stands at an end or twice."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._text_starts: list[int] = []
        self._source_starts: list[int] = []
        self._source_ends: list[int] = []
        self._break = NOTHING
        self._held: list[Run] = []  # white space, a mark or a divider that is written if text follows
        self._marked = False
        self._places: Callable[[int], int] | None = None

    @contextmanager
    def within(self, places: Callable[[int], int]) -> Iterator[None]:
        """Take starts and ends for places in an excerpt of the source; `places` tells the real ones."""
        before, self._places = self._places, places
        try:
            yield
        finally:
            self._places = before

    def words(self, text: str, start: int) -> None:
        """Add a stretch that stands in the source at `start`, its white space collapsed."""
        place = 0
        for found in SPECIAL.finditer(text):
            self._stretch(text[place : found.start()], start + place)
            if found[0][0] in SPACE:
                self._space(found[0], start + found.start(), start + found.end())
            place = found.end()
        self._stretch(text[place:], start + place)

    def unit(self, text: str, start: int, end: int) -> None:
        """Add what is written otherwise in the source, such as a character reference."""
        if text.strip(SPACE):
            self._add(text.translate(FORGET), start, end)
        else:
            self._space(text, start, end)

    def code(self, text: str, start: int) -> None:
        """Add a stretch whose white space is kept, except at the ends."""
        for found in CODE.finditer(text):
            if found[1] or found[2]:
                self._held.append(("\n" if found[1] else found[2], *self._real(*found.span(), start)))
            elif found[0][0] not in UNSEEN:
                self._add(found[0], start + found.start(), start + found.end())

    def blank(self) -> None:
        """Part what follows by a blank that is not in the source."""
        if self._break == NOTHING and not self._held:
            self._break = BLANK
            self._held = [self._added(" ")]

    def newline(self) -> None:
        """Break the line; twice makes a paragraph."""
        self._separate(PARAGRAPH if self._break >= LINE else LINE)

    def line(self) -> None:
        """What follows stands on a new line."""
        self._separate(LINE)

    def paragraph(self) -> None:
        """What follows stands behind an empty line."""
        self._separate(PARAGRAPH)

    def mark(self, text: str) -> None:
        """Begin a line with something that is not in the source, such as the number of a list item."""
        self.line()
        self._held = [self._added(text)]
        self._marked = True

    def divide(self, text: str) -> None:
        """What follows stands in the same line behind a divider that is not in the source."""
        if self._break == BLANK:
            self._break, self._held = NOTHING, []
        self._held.append(self._added(text.lstrip() if self._break else text))

    def finish(self) -> tuple[str, Offsets]:
        """The text so far, and its offsets."""
        return "".join(self._parts), Offsets(
            self._text_starts, self._source_starts, self._source_ends, self._length
        )

    def _separate(self, kind: int) -> None:
        if not self._marked:  # a mark waits for its text
            self._break = max(self._break, kind)
            self._held = []

    def _space(self, text: str, start: int, end: int) -> None:
        if self._break == NOTHING and not self._held:
            self._break = BLANK
            self._held = [("\u00a0" if text == "\u00a0" else " ", *self._real(start, end))]

    def _stretch(self, text: str, start: int) -> None:
        """Text in which white space is single blanks only, at the ends too."""
        if text[:1] == " ":
            self._space(" ", start, start + 1)
            text, start = text[1:], start + 1
        end = start + len(text)
        if text[-1:] == " ":
            self._add(text[:-1], start, end - 1)
            self._space(" ", end - 1, end)
        else:
            self._add(text, start, end)

    def _add(self, text: str, start: int, end: int) -> None:
        if not text:
            return
        if self._break >= LINE and self._parts:
            self._run(*self._added(BREAKS[self._break]))
        if self._parts or self._marked:
            for run in self._held:
                self._run(*run)
        self._break, self._held, self._marked = NOTHING, [], False
        self._run(text, *self._real(start, end))

    def _added(self, text: str) -> Run:
        place = self._source_ends[-1] if self._source_ends else 0
        return text, place, place

    def _real(self, start: int, end: int, base: int = 0) -> tuple[int, int]:
        start, end = base + start, base + end
        if self._places is None:
            return start, end
        return self._places(start), self._places(end - 1) + 1

    def _run(self, text: str, start: int, end: int) -> None:
        ends = self._source_ends
        if end - start == len(text) and ends and ends[-1] == start and self._is_exact():
            ends[-1] = end
        else:
            self._text_starts.append(self._length)
            self._source_starts.append(start)
            ends.append(end)
        self._parts.append(text)
        self._length += len(text)

    def _is_exact(self) -> bool:
        """Whether the last run matches its range in the source character by character."""
        width = self._source_ends[-1] - self._source_starts[-1]
        return width > 0 and width == self._length - self._text_starts[-1]
