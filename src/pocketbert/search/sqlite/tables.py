"""The tables of an index in SQLite, and how one knows that a file is an index of ours."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, fields
from pathlib import Path

import apsw
import sqlite_vec

from pocketbert.errors import SearchError
from pocketbert.search.store import NoIndexError, Settings

APPLICATION = 0x706F636B  # "pock": that a file is ours is written in its header
SCHEMA = 1

TABLES = """
create table settings (name text primary key, value text not null) without rowid;
create table documents (
    id integer primary key, path text not null unique, kind text not null, title text not null,
    hash text not null, size integer not null, modified integer not null,
    characters integer not null, passages integer not null, text_hash text not null,
    notes text not null, places blob not null
);
create table passages (
    id integer primary key, document integer not null references documents (id),
    number integer not null, start integer not null, "end" integer not null, text text not null,
    unique (document, number)
);
create virtual table words using fts5 (
    text, content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2"
);
"""
VECTORS = """
create virtual table vectors using vec0 (passage integer primary key, vector int8[{}] distance_metric=cosine)
"""


def open_database(path: Path, flags: int, patience: int, options: str = "") -> apsw.Connection:
    """A connection that knows vectors and waits so many milliseconds for other writers; `options` are SQLite's."""
    # By its address, in which a name that is not UTF-8 can be written, too.
    address = path.absolute().as_uri() + options
    database = apsw.Connection(address, flags=flags | apsw.SQLITE_OPEN_URI)
    database.set_busy_timeout(patience)
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.enable_load_extension(False)
    return database


def set_wal(database: apsw.Connection, patience: int) -> None:
    """Have the file written by way of a log; with others at it, so many milliseconds are waited, as SQLite does not."""
    until = time.monotonic() + patience / 1000
    while True:
        try:
            database.execute("pragma journal_mode = wal")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
        else:
            return
        time.sleep(0.01)


def has_tables(database: apsw.Connection) -> bool:
    """Whether there is anything in the file."""
    return bool(list(database.execute("select 1 from sqlite_schema limit 1")))


def make_tables(database: apsw.Connection, settings: Settings) -> None:
    """Everything that an index needs, in the transaction that is going on."""
    database.execute(TABLES)
    if settings.embedder is not None:
        database.execute(VECTORS.format(settings.dimensions))
    rows = [(name, json.dumps(value)) for name, value in asdict(settings).items()]
    database.executemany("insert into settings values (?, ?)", rows)
    database.execute(f"pragma application_id = {APPLICATION}")
    database.execute(f"pragma user_version = {SCHEMA}")


def write_embedder(database: apsw.Connection, place: str) -> None:
    """Write where the embedder is, in the transaction that is going on."""
    database.execute("update settings set value = ? where name = 'embedder'", (json.dumps(place),))


def read_settings(database: apsw.Connection, name: str) -> Settings:
    """What an index was made with; an error if the file is no index, or none that this release knows."""
    if not has_tables(database):
        raise NoIndexError(f"{name} is empty; index a folder into it: pocketbert index DIR --index {name}")
    (application,) = next(iter(database.execute("pragma application_id")))
    (version,) = next(iter(database.execute("pragma user_version")))
    if application != APPLICATION:
        raise SearchError(
            f"{name} is a database, but no index of ours; give another name with --index FILE, "
            "or delete it if nothing needs it"
        )
    if version != SCHEMA:
        raise SearchError(
            f"{name} has version {version} of the index's form, and this release knows version {SCHEMA}; "
            "delete it and index again, or use the release that made it"
        )
    rows = {key: json.loads(value) for key, value in database.execute("select name, value from settings")}
    if set(rows) != {field.name for field in fields(Settings)}:
        raise SearchError(f"{name} is damaged: its settings are {sorted(rows)}; delete it and index again")
    return Settings(**rows)
