"""What is asked of SQLite: words as FTS5 takes them, vectors as sqlite-vec does, and filters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from pocketbert.search.passages import WITHOUT_BLANKS
from pocketbert.search.store import Filter, Vectors

LONELY = re.compile(f"([{WITHOUT_BLANKS}])")
WORD = re.compile(r"[^\W_]+")
RUN = re.compile(f"[{WITHOUT_BLANKS}]+|[^\\s{WITHOUT_BLANKS}]+")


def words_query(text: str) -> str:
    """A text as a query of FTS5 for any of its words; nothing in it is taken for syntax.

    Of a script without blanks any two letters that follow each other are looked for.

    >>> words_query('Is "C++" an OR?'), words_query("首都は")
    ('"Is" OR "C" OR "an" OR "OR"', '"首 都" OR "都 は"')
    """
    plain = text.encode(errors="ignore").decode()  # half a character of UTF-16 is in no text
    words = []
    for run in RUN.findall(plain.replace('"', " ").replace("\0", " ")):
        if LONELY.match(run):
            words += [" ".join(run[place : place + 2]) for place in range(max(len(run) - 1, 1))]
        elif parts := WORD.findall(run):
            words += [
                *parts,
                " ".join(parts),
            ]  # "well-known" is both of its words, and better still side by side
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(words))


def spaced(text: str) -> str:
    """A text in which letters of scripts without blanks stand alone."""
    return LONELY.sub(r" \1 ", text)


def integers(vectors: Vectors) -> Iterator[bytes]:
    """Vectors as 8-bit integers that point the same way."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scaled = np.rint(vectors * (127.0 / np.where(largest > 0, largest, 1.0))).astype(np.int8)
    return (row.tobytes() for row in scaled)


def condition(where: Filter, column: str) -> tuple[str, list[Any]]:
    """SQL that keeps passages of the wanted documents, and its values."""
    wanted: list[str] = []
    values: list[Any] = []
    if where.path is not None:
        wanted.append("path glob ?")
        values.append(where.path)
    if where.since is not None:
        wanted.append("modified >= ?")
        values.append(where.since)
    if where.until is not None:
        wanted.append("modified <= ?")
        values.append(where.until)
    if not wanted:
        return "", values
    inner = (
        "select passages.id from passages join documents on documents.id = passages.document "  # noqa: S608
        f"where {' and '.join(wanted)}"
    )
    return f" and {column} in ({inner})", values
