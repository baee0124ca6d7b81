"""Lines of a PDF's page, and how each one goes on into the next: as one sentence, a new line or a new paragraph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from typing import Literal

Break = Literal["flow", "line", "paragraph"]

WIDE_GAP = 1.4  # times the usual distance of two lines
OTHER_SIZE = 1.2  # times the height of the line before
INDENT = 0.7  # times the height of the line
SENTENCE_ENDS = (".", "!", "?", ":", "…", "。", "！", "？")


@dataclass(frozen=True)
class Line:
    """A line and the box round it, in points from the lower left corner of the page."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    is_cut: bool = False
    """Whether it ends inside a word, as far as the PDF tells."""

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def first_word_width(self) -> float:
        """About the width of the first word and the blank behind it."""
        word = self.text.split(None, 1)[0]
        return (self.right - self.left) * (len(word) + 1) / max(len(self.text), 1)


def breaks(lines: Sequence[Line]) -> list[Break]:
    """What stands between each line and the next."""
    drops = [above.bottom - below.bottom for above, below in pairwise(lines)]
    usual = [drop for drop, line in zip(drops, lines, strict=False) if 0 < drop < 3 * line.height]
    pitch = median_low(usual) if usual else 0.0
    return [_break(lines, index, drop, pitch) for index, drop in enumerate(drops)]


def flows(above: str, below: str) -> bool:
    """Whether a sentence seems to go on from one column or page to the next."""
    return not above.endswith(SENTENCE_ENDS) and below[:1].islower()


def _break(lines: Sequence[Line], index: int, drop: float, pitch: float) -> Break:
    above, below = lines[index], lines[index + 1]
    if above.is_cut:
        return "flow"
    if drop < -0.5 * above.height:  # upwards: the next column
        return "flow" if flows(above.text, below.text) else "paragraph"
    low, high = sorted((above.height, below.height))
    if drop > WIDE_GAP * max(pitch, low) or high > OTHER_SIZE * low:
        return "paragraph"
    # A paragraph may begin with an indent; and where the next word would have had room, the line was ended on purpose.
    near = lines[max(0, index - 3) : index + 5]
    column = [line for line in near if line.left < above.right and above.left < line.right]
    margin = max(line.right for line in column)
    ended_early = margin - above.right > below.first_word_width
    if ended_early or above.text.endswith(":"):
        return "line"
    is_indented = below.left - above.left > INDENT * below.height
    return "line" if is_indented and above.text.endswith(SENTENCE_ENDS) else "flow"
