"""Documents into the tables, in the transaction that is going on.

Several processes may write the same documents at once. Rows that are there are locked in one order. Of two processes
that put the same new document in, the second waits for the first and then fails; begun anew, it finds the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from pocketbert.search.passages import Passage
from pocketbert.search.postgres.queries import halves, words_of
from pocketbert.search.rows import COLUMNS, empty_vectors, text_hash, text_problems, values_of
from pocketbert.search.store import Entry

Connection = psycopg.Connection[Any]

DOCUMENT_TYPES = "text text text text bigint bigint bigint int text text bytea bigint"
PASSAGE_TYPES = "bigint int bigint bigint text int text"


def put(connection: Connection, entries: Sequence[Entry]) -> None:
    """Put documents in, each instead of what is there under its path, unless that is the same."""
    by_path = {entry.document.path: entry for entry in entries}
    there = connection.execute(
        "select id, path, hash from documents where path = any(%s) order by path for update", (list(by_path),)
    ).fetchall()
    same = {path for _, path, code in there if code == by_path[path].document.hash}
    if other := [number for number, path, _ in there if path not in same]:
        connection.execute("delete from documents where id = any(%s)", (other,))
    for path in sorted(same):
        document = by_path[path].document
        set_times(connection, path, size=document.size, modified=document.modified)
    if new := [by_path[path] for path in sorted(set(by_path) - same)]:
        _insert(connection, new)


def set_times(connection: Connection, path: str, *, size: int, modified: int) -> None:
    """Note when a file was written, and its size."""
    connection.execute(
        "update documents set size = %s, modified = %s where path = %s", (size, modified, path)
    )


def problems(connection: Connection, dimensions: int) -> Iterator[str]:
    """Whether passages are the text of each document, with the words of it, and vectors of so many `dimensions`."""
    documents = connection.execute(
        "select id, path, characters, passages, text_hash, words from documents order by id"
    ).fetchall()
    for number, path, *about, words in documents:
        rows = connection.execute(
            'select number, start, "end", text from passages where document = %s order by number', (number,)
        ).fetchall()
        yield from text_problems(rows, path, *about)
        its = [words_of(row[3]) for row in rows]
        ((wrong,),) = connection.execute(
            "select count(*) from passages join unnest(%s::int[], %s::text[]) as given (number, said) using (number) "
            "where document = %s and words is distinct from to_tsvector('words', said)",
            ([row[0] for row in rows], list(map(" ".join, its)), number),
        ).fetchall()
        if wrong or sum(map(len, its)) != words:
            yield f"{path}: words are not those of its text"
    if dimensions:
        rows = connection.execute(
            "select path, count(*) from passages join documents on documents.id = passages.document "
            'where vector_dims(vector) <> %s or l2_norm(vector) = 0 group by path order by path collate "C"',
            (dimensions,),
        ).fetchall()
        yield from (empty_vectors(path, count) for path, count in rows)


def _insert(connection: Connection, entries: Sequence[Entry]) -> None:
    kept = [[_kept(passage) for passage in entry.passages] for entry in entries]
    words = [[words_of(passage.text) for passage in passages] for passages in kept]
    documents = [
        (
            *map(_writable, values_of(entry.document)),
            text_hash(parts),
            entry.document.places.to_bytes(),
            count,
        )
        for entry, parts, count in zip(entries, kept, (sum(map(len, its)) for its in words), strict=True)
    ]
    # One statement for all: of several in a pipeline, one that fails makes psycopg warn about the rest.
    owners = dict(
        connection.execute(
            f"insert into documents ({COLUMNS}, text_hash, places, words) "  # noqa: S608
            f"select * from unnest({_arrays(DOCUMENT_TYPES)}) returning path, id",
            _columns(documents),
        ).fetchall()
    )
    rows = [
        (owners[document[0]], one.number, one.start, one.end, one.text, len(its), " ".join(its))
        for document, parts, texts in zip(documents, kept, words, strict=True)
        for one, its in zip(parts, texts, strict=True)
    ]
    if not rows:
        return  # documents without a word
    columns, types = _columns(rows), PASSAGE_TYPES
    with_vector = ("", "", "")
    if entries[0].vectors is not None:
        columns.append([halves(vector) for entry in entries for vector in entry.vectors])  # type: ignore[union-attr]
        types = f"{types} text"
        with_vector = (", vector", ", v::halfvec", ", v")
    connection.execute(
        f'insert into passages (document, number, start, "end", text, size, words{with_vector[0]}) '  # noqa: S608
        f"select d, n, a, z, t, s, to_tsvector('words', w){with_vector[1]} "
        f"from unnest({_arrays(types)}) as given (d, n, a, z, t, s, w{with_vector[2]})",
        columns,
    )


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _arrays(types: str) -> str:
    return ", ".join(f"%s::{kind}[]" for kind in types.split())


def _kept(passage: Passage) -> Passage:
    return Passage(passage.number, passage.start, passage.end, _writable(passage.text))


def _writable(value: Any) -> Any:
    """A text without the one character that PostgreSQL cannot keep; all others stay where they are."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
