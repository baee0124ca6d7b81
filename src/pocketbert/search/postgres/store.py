"""An index on a server: PostgreSQL's text search for words, and pgvector's HNSW for vectors.

Every change is one transaction. If the connection is lost, or the server is started anew, the work at hand is tried
again for half a minute: to put a document in twice is the same as once, so nothing is lost and nothing is doubled.
Several processes may write at once (`writing`).

Vectors are kept as half floats. Words are scored by BM25, which PostgreSQL does not know, so it is written in SQL.
PostgreSQL keeps no character NUL: in its place stands U+FFFD, so that all others stay where they are.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pocketbert.errors import InputError, SearchError
from pocketbert.search.passages import Passage
from pocketbert.search.postgres import queries
from pocketbert.search.postgres.address import Address
from pocketbert.search.postgres.server import Connection, Server
from pocketbert.search.postgres.tables import make_tables, read_settings, write_embedder
from pocketbert.search.postgres.writing import problems, put, set_times
from pocketbert.search.rows import COLUMNS, check_limit, document_from, kept_from
from pocketbert.search.store import (
    Document,
    Entry,
    Filter,
    Kept,
    Settings,
    Statistics,
    Vectors,
    check_entry,
)

PATIENCE = 30.0  # seconds to wait for a server that is gone
KNOWN = 60.0  # seconds for which the size of the index, of which scores depend, is not asked again
FEW = 20_000  # passages that a filter leaves, among which the nearest are found by looking at all
VISITED, MOST_VISITED = 20_000, 1_000_000  # passages at which the index of vectors looks, at most


class PostgresStore:
    """An index on a server; see `Store` for what it does. It is closed at the end of a `with` block."""

    def __init__(self, address: str, *, make: Settings | None = None, patience: float = PATIENCE) -> None:
        """Open an index, `postgresql://user@host/database#name`; `make` it with settings if it is not there."""
        self.address = Address.of(address)
        self._server = Server(self.address, patience)
        self._size: tuple[int, float, float] | None = None
        schema = self.address.schema

        def opening(connection: Connection) -> Settings:
            if make is not None:
                with connection.transaction():
                    make_tables(connection, schema, make)
            return read_settings(connection, schema, self.name)

        try:
            self._settings = self._server.do("opened", opening)
            if make is not None:
                self.settings.check(make, self.name)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, address: str, settings: Settings, *, patience: float = PATIENCE) -> PostgresStore:
        """Open an index, or make it if it is not there; one that was made with other settings is refused."""
        return cls(address, make=settings, patience=patience)

    @property
    def name(self) -> str:
        """The address, without a password."""
        return str(self.address)

    @property
    def settings(self) -> Settings:
        """What the index was made with."""
        return self._settings

    def place_embedder(self, place: str) -> None:
        """Note where the embedder is now."""
        self._server.do("written", lambda connection: write_embedder(connection, place))
        self._settings = replace(self._settings, embedder=place)

    def replace(self, entries: Sequence[Entry]) -> None:
        """Put documents in, in one transaction; a document that is there in the same form is left alone."""
        for entry in entries:
            check_entry(entry, self.settings)

        def work(connection: Connection) -> None:
            with connection.transaction():
                put(connection, entries)

        if not entries:
            return
        self._server.do("written", work)
        self._size = None

    def touch(self, path: str, *, size: int, modified: int) -> None:
        """Note that a file was written anew without a change."""
        self._server.do(
            "written", lambda connection: set_times(connection, path, size=size, modified=modified)
        )

    def remove(self, paths: Iterable[str]) -> int:
        """Take documents out; how many there were."""
        wanted = list(paths)
        sql = "delete from documents where path = any(%s)"
        count = self._server.do("written", lambda connection: connection.execute(sql, (wanted,)).rowcount)
        self._size = None
        return count

    def documents(self) -> Iterator[Document]:
        """All documents by path, without their places."""
        sql = f'select {COLUMNS} from documents order by path collate "C"'  # noqa: S608
        yield from map(document_from, self._server.rows(sql))

    def document(self, path: str) -> Document | None:
        """One document, with its places."""
        rows = self._server.rows(f"select {COLUMNS}, places from documents where path = %s", path)  # noqa: S608
        return document_from(rows[0]) if rows else None

    def by_words(self, query: str, count: int, where: Filter) -> list[tuple[int, float]]:
        """Passages that hold any of a text's words, by BM25."""
        check_limit(count)
        asked = queries.asked_words(query)
        if not asked:
            return []
        passages, mean = self._sizes()
        counts = self._counts(asked, passages)
        weights = queries.weights(counts, passages)
        if not weights:
            return []
        chosen, values = queries.condition(where)
        values |= {
            "words": list(weights),
            "weights": list(weights.values()),
            "any": queries.any_of(queries.choosing(counts, weights, passages)),
            "shortlist": max(queries.SHORTLIST, 2 * count),
            "mean": mean,
            "count": count,
        }
        rows = self._server.rows(queries.BM25.format(chosen), **values)
        return [(number, float(score)) for number, score in rows]

    def by_vector(self, vector: Vectors, count: int, where: Filter) -> list[tuple[int, float]]:
        """Passages whose vectors are nearest, by cosine: by the index, or exactly if a filter leaves few."""
        check_limit(count)
        if self.settings.embedder is None:
            raise SearchError(f"{self.name} has no vectors; search it by words, or index again with --model")
        if vector.shape != (self.settings.dimensions,):
            raise InputError(f"the vector is {vector.shape}; this index needs ({self.settings.dimensions},)")
        chosen, values = queries.condition(where)
        values |= {"vector": queries.halves(vector), "count": count}
        some, nearest, visited = f"passages where true{chosen}", "", VISITED
        if chosen:
            left = self.count(where)
            if left <= FEW:
                some = f"(select id, vector from passages where true{chosen} offset 0)"  # noqa: S608
                nearest = ", id"
            else:  # so many more are visited until enough of them pass the filter
                visited = min(max(VISITED, 4 * count * self._sizes()[0] // left), MOST_VISITED)
        sql = (
            f"select id, 1 - (vector <=> %(vector)s::halfvec) from {some} "  # noqa: S608
            f"order by vector <=> %(vector)s::halfvec{nearest} limit %(count)s"
        )
        settings = {
            "hnsw.iterative_scan": "strict_order",
            "hnsw.ef_search": str(min(max(count, 100), 1000)),
            "hnsw.max_scan_tuples": str(visited),
        }

        def work(connection: Connection) -> list[tuple[int, float]]:
            setting = (
                "select set_config(name, value, false) from unnest(%s::text[], %s::text[]) as s (name, value)"
            )
            connection.execute(setting, (list(settings), list(settings.values())))
            return connection.execute(sql, values).fetchall()

        found = self._server.do("read", work)
        return sorted(
            ((number, float(cosine)) for number, cosine in found), key=lambda row: (-row[1], row[0])
        )

    def first(self, count: int, where: Filter) -> list[int]:
        """Ids of the first passages by path and place."""
        chosen, values = queries.condition(where)
        sql = (
            "select passages.id from passages join documents on documents.id = passages.document "  # noqa: S608
            f'where true{chosen} order by path collate "C", number limit %(count)s'
        )
        return [number for (number,) in self._server.rows(sql, **values, count=count)]

    def count(self, where: Filter) -> int:
        """How many passages there are."""
        chosen, values = queries.condition(where, "id")
        sql = f"select coalesce(sum(passages), 0) from documents where true{chosen}"  # noqa: S608
        return int(self._server.rows(sql, **values)[0][0])

    def fetch(self, ids: Sequence[int]) -> list[Kept]:
        """Passages by id, in that order."""
        sql = (
            'select passages.id, path, places, number, start, "end", text from passages '
            "join documents on documents.id = passages.document where passages.id = any(%s)"
        )
        found = {number: row for number, *row in self._server.rows(sql, list(ids))}
        return kept_from((number, found[number]) for number in ids if number in found)

    def around(self, path: str, first: int, last: int) -> list[Passage]:
        """The passages of a document from one number to another."""
        sql = (
            'select number, start, "end", text from passages where document = '
            "(select id from documents where path = %s) and number between %s and %s order by number"
        )
        return [Passage(*row) for row in self._server.rows(sql, path, first, last)]

    def statistics(self) -> Statistics:
        """How much there is, with all indexes."""
        sql = (
            "select count(*), coalesce(sum(passages), 0), coalesce(sum(characters), 0), "
            "pg_total_relation_size('documents') + pg_total_relation_size('passages') from documents"
        )
        documents, passages, characters, size = map(int, self._server.rows(sql)[0])
        return Statistics(documents, passages, characters, passages if self.settings.dimensions else 0, size)

    def verify(self) -> list[str]:
        """What is wrong: whether the passages of each document are its text, with its words, and with vectors."""

        def work(connection: Connection) -> list[str]:
            with connection.transaction():  # one state of the index, whoever writes meanwhile
                connection.execute("set transaction isolation level repeatable read")
                return list(problems(connection, self.settings.dimensions))

        return self._server.do("read", work)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def __enter__(self) -> PostgresStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sizes(self) -> tuple[int, float]:
        """How many passages there are, and how many words one has: as of a minute ago at most."""
        now = time.monotonic()
        if self._size is None or now > self._size[2]:
            sql = "select coalesce(sum(passages), 0), coalesce(sum(words), 0) from documents"
            passages, words = map(int, self._server.rows(sql)[0])
            self._size = (passages, max(words, 1) / max(passages, 1), now + KNOWN)
        return self._size[:2]

    def _counts(self, asked: Sequence[str], passages: int) -> dict[str, int]:
        """How many passages have each word, by its stem; of common words as PostgreSQL estimates it."""
        return dict(
            self._server.rows(
                queries.COUNTS, words=" ".join(asked), schema=self.address.schema, passages=passages
            )
        )
