"""Texts that tokenizers stumble over, as many as one likes: every plane of Unicode, marks, scripts, halves of pairs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

WORDS = (
    *(
        "Bert",
        "lives",
        "at",
        "123",
        "Sesame",
        "Street",
        "naïve",
        "Ångström",
        "Straße",
        "İstanbul",
        "ΟΔΥΣΣΕΥΣ",
    ),
    *("서울에", "한국어", "東京都", "我愛北京", "カタカナ", "がぎぐ", "Việt"),
    *("ภาษาไทย", "हिन्दी", "தமிழ்", "العربية", "עִבְרִית"),
    *(
        "[SEP]",
        "[CLS]",
        "[UNK]",
        "[PAD]",
        "##ing",
        "[unused1]",
        "don't",
        "e.g.",
        "C++",
        "№",
        "½",
        "ﬁ",
        "Ⅷ",
        "ǆ",
    ),
    *(
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "👍🏽",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "e\u0301\u0323",
        "q\u0307\u0323",
        "\u0344",
        "\u1e9b\u0323",
        "\U0001d15e",
    ),
)
BLANKS = (" ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u200b", "\u2028", "\x85", "\x1c", "\ufeff", "")
RANGES = (
    *(
        (0x20, 0x7E),
        (0, 0xFF),
        (0x100, 0x24F),
        (0x300, 0x36F),
        (0x370, 0x52F),
        (0x590, 0x8FF),
        (0x900, 0xDFF),
    ),
    *(
        (0xE00, 0x109F),
        (0x1100, 0x11FF),
        (0x1AB0, 0x1AFF),
        (0x1DC0, 0x1FFF),
        (0x2000, 0x2BFF),
        (0x2E80, 0x30FF),
    ),
    *(
        (0x3400, 0x4DBF),
        (0x4E00, 0x9FFF),
        (0xA000, 0xABFF),
        (0xAC00, 0xD7FF),
        (0xD800, 0xDFFF),
        (0xF900, 0xFFFF),
    ),
    *((0x10000, 0x10FFF), (0x11000, 0x11FFF), (0x16000, 0x16FFF), (0x1B000, 0x1BFFF), (0x1D000, 0x1D7FF)),
    *((0x1E000, 0x1EFFF), (0x1F000, 0x1FAFF), (0x20000, 0x2FFFF), (0x2B820, 0x2B91F), (0x30000, 0x10FFFF)),
)
MARKS = (
    0x300,
    0x315,
    0x31B,
    0x323,
    0x334,
    0x345,
    0x302E,
    0x302F,
    0x0F71,
    0x0F72,
    0x0F73,
    0x094D,
    0x1D165,
    0x1D16D,
)


def strange_texts(seed: int, count: int) -> Iterator[str]:
    """So many texts; the same ones for the same seed."""
    draw = random.Random(seed)
    kinds: tuple[Callable[[random.Random], str], ...] = (
        _words,
        _one_range,
        _any_plane,
        _marks,
        _long_word,
        _ascii,
    )
    for number in range(count):
        yield whole_pairs(kinds[number % len(kinds)](draw))


def whole_pairs(text: str) -> str:
    """The same without a high surrogate right before a low one: JavaScript would take the two for one character."""
    for place in range(len(text) - 1, 0, -1):
        if "\ud800" <= text[place - 1] <= "\udbff" and "\udc00" <= text[place] <= "\udfff":
            text = f"{text[:place]}-{text[place:]}"
    return text


def utf16(text: str, place: int) -> int:
    """A place in a text as JavaScript counts it."""
    return place + sum(character > "\uffff" for character in text[:place])


def _words(draw: random.Random) -> str:
    parts = [draw.choice(WORDS) + draw.choice(BLANKS) for _ in range(draw.randrange(1, 12))]
    return "".join(parts)


def _one_range(draw: random.Random) -> str:
    first, last = draw.choice(RANGES)
    return "".join(
        draw.choice(" .,a") if draw.random() < 0.15 else chr(draw.randint(first, last))
        for _ in range(draw.randrange(1, 30))
    )


def _any_plane(draw: random.Random) -> str:
    return "".join(chr(draw.randrange(0x110000)) for _ in range(draw.randrange(1, 20)))


def _marks(draw: random.Random) -> str:
    text = ""
    for _ in range(draw.randrange(1, 6)):
        text += draw.choice("aÅ\u00e9\ud55c\u1100 \u6f22q")
        text += "".join(
            chr(draw.choice(MARKS) if draw.random() < 0.7 else draw.randrange(0x300, 0x370))
            for _ in range(draw.randrange(5))
        )
    return text[draw.randrange(2) :]


def _long_word(draw: random.Random) -> str:
    letter = draw.choice(("a", "é", "x", "한", "\U00010400", "\u0915\u093f", "ing"))
    return f"{draw.choice(WORDS)} {letter * draw.randrange(30, 130)} {draw.choice(WORDS)}"


def _ascii(draw: random.Random) -> str:
    return "".join(chr(draw.randrange(128)) for _ in range(draw.randrange(60)))
