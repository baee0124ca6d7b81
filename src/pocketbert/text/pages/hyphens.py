"""Words that a line's end has cut in two: whether the hyphen belongs to the word or to the line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pocketbert.text.loading import EMBEDDED

LAST_WORD = re.compile(r"([^\W\d_]+)[-‐\u00ad]$")
FIRST_WORD = re.compile(r"[^\W\d_]+")
WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
HYPHENS = ("-", "‐", "\u00ad")


class Hyphens:
    """Decides by the other words of the same document, then by a vocabulary."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._words = {word.lower() for line in lines for word in WORD.findall(line)}

    def is_cut(self, above: str, below: str) -> bool:
        """Whether a line ends inside a word that goes on in the next."""
        return above.endswith(HYPHENS) and len(above) > 1 and above[-2].isalnum() and below[:1].isalnum()

    def drops(self, above: str, below: str) -> bool:
        """Whether the hyphen between two lines goes when they are joined."""
        if above.endswith("\u00ad"):
            return True
        last, first = LAST_WORD.search(above), FIRST_WORD.match(below)
        if last is None or first is None or (first[0][0].isupper() and not last[1].isupper()):
            return False  # a number, or a name such as Anglo-Saxon
        left, right = last[1].lower(), first[0].lower()
        if left + right in self._words:
            return True
        if f"{left}-{right}" in self._words:
            return False
        known = _vocabulary()
        return left + right in known or not (left in known and right in known)


@lru_cache(maxsize=1)
def _vocabulary() -> frozenset[str]:
    return frozenset((EMBEDDED / "vocab.txt").read_text(encoding="utf-8").split("\n"))
