"""What an index must be able to do, whatever keeps it: one SQLite file (`search.sqlite`), or a database server.

A store holds documents, their passages, the words of passages and, if it has an embedder, their vectors. It knows
nothing of files and models: texts and vectors come in, numbers of passages come out. Every change is one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError, SearchError
from pocketbert.search.passages import OVERLAP, WORDS, Passage
from pocketbert.search.places import Places, Where

Vectors = NDArray[np.float32]

LARGEST_COUNT = 4096
"""Passages that one query may give at most."""


@dataclass(frozen=True)
class Settings:
    """What an index is made with; but for the embedder's place it never changes: other passages are not comparable."""

    embedder: str | None = None
    """Folder or hub name of the embedder, "" for the embedded one; None for an index without vectors."""
    fingerprint: str = ""
    """A hash of the embedder's files: the name may come to mean something else."""
    dimensions: int = 0
    words: int = WORDS
    overlap: int = OVERLAP

    def check(self, wanted: Settings, name: str) -> None:
        """Refuse to go on with an index that was made with other settings; `name` is that of the index."""
        other = f"or make another index, with --index FILE; or delete {name} and index again"
        if wanted.embedder is None and self.embedder is not None:
            raise SearchError(
                f"{name} was made with vectors of {self.embedder_name}; go on with them, {other}"
            )
        if wanted.embedder is not None and self.embedder is None:
            raise SearchError(
                f"{name} was made without vectors, and the model {wanted.embedder_name} is given; "
                f"go on without a model, {other}"
            )
        if (wanted.fingerprint, wanted.dimensions) != (self.fingerprint, self.dimensions):
            raise SearchError(
                f"{name} was made with another model: {self.embedder_name} ({self.fingerprint[:12]}, "
                f"{self.dimensions} dimensions), not {wanted.embedder_name} ({wanted.fingerprint[:12]}, "
                f"{wanted.dimensions} dimensions); go on with the first, {other}"
            )
        if (wanted.words, wanted.overlap) != (self.words, self.overlap):
            raise SearchError(
                f"{name} has passages of {self.words} words that share {self.overlap}, and {wanted.words} and "
                f"{wanted.overlap} are asked for; go on with the first, {other}"
            )

    @property
    def embedder_name(self) -> str:
        return self.embedder or "the embedded embedder"


@dataclass(frozen=True)
class Document:
    """What an index knows of a document besides its text."""

    path: str
    """As seen from the index: relative to its folder if it lies there, else absolute."""
    kind: str
    title: str
    hash: str
    """SHA-256 of the file."""
    size: int
    """Bytes of the file."""
    modified: int
    """When the file was last changed, in nanoseconds since 1970."""
    characters: int
    """Of the text."""
    passages: int
    notes: tuple[str, ...] = ()
    """What could not be read."""
    places: Places = field(default_factory=lambda: Places((), (), ()), repr=False)


@dataclass(frozen=True)
class Entry:
    """A document on its way into a store."""

    document: Document
    passages: Sequence[Passage]
    vectors: Vectors | None
    """(passages, dimensions); None for a store without vectors."""


@dataclass(frozen=True)
class Kept:
    """A passage as it comes out of a store."""

    id: int
    path: str
    passage: Passage
    where: Where
    """Where its first word stands in the file."""


@dataclass(frozen=True)
class Filter:
    """Which documents are searched."""

    path: str | None = None
    """A pattern of paths: * is any characters, slashes too, ? is one, [ab] one of some."""
    since: int | None = None
    """Files changed at that time or later, in nanoseconds since 1970."""
    until: int | None = None
    """Files changed at that time or earlier."""


@dataclass(frozen=True)
class Statistics:
    """How much is in a store."""

    documents: int
    passages: int
    characters: int
    vectors: int
    bytes: int
    """On disk."""


class NoIndexError(SearchError):
    """There is no index at that place, or whoever made it was killed before it was one."""


class ReadOnlyIndexError(SearchError):
    """The index may be read, but not be written to."""


def is_address(place: object) -> bool:
    """Whether the place of an index is a server, and no file."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


class Store(Protocol):
    """An index of documents. Ids of passages are the store's own and change when a document is replaced."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def settings(self) -> Settings:
        """What it was made with."""

    def place_embedder(self, place: str) -> None:
        """Note where the embedder is now, as a folder or a hub name; the embedder itself is the same."""

    def replace(self, entries: Sequence[Entry]) -> None:
        """Put documents in, each instead of what was there under its path: all of them or, after an error, none."""

    def touch(self, path: str, *, size: int, modified: int) -> None:
        """Note that a file was written anew without a change."""

    def remove(self, paths: Iterable[str]) -> int:
        """Take documents out, all at once; how many there were of them."""

    def documents(self) -> Iterator[Document]:
        """All documents by path, without their places."""

    def document(self, path: str) -> Document | None:
        """One document, with its places."""

    def by_words(self, query: str, count: int, where: Filter) -> list[tuple[int, float]]:
        """Ids and BM25 scores of the passages that hold any of a text's words, the best first; any text will do."""

    def by_vector(self, vector: Vectors, count: int, where: Filter) -> list[tuple[int, float]]:
        """Ids and cosines of the passages whose vectors are nearest, the best first."""

    def first(self, count: int, where: Filter) -> list[int]:
        """Ids of the first passages by path and place."""

    def count(self, where: Filter) -> int:
        """How many passages there are."""

    def fetch(self, ids: Sequence[int]) -> list[Kept]:
        """Passages in the order of their ids as given; those that are gone by now are left out."""

    def around(self, path: str, first: int, last: int) -> list[Passage]:
        """The passages of a document from one number to another, as far as there are any."""

    def statistics(self) -> Statistics:
        """How much there is."""

    def verify(self) -> list[str]:
        """What is wrong with it, in words; nothing if all is well."""

    def close(self) -> None:
        """Let go of files and connections."""

    def __enter__(self) -> Store: ...

    def __exit__(self, *_: object) -> None: ...


def check_entry(entry: Entry, settings: Settings) -> None:
    """Refuse what would break a store: every store calls this before it writes."""
    rows, document = len(entry.passages), entry.document
    wanted = None if settings.embedder is None else (rows, settings.dimensions)
    given = None if entry.vectors is None else entry.vectors.shape
    if wanted != given:
        raise InputError(f"{document.path}: the vectors are {given}; this index needs {wanted}")
    if document.passages != rows or joined(entry.passages) is None:
        raise InputError(f"{document.path}: the passages are not those of the document")
    if entry.vectors is not None and not np.isfinite(entry.vectors).all():
        raise SearchError(
            f"{document.path}: the embedder gave numbers that are not finite; take another model"
        )


def joined(passages: Sequence[Passage]) -> str | None:
    """The text that passages in their order cover; None if there is a gap."""
    parts, end = [], passages[0].start if passages else 0
    for passage in passages:
        if passage.start > end or len(passage.text) != passage.end - passage.start:
            return None
        parts.append(passage.text[end - passage.start :])
        end = passage.end
    return "".join(parts)
