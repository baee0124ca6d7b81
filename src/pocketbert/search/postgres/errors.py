"""What PostgreSQL's errors mean for whoever keeps an index, and what to do about them."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors

from pocketbert.errors import SearchError
from pocketbert.search.store import ReadOnlyIndexError

READ_ONLY = (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)

# By the kind of error or, for a connection that was refused and so has no kind, by what the server says.
ADVICE: list[tuple[tuple[type[Exception], ...], str, str]] = [
    (
        (errors.InvalidPassword, errors.InvalidAuthorizationSpecification),
        r'password authentication failed|no password supplied|role ".*" does not exist|no pg_hba\.conf entry',
        "it does not accept this user; see the name and the password (PGPASSWORD, or ~/.pgpass)",
    ),
    (
        (errors.InvalidCatalogName,),
        r'database ".*" does not exist',
        "there is no such database; make it with createdb",
    ),
    (
        (errors.TooManyConnections,),
        r"too many (clients|connections)|remaining connection slots",
        "it has no connection left; try again when others are done",
    ),
    (
        (errors.InsufficientPrivilege,),
        r"permission denied for database",
        "this user may not do that; whoever owns the database may grant it, and run create extension vector",
    ),
    (
        (errors.FeatureNotSupported, errors.UndefinedFile),
        "",
        "pgvector is not installed on the server; install it (0.8 or newer), or index words alone: --no-vectors",
    ),
    (
        (errors.DiskFull,),
        "",
        "the server's disk is full; what was indexed before is kept. Make room and index again: it goes on there",
    ),
    (
        (errors.LockNotAvailable,),
        "",
        "another process is writing to it; wait for it to end, then try again",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        "",
        "it may only be read; give the address of the server that is written to",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        "",
        "it is damaged; drop its schema and index again, the documents themselves are untouched",
    ),
    (
        (errors.UndefinedTable, errors.UndefinedColumn),
        "",
        "parts of the index are gone; drop its schema and index again",
    ),
]

AGAIN = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.UniqueViolation,  # another process put the same document in, and was the first
)
"""What passes by itself: whoever waits and begins anew may succeed."""


def passes(error: psycopg.Error, connection: psycopg.Connection[object] | None) -> bool:
    """Whether it is worth while to try again: the connection was lost, or someone else was in the way."""
    if error.sqlstate is not None:
        return isinstance(error, AGAIN)
    return connection is None or bool(connection.closed)


def explained(error: psycopg.Error, name: str, done: str) -> SearchError:
    """One of our errors, which names the index; `done` is what could not be done with it."""
    said = " ".join(str(error).split())
    for kinds, pattern, advice in ADVICE:
        if isinstance(error, kinds) or (pattern and error.sqlstate is None and re.search(pattern, said)):
            kind = ReadOnlyIndexError if done == "written" and isinstance(error, READ_ONLY) else SearchError
            return kind(f"{name} could not be {done}: {advice}")
    return SearchError(f"{name} could not be {done}: PostgreSQL says: {said}")
