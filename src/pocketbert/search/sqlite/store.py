"""An index in one SQLite file, with FTS5 for words and sqlite-vec for vectors.

The file is in WAL mode: who reads sees the last whole transaction, one process writes at a time, the others wait.
Every change is one transaction that is on disk when it ends, so a process may be killed at any moment.

Vectors are kept as 8-bit integers, each scaled by its largest number: cosines do not see the scale. Words are those of
FTS5's unicode61 with Porter's endings taken off; scripts without blanks are indexed letter by letter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from pocketbert.errors import InputError, SearchError
from pocketbert.search.passages import Passage
from pocketbert.search.rows import COLUMNS, check_limit, document_from, kept_from, text_hash, values_of
from pocketbert.search.sqlite.check import problems
from pocketbert.search.sqlite.errors import explained
from pocketbert.search.sqlite.queries import condition, integers, spaced, words_query
from pocketbert.search.sqlite.tables import (
    has_tables,
    make_tables,
    open_database,
    read_settings,
    set_wal,
    write_embedder,
)
from pocketbert.search.store import (
    Document,
    Entry,
    Filter,
    Kept,
    NoIndexError,
    Settings,
    Statistics,
    Vectors,
    check_entry,
)

PATIENCE = 30_000  # milliseconds to wait for another writer


class SqliteStore:
    """An index in one file; see `Store` for what it does. It is closed at the end of a `with` block."""

    def __init__(self, path: str | os.PathLike[str], *, patience: int = PATIENCE) -> None:
        """Open an index that is there."""
        self.path = Path(path)
        if not self.path.is_file():
            raise NoIndexError(f"there is no index {self.path}; make one: pocketbert index DIR")
        self._open(apsw.SQLITE_OPEN_READWRITE, patience)
        try:
            with self._explained("read"):
                self._settings = self._first_look(patience)
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], settings: Settings, *, patience: int = PATIENCE
    ) -> SqliteStore:
        """Open an index, or make it if it is not there; one that was made with other settings is refused."""
        store = cls.__new__(cls)
        store.path = Path(path)
        if not store.path.parent.is_dir():
            raise SearchError(f"{store.path} cannot be made: there is no folder {store.path.parent}")
        store._open(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, patience)
        try:
            store._prepare(settings, patience)
            store.settings.check(settings, store.name)
        except BaseException:
            store._database.close()
            raise
        return store

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def settings(self) -> Settings:
        """What the index was made with."""
        return self._settings

    def place_embedder(self, place: str) -> None:
        """Note where the embedder is now."""
        with self._transaction():
            write_embedder(self._database, place)
        self._settings = replace(self._settings, embedder=place)

    def replace(self, entries: Sequence[Entry]) -> None:
        """Put documents in, in one transaction; a document that is there in the same form is left alone."""
        for entry in entries:
            check_entry(entry, self.settings)
        with self._transaction():
            for entry in entries:
                document = entry.document
                there = self._one("select id, hash from documents where path = ?", document.path)
                if there is not None and there[1] == document.hash:
                    self._set_times(document.path, document.size, document.modified)
                    continue
                if there is not None:
                    self._drop(there[0])
                self._put(entry)

    def touch(self, path: str, *, size: int, modified: int) -> None:
        """Note that a file was written anew without a change."""
        with self._transaction():
            self._set_times(path, size, modified)

    def remove(self, paths: Iterable[str]) -> int:
        """Take documents out; how many there were."""
        count = 0
        with self._transaction():
            for path in paths:
                there = self._one("select id from documents where path = ?", path)
                if there is not None:
                    self._drop(there[0])
                    count += 1
        return count

    def documents(self) -> Iterator[Document]:
        """All documents by path, without their places."""
        with self._explained("read"):
            rows = list(self._database.execute(f"select {COLUMNS} from documents order by path"))  # noqa: S608
        yield from map(document_from, rows)

    def document(self, path: str) -> Document | None:
        """One document, with its places."""
        with self._explained("read"):
            row = self._one(f"select {COLUMNS}, places from documents where path = ?", path)  # noqa: S608
        return None if row is None else document_from(row)

    def by_words(self, query: str, count: int, where: Filter) -> list[tuple[int, float]]:
        """Passages that hold any of a text's words, by BM25."""
        asked = words_query(query)
        if not asked:
            return []
        chosen, values = condition(where, "rowid")
        sql = f"select rowid, -rank from words where words match ?{chosen} order by rank, rowid limit ?"  # noqa: S608
        with self._explained("read"):
            return list(self._database.execute(sql, (asked, *values, check_limit(count))))

    def by_vector(self, vector: Vectors, count: int, where: Filter) -> list[tuple[int, float]]:
        """Passages whose vectors are nearest, by cosine."""
        if self.settings.embedder is None:
            raise SearchError(f"{self.name} has no vectors; search it by words, or index again with --model")
        if vector.shape != (self.settings.dimensions,):
            raise InputError(f"the vector is {vector.shape}; this index needs ({self.settings.dimensions},)")
        chosen, values = condition(where, "passage")
        sql = f"select passage, distance from vectors where vector match vec_int8(?) and k = ?{chosen}"  # noqa: S608
        (number,) = integers(vector[None])
        with self._explained("read"):
            rows = list(self._database.execute(sql, (number, check_limit(count), *values)))
        return [(row, 1.0 - distance) for row, distance in sorted(rows, key=lambda row: (row[1], row[0]))]

    def first(self, count: int, where: Filter) -> list[int]:
        """Ids of the first passages by path and place."""
        chosen, values = condition(where, "passages.id")
        sql = (
            "select passages.id from passages join documents on documents.id = passages.document "  # noqa: S608
            f"where true{chosen} order by path, number limit ?"
        )
        with self._explained("read"):
            return [row[0] for row in self._database.execute(sql, (*values, count))]

    def count(self, where: Filter) -> int:
        """How many passages there are."""
        chosen, values = condition(where, "id")
        with self._explained("read"):
            row = self._one(f"select count(*) from passages where true{chosen}", *values)  # noqa: S608
        return int(row[0]) if row else 0

    def fetch(self, ids: Sequence[int]) -> list[Kept]:
        """Passages by id, in that order."""
        sql = (
            'select path, places, number, start, "end", text from passages '
            "join documents on documents.id = passages.document where passages.id = ?"
        )
        with self._explained("read"):
            rows = [(number, row) for number in ids if (row := self._one(sql, number)) is not None]
        return kept_from(rows)

    def around(self, path: str, first: int, last: int) -> list[Passage]:
        """The passages of a document from one number to another."""
        sql = (
            'select number, start, "end", text from passages where document = '
            "(select id from documents where path = ?) and number between ? and ? order by number"
        )
        with self._explained("read"):
            return [Passage(*row) for row in self._database.execute(sql, (path, first, last))]

    def statistics(self) -> Statistics:
        """How much there is; the log beside the file counts too."""
        sql = "select count(*), coalesce(sum(passages), 0), coalesce(sum(characters), 0) from documents"
        with self._explained("read"):
            row = self._one(sql) or (0, 0, 0)
        files = [self.path, self.path.with_name(f"{self.path.name}-wal")]
        size = sum(file.stat().st_size for file in files if file.exists())
        return Statistics(row[0], row[1], row[2], row[1] if self.settings.dimensions else 0, size)

    def verify(self) -> list[str]:
        """What is wrong: SQLite's own checks of the file, then ours of what it holds."""
        found: list[str] = []
        with self._explained("read"), self._database:  # one state of the index, whoever writes meanwhile
            found += problems(self._database, self.settings)
        return found

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, flags: int, patience: int, options: str = "") -> None:
        with self._explained("open"):
            self._database = open_database(self.path, flags, patience, options)

    def _first_look(self, patience: int) -> Settings:
        """What the index was made with; where no log can be made beside the file, it is opened to be read as it is."""
        try:
            return read_settings(self._database, self.name)
        except (apsw.ReadOnlyError, apsw.CantOpenError):
            log = self.path.with_name(f"{self.path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise SearchError(
                    f"{self.path} could not be read: its last writer was stopped, and its folder may not be written "
                    f"to; let someone who may write there run: pocketbert index --verify --index {self.path}"
                ) from None
            self._database.close()
            self._open(apsw.SQLITE_OPEN_READONLY, patience, "?immutable=1")
            return read_settings(self._database, self.name)

    def _prepare(self, settings: Settings, patience: int) -> None:
        """Make the tables, unless they are there: two processes may both be the first."""
        with self._explained("open"):
            if not has_tables(self._database):
                set_wal(self._database, patience)
        with self._transaction():
            if not has_tables(self._database):
                make_tables(self._database, settings)
            self._settings = read_settings(self._database, self.name)

    def _put(self, entry: Entry) -> None:
        document = entry.document
        row = (*values_of(document), text_hash(entry.passages), document.places.to_bytes())
        self._database.execute(
            f"insert into documents ({COLUMNS}, text_hash, places) values (?,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608
            row,
        )
        owner = self._database.last_insert_rowid()
        numbers: Iterable[bytes | None] = (
            (None for _ in entry.passages) if entry.vectors is None else integers(entry.vectors)
        )
        for passage, vector in zip(entry.passages, numbers, strict=True):
            self._database.execute(
                'insert into passages (document, number, start, "end", text) values (?, ?, ?, ?, ?)',
                (owner, passage.number, passage.start, passage.end, passage.text),
            )
            number = self._database.last_insert_rowid()
            self._database.execute(
                "insert into words (rowid, text) values (?, ?)", (number, spaced(passage.text))
            )
            if vector is not None:
                self._database.execute(
                    "insert into vectors (passage, vector) values (?, vec_int8(?))", (number, vector)
                )

    def _drop(self, document: int) -> None:
        numbers = list(self._database.execute("select id from passages where document = ?", (document,)))
        self._database.executemany("delete from words where rowid = ?", numbers)
        if self.settings.embedder is not None:
            self._database.executemany("delete from vectors where passage = ?", numbers)
        self._database.execute("delete from passages where document = ?", (document,))
        self._database.execute("delete from documents where id = ?", (document,))

    def _set_times(self, path: str, size: int, modified: int) -> None:
        self._database.execute(
            "update documents set size = ?, modified = ? where path = ?", (size, modified, path)
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained("written"):
            self._database.execute("begin immediate")
            try:
                yield
                self._database.execute("commit")
            except BaseException:
                if self._database.in_transaction:  # some errors end it themselves
                    self._database.execute("rollback")
                raise

    def _explained(self, done: str) -> AbstractContextManager[None]:
        return explained(self.path, done)

    def _one(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        return next(iter(list(islice(self._database.execute(sql, values), 1))), None)
