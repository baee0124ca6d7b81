"""Where words go on, told by the characters: for tokenizers whose tokens do not say so themselves."""

from __future__ import annotations

import re
import unicodedata

# Thai, Lao, Burmese, Khmer, kana and ideographs are written without blanks between words: no word is grown there.
WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def inside_word(text: str, place: int) -> bool:
    """Whether the characters on both sides of a place belong to one word.

    >>> inside_word("well-known", 2), inside_word("well-known", 4), inside_word("well-known", 5)
    (True, False, False)
    """
    return 0 < place < len(text) and _goes_on(text[place - 1]) and _goes_on(text[place])


def _goes_on(letter: str) -> bool:
    if not letter.isalnum() and not unicodedata.category(letter).startswith("M"):
        return False
    return not WITHOUT_BLANKS.match(letter)
