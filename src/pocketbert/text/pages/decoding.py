"""Bytes to text: what the bytes say themselves, else what was declared, else what fits."""

from __future__ import annotations

import codecs
import re

from pocketbert.errors import InputError

MARKS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What people declare -> what they mean by it, as browsers take it: mostly the larger encoding that holds the declared.
MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
}
# Python's codecs that hold the text of people; others would run something, or take quadratic time.
FOR_TEXT = re.compile(
    r"utf-(?:8|16|32)|cp\d|iso8859|iso2022|koi8|mac|euc|shift_jis|big5|gb|hz|johab|tis|ptcp|kz|hp-roman"
)
# What is worth a guess; by the full list the first lines of a letter may well be EBCDIC.
GUESSED = [
    "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "cp866",
    "koi8_r", "iso8859_2", "iso8859_5", "mac_roman", "cp932", "euc_jp", "gb18030", "big5hkscs", "cp949",
]  # fmt: skip
DECLARED = re.compile(rb"""<meta[^>]{0,400}?charset\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE)
XML_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{2,40})""", re.IGNORECASE)
HEAD = (
    4096  # bytes in which a page declares its encoding; the standard asks for 1024, pages are more generous
)
SAMPLE = 50_000  # bytes that a guess is made from
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
MOST_CONTROL = 0.02  # of the characters; with more it is no text


def decode(
    data: bytes, *, encoding: str | None = None, sent_as: str | None = None, name: str = "the input"
) -> tuple[str, str]:
    """The text and the encoding it was read with.

    An `encoding` that the user gave is obeyed; what an HTTP header or the page itself declares is tried first.
    """
    if encoding is not None:
        known = codec(encoding)
        if known is None:
            raise InputError(
                f"there is no encoding {encoding!r}; give one such as utf-8, cp1252 or shift_jis"
            )
        return _checked(data.decode(known, "replace").removeprefix("\ufeff"), name), known
    for mark, marked in MARKS:
        if data.startswith(mark):
            return _checked(data[len(mark) :].decode(marked, "replace"), name), marked
    wide = _without_mark(data)
    if wide is not None:
        return _checked(data.decode(wide, "replace"), name), wide
    escaped = "iso2022_jp" if b"\x1b$" in data[:HEAD] else None  # which would pass for ASCII
    declared = [known for label in (sent_as, _declared(data), escaped) if label and (known := codec(label))]
    for candidate in (*declared, "utf-8"):
        try:
            text = data.decode(candidate)
        except UnicodeDecodeError:
            continue
        return _checked(text, name), candidate
    best = "utf-8" if _is_torn_utf8(data) else declared[0] if declared else _guess(data)
    return _checked(data.decode(best, "replace"), name), best


def codec(label: str) -> str | None:
    """Python's name for an encoding that someone declared; None if there is none, or none for text."""
    try:
        found = codecs.lookup(label.strip()).name
    except (LookupError, ValueError):
        return None
    return MEANT.get(found, found) if FOR_TEXT.match(found) else None


def _declared(data: bytes) -> str | None:
    found = XML_DECLARED.match(data[:HEAD]) or DECLARED.search(data[:HEAD])
    label = found[1].decode("ascii", "ignore") if found else None
    # Whoever could read this far was not reading UTF-16.
    return "utf-8" if label and label.lower().startswith("utf-16") else label


def _without_mark(data: bytes) -> str | None:
    """UTF-16 without a mark shows: blanks and digits have a zero on one side, and no letter has one on the other."""
    pairs = min(len(data), HEAD) // 2
    even, odd = data[0 : 2 * pairs : 2].count(0), data[1 : 2 * pairs : 2].count(0)
    if pairs and even == 0 and odd > 0.1 * pairs:
        return "utf-16-le"
    if pairs and odd == 0 and even > 0.1 * pairs:
        return "utf-16-be"
    return None


def _is_torn_utf8(data: bytes) -> bool:
    """UTF-8 with a few wrong bytes: nothing else looks like it by chance."""
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    right = len(re.findall(r"[^\x00-\x7f]", text)) - wrong
    return right > 20 * wrong


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    sample = data[:SAMPLE]
    if len(data) > SAMPLE:
        sample = sample[: sample.rfind(b"\n") + 1] or sample  # rather not in the middle of a character
    matches = list(from_bytes(sample, cp_isolation=GUESSED))
    equal = [
        match
        for match in matches
        if (match.chaos, match.coherence) == (matches[0].chaos, matches[0].coherence)
    ]
    names = [name for match in equal for name in match.could_be_from_charset]
    return "cp1252" if not names or "cp1252" in names else codec(names[0]) or "cp1252"


def _checked(text: str, name: str) -> str:
    """Refuse what could be decoded but is no text."""
    if len(CONTROL.findall(text)) > MOST_CONTROL * len(text):
        raise InputError(
            f"{name} is not text but binary data; HTML, Markdown, PDF and plain text can be read"
        )
    return text
