"""Documents and passages as rows of a database, and back: the same for every store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pocketbert.errors import InputError
from pocketbert.search.passages import Passage
from pocketbert.search.places import Places
from pocketbert.search.store import LARGEST_COUNT, Document, Kept

COLUMNS = "path, kind, title, hash, size, modified, characters, passages, notes"
Row = Sequence[Any]


def values_of(document: Document) -> tuple[Any, ...]:
    """A document as the values of `COLUMNS`."""
    names = COLUMNS.split(", ")
    return tuple(json.dumps(document.notes) if name == "notes" else getattr(document, name) for name in names)


def document_from(row: Row) -> Document:
    """A document from the values of `COLUMNS`, and of `places` if they are there."""
    values = dict(zip([*COLUMNS.split(", "), "places"], row, strict=False))
    values["notes"] = tuple(json.loads(values["notes"]))
    if "places" in values:
        values["places"] = Places.from_bytes(values["places"])
    return Document(**values)


def kept_from(rows: Iterable[tuple[int, Row]]) -> list[Kept]:
    """Passages from their ids and (path, places of the document, number, start, end, text)."""
    found = []
    known: dict[str, Places] = {}
    for number, (path, places, *rest) in rows:
        if path not in known:
            known[path] = Places.from_bytes(places)
        passage = Passage(*rest)
        indent = len(passage.text) - len(passage.text.lstrip())
        found.append(Kept(number, path, passage, known[path][passage.start + indent]))
    return found


def text_hash(passages: Iterable[Passage]) -> str:
    """SHA-256 of the text that passages cover."""
    whole, end = hashlib.sha256(), 0
    for passage in passages:
        whole.update(passage.text[end - passage.start :].encode())
        end = passage.end
    return whole.hexdigest()


def text_problems(rows: Iterable[Row], path: str, characters: int, count: int, code: str) -> Iterator[str]:
    """Whether passages, as (number, start, end, text), are the text of their document, from first to last."""
    whole, end, seen = hashlib.sha256(), 0, 0
    for place, start, stop, text in rows:
        if place != seen or start > end or stop - start != len(text):
            yield f"{path}: passage {place} is not where it should be"
            return
        whole.update(text[end - start :].encode())
        end, seen = stop, seen + 1
    if (end, seen) != (characters, count):
        yield f"{path}: {seen} passages up to character {end}; it should be {count} up to {characters}"
    elif whole.hexdigest() != code:
        yield f"{path}: the text is not what was indexed"


def empty_vectors(path: str, count: int) -> str:
    """What is said of a document with vectors that hold nothing."""
    return f"{path}: {count} vectors are empty or of a wrong size"


def check_limit(count: int) -> int:
    """Refuse more passages than a query may give."""
    if not 1 <= count <= LARGEST_COUNT:
        raise InputError(f"{count} passages are asked for; it must be from 1 to {LARGEST_COUNT}")
    return count
