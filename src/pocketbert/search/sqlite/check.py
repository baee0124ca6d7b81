"""Whether an index in SQLite is whole: the file by SQLite's own checks, then that its tables agree."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from pocketbert.search.rows import empty_vectors, text_problems
from pocketbert.search.store import Settings


def problems(database: apsw.Connection, settings: Settings) -> Iterator[str]:
    """What is wrong, in words."""
    for (line,) in database.execute("pragma integrity_check"):
        if line != "ok":
            yield f"SQLite finds: {line}"
    yield from _counts(database, settings)
    yield from _texts(database)
    if settings.embedder is not None:
        yield from _vectors(database, settings.dimensions)


def _counts(database: apsw.Connection, settings: Settings) -> Iterator[str]:
    tables = {"words": "words_docsize"} | (
        {"vectors": "vectors_rowids"} if settings.embedder is not None else {}
    )
    keys = {"words": "id", "vectors": "rowid"}
    for name, table in tables.items():
        key = keys[name]
        for what, sql in {
            f"passages without {name}": f"select count(*) from passages where id not in (select {key} from {table})",  # noqa: S608
            f"{name} without a passage": f"select count(*) from {table} where {key} not in (select id from passages)",  # noqa: S608
        }.items():
            for (count,) in database.execute(sql):
                if count:
                    yield f"{count} {what}"
    sql = "select count(*) from passages where document not in (select id from documents)"
    for (count,) in database.execute(sql):
        if count:
            yield f"{count} passages without a document"


def _texts(database: apsw.Connection) -> Iterator[str]:
    """Whether the passages of each document are its text, from the first character to the last."""
    sql = 'select number, start, "end", text from passages where document = ? order by number'
    documents = list(database.execute("select id, path, characters, passages, text_hash from documents"))
    for number, *about in documents:
        yield from text_problems(database.execute(sql, (number,)), *about)


def _vectors(database: apsw.Connection, dimensions: int) -> Iterator[str]:
    """Whether every vector has its numbers; that of a passage is never zero."""
    sql = (
        "select path, count(*) from vectors join passages on passages.id = vectors.passage "
        "join documents on documents.id = passages.document "
        "where length(vector) <> :bytes or vector = zeroblob(:bytes) group by path order by path"
    )
    try:
        for path, count in database.execute(sql, {"bytes": dimensions}):
            yield empty_vectors(path, count)
    except apsw.SQLError as error:
        yield f"vectors cannot be read: {error}"
