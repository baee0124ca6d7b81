"""What SQLite's errors mean for whoever keeps an index, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from pocketbert.errors import SearchError
from pocketbert.search.store import ReadOnlyIndexError

READ_ONLY = (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)
ADVICE: list[tuple[type[Exception] | tuple[type[Exception], ...], str]] = [
    (
        (apsw.BusyError, apsw.LockedError),
        "another process is writing to it; wait for it to end, then try again",
    ),
    (
        apsw.NotADBError,
        "it is no index but some other file; give another name with --index FILE, or delete it if nothing needs it",
    ),
    (apsw.CorruptError, "it is damaged; delete it and index again, the documents themselves are untouched"),
    (
        apsw.FullError,
        "the disk is full; what was indexed before is kept. Make room and index again: it goes on there",
    ),
    (READ_ONLY, "it may not be written to; give another place with --index FILE"),
    (
        apsw.CantOpenError,
        "it cannot be opened; see whether its folder may be written to, or give --index FILE",
    ),
    (
        apsw.IOError,
        "the disk refused; what was indexed before is kept. See whether there is room, then index again",
    ),
]


@contextmanager
def explained(path: Path, done: str) -> Iterator[None]:
    """Turn SQLite's errors into ours, which name the file; `done` is what could not be done with it."""
    try:
        yield
    except apsw.Error as error:
        advice = next((said for kind, said in ADVICE if isinstance(error, kind)), "")
        reason = advice or f"SQLite says: {error}"
        kind = ReadOnlyIndexError if done == "written" and isinstance(error, READ_ONLY) else SearchError
        raise kind(f"{path} could not be {DONE[done]}: {reason}") from error


DONE = {"open": "opened", "read": "read", "written": "written"}
