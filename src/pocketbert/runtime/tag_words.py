"""The words of a raw text, as taggers learn them: whole, with what is written in them, without what stands around.

A tokenizer cuts "U.S.-based" into five pieces that all begin words of their own. Who made the training data did not, so
marks between two letters stay inside a word; the ends of short forms ("'s", "'re") are words by themselves, as there.
"""

from __future__ import annotations

import re
import unicodedata

from pocketbert.runtime.documents import Document

INSIDE = frozenset("-‐‑'’.&@_")
BETWEEN_DIGITS = frozenset(",:/")
SHORT_FORM = re.compile(r"['’](?:s|t|re|ve|ll|d|m)(?!\w)", re.IGNORECASE)


def words_of(document: Document) -> list[tuple[int, int]]:
    """The first and the last token of every word."""
    text = document.text
    starts, ends = document.starts.tolist(), document.ends.tolist()
    found: list[tuple[int, int]] = []
    open_end = False  # the token before is a mark that what follows belongs to
    for token, start in enumerate(starts):
        if not token:
            found.append((0, 0))
            continue
        behind = ends[token - 1]
        goes_on = start < behind
        opens = False
        if not goes_on and not any(map(str.isspace, text[behind:start])):
            short_form = SHORT_FORM.match(text, start) is not None
            inside = not short_form and _is_inside(text, behind, start)
            goes_on = (
                open_end or inside or document.tokenizer.continues(int(document.ids[token]), text, start)
            )
            opens = (
                (short_form or inside)
                and ends[token] == start + 1
                and text[ends[token] : ends[token] + 1].isalnum()
            )
        if goes_on:
            found[-1] = (found[-1][0], token)
        else:
            found.append((token, token))
        open_end = opens
    return found


def _is_inside(text: str, behind: int, start: int) -> bool:
    """Whether the character at `start` is a mark between two letters or two digits, or the point behind an initial."""
    mark = text[start]
    if mark not in INSIDE and mark not in BETWEEN_DIGITS:
        return False
    while behind and unicodedata.category(text[behind - 1]).startswith("M"):
        behind -= 1
    left, right = text[behind - 1 : behind], text[start + 1 : start + 2]
    if mark == "." and left.isupper() and not text[max(behind - 2, 0) : behind - 1].isalnum():
        return True  # an initial, or the last letter of "U.S."
    if mark in BETWEEN_DIGITS:
        return left.isdigit() and right.isdigit()
    return left.isalnum() and right.isalnum()
