"""Where characters of a document's text stand in its file: line, and page of a PDF; small enough to be kept."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from pocketbert.errors import SearchError
from pocketbert.text.pages import Page

WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Where:
    """A line, from 1, of a file or of a page of a PDF."""

    line: int
    page: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}" if self.page is None else f"page {self.page}"


@dataclass(frozen=True)
class Places:
    """For each word that begins a new line of the file: where it stands in the text, and that line and page."""

    starts: tuple[int, ...]
    lines: tuple[int, ...]
    pages: tuple[int, ...]
    """0 where there are no pages."""

    @classmethod
    def of(cls, page: Page) -> Places:
        """Those of a page that was read."""
        rows: list[tuple[int, int, int]] = []
        for word in WORD.finditer(page.text):
            place = page.locate(word.start(), word.start())
            line = (place.line, place.page or 0)
            if not rows or rows[-1][1:] != line:
                rows.append((word.start(), *line))
        starts, lines, pages = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(tuple(starts), tuple(lines), tuple(pages))

    def __getitem__(self, place: int) -> Where:
        number = max(bisect_right(self.starts, place) - 1, 0)
        if not self.starts:
            return Where(1)
        return Where(self.lines[number], self.pages[number] or None)

    def to_bytes(self) -> bytes:
        """For an index."""
        rows = np.array([self.starts, self.lines, self.pages], dtype="<i4")
        return zlib.compress(np.diff(rows, axis=1, prepend=0).astype("<i4").tobytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Places:
        """The way back."""
        try:
            rows = np.frombuffer(zlib.decompress(data), dtype="<i4").reshape(3, -1).cumsum(axis=1)
        except (zlib.error, ValueError) as error:
            raise SearchError(f"the lines of a document are damaged ({error}); index it again") from error
        starts, lines, pages = (tuple(row) for row in rows.tolist())
        return cls(starts, lines, pages)
