"""The default store: one SQLite file."""

from pocketbert.search.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
