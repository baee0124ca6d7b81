"""What PostgreSQL's errors mean for whoever keeps an index, and what to do about them."""

from __future__ import annotations

import psycopg
from psycopg import errors

from pocketbert.errors import SearchError

ADVICE: list[tuple[type[Exception] | tuple[type[Exception], ...], str]] = [
    (
        (errors.InvalidPassword, errors.InvalidAuthorizationSpecification),
        "it does not accept this user; see the name and the password (PGPASSWORD, or ~/.pgpass)",
    ),
    (errors.InvalidCatalogName, "there is no such database; make it with createdb"),
    (
        errors.InsufficientPrivilege,
        "this user may not do that; whoever owns the database may grant it, and run create extension vector",
    ),
    (
        (errors.FeatureNotSupported, errors.UndefinedFile),
        "pgvector is not installed on the server; install it (0.8 or newer), or index words alone: --no-vectors",
    ),
    (
        errors.DiskFull,
        "the server's disk is full; what was indexed before is kept. Make room and index again: it goes on there",
    ),
    (errors.ReadOnlySqlTransaction, "it may only be read; give the address of the server that is written to"),
    (errors.UndefinedTable, "tables of the index are gone; drop its schema and index again"),
    (errors.TooManyConnections, "it has no connection left; try again when others are done"),
]

AGAIN = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.DeadlockDetected,
    errors.SerializationFailure,
)
"""What passes by itself: whoever waits and begins anew may succeed."""


def passes(error: psycopg.Error, connection: psycopg.Connection[object] | None) -> bool:
    """Whether it is worth while to try again: the connection was lost, or someone else was in the way."""
    lost = connection is None or connection.closed
    known = error.sqlstate is not None and not isinstance(error, AGAIN)
    return isinstance(error, AGAIN) or (bool(lost) and not known)


def explained(error: psycopg.Error, name: str, done: str) -> SearchError:
    """One of our errors, which names the index; `done` is what could not be done with it."""
    advice = next((said for kind, said in ADVICE if isinstance(error, kind)), "")
    said = " ".join(str(error).split())
    return SearchError(f"{name} could not be {done}: {advice or f'PostgreSQL says: {said}'}")
