"""Where the pieces that a Markdown parser hands out stand in the source, of which it tells the lines only.

A piece is the rest of its lines behind what quotes and lists put before them, so each of its lines is found from the
end of the source's line. A test compares the outcome with the parser's own HTML.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|\Z)")
CLOSING_MARKS = re.compile(r"[ \t]+#+[ \t]*$")
BAR = re.compile(r"(?<!\\)\|")


class Places:
    """A place in a piece -> the place in the source; called like a function."""

    def __init__(self, starts: Sequence[tuple[int, int]]) -> None:
        self.starts = [start for start, _ in starts]
        self._places = [place for _, place in starts]

    def __call__(self, place: int) -> int:
        run = max(0, bisect_right(self.starts, place) - 1)
        return self._places[run] + place - self.starts[run]

    def jumps(self, start: int, end: int) -> list[int]:
        """The places between two others at which the source goes on elsewhere."""
        return self.starts[bisect_right(self.starts, start) : bisect_left(self.starts, end)]


class Lines:
    """The lines of a source, counted as the parser counts them."""

    def __init__(self, source: str, start: int) -> None:
        found = list(LINE.finditer(source, start))
        self.texts = [line[1].replace("\0", "\ufffd") for line in found]
        self.starts = [line.start() for line in found]

    def places(self, piece: str, first: int) -> Places | None:
        """The places of a piece whose first line is in the given line of the source."""
        runs = []
        start = 0
        for number, line in enumerate(piece.split("\n"), first):
            # The parser may have put blanks for half of a tab: without them the line is there for certain.
            for core in (line, line.lstrip(" \t")):
                found = self.texts[number].rfind(core) if number < len(self.texts) else -1
                if found >= 0:
                    runs.append((start + len(line) - len(core), self.starts[number] + found))
                    break
            else:
                return None
            start += len(line) + 1
        return Places(runs or [(0, 0)])

    def heading_places(self, piece: str, number: int) -> Places | None:
        """The same for a heading, which may end in marks like those that it begins with."""
        found = CLOSING_MARKS.sub("", self.texts[number]).rfind(piece)
        return None if found < 0 else Places([(0, self.starts[number] + found)])

    def cell_places(self, cells: Sequence[str], number: int) -> list[Places] | None:
        """The places of the cells of a table's row, whose first bar may be left out."""
        line, base = self.texts[number], self.starts[number]
        edges = [-1, *(bar.start() for bar in BAR.finditer(line)), len(line)]
        segments = [(line[left + 1 : right], base + left + 1) for left, right in pairwise(edges)]
        for skipped in (0, 1):
            rest = [*segments[skipped:], *[("", 0)] * len(cells)]
            found = [_in_segment(cell, *segment) for cell, segment in zip(cells, rest, strict=False)]
            if None not in found:
                return [places for places in found if places]
        return None


def _in_segment(cell: str, segment: str, base: int) -> Places | None:
    """The places of a cell between two bars; a bar inside of it has a backslash in the source."""
    escapes = [found.start() for found in re.finditer(r"\\\|", segment)]
    start = segment.replace("\\|", "|").rfind(cell)
    if start < 0:
        return None
    # The nth backslash that is gone stood at `escape`: from the bar behind it on, places are n + 1 further.
    bars = [(escape - number - start, base + escape + 1) for number, escape in enumerate(escapes)]
    before = sum(bar < 0 for bar, _ in bars)
    return Places([(0, base + start + before), *(bar for bar in bars if bar[0] >= 0)])
