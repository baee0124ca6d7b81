"""The tables of an index on a server: all of them in one schema, which is the index."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from psycopg import Connection, sql

from pocketbert.errors import SearchError
from pocketbert.search.store import NoIndexError, Settings

FORM = 1
VECTOR = (0, 8)  # the first release of pgvector whose scans go on until a filter has enough
INDEXED_DIMENSIONS = 4000  # of half floats, that an HNSW index can have

# Words come to PostgreSQL one by one (`queries.words_of`), so its parser has nothing to decide; endings are taken off
# by Snowball, and no word is left out: rare or common, BM25 weighs them.
TABLES = """
create table settings (name text primary key, value text not null);
create table documents (
    id bigint generated always as identity primary key, path text not null unique, kind text not null,
    title text not null, hash text not null, size bigint not null, modified bigint not null,
    characters bigint not null, passages integer not null, text_hash text not null,
    notes text not null, places bytea not null, words bigint not null
);
create table passages (
    id bigint generated always as identity primary key,
    document bigint not null references documents (id) on delete cascade,
    number integer not null, start bigint not null, "end" bigint not null, text text not null,
    size integer not null, words tsvector not null, {vector}
    unique (document, number)
);
create index on passages using gin (words);
create text search dictionary stem (template = snowball, language = english);
create text search configuration words (parser = pg_catalog.default);
alter text search configuration words
    add mapping for asciiword, word, numword, uint, int, float, sfloat, version with stem;
"""


def make_tables(connection: Connection[Any], schema: str, settings: Settings) -> None:
    """Everything that an index needs, unless it is there: in the transaction that is going on."""
    connection.execute("select pg_advisory_xact_lock(hashtextextended('pocketbert', 0))")
    if has_schema(connection, schema):
        return
    connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
    vector: sql.Composable = sql.SQL("")
    if settings.embedder is not None:
        make_extension(connection)
        vector = sql.SQL("vector halfvec({}) not null,").format(sql.Literal(settings.dimensions))
    find_names(connection, schema)
    connection.execute(sql.SQL(TABLES).format(vector=vector))
    if 0 < settings.dimensions <= INDEXED_DIMENSIONS:
        connection.execute("create index on passages using hnsw (vector halfvec_cosine_ops)")
    for name, value in {"form": FORM, **asdict(settings)}.items():
        connection.execute("insert into settings values (%s, %s)", (name, json.dumps(value)))


def find_names(connection: Connection[Any], schema: str) -> None:
    """Let names in SQL mean those of the index first, then those of pgvector, wherever it is installed."""
    query = (
        "select nspname from pg_extension join pg_namespace on pg_namespace.oid = extnamespace "
        "where extname = 'vector'"
    )
    names = [schema, *(name for (name,) in connection.execute(query))]
    path = sql.SQL(", ").join(map(sql.Identifier, names))
    connection.execute(sql.SQL("set search_path to {}").format(path))


def has_schema(connection: Connection[Any], schema: str) -> bool:
    """Whether there is a schema of that name, an index or not."""
    return bool(connection.execute("select 1 from pg_namespace where nspname = %s", (schema,)).fetchone())


def make_extension(connection: Connection[Any]) -> None:
    """Install pgvector in the database if it is not; refuse a release that is too old."""
    # Never in the schema of an index: whoever drops that would take pgvector away from all others.
    connection.execute("create extension if not exists vector schema public")
    query = "select extversion from pg_extension where extname = 'vector'"
    for (version,) in connection.execute(query).fetchall():
        if tuple(int(part) for part in version.split(".")[:2]) < VECTOR:
            raise SearchError(
                f"the database has pgvector {version}; at least {VECTOR[0]}.{VECTOR[1]} is needed: install it, "
                "then run alter extension vector update"
            )


def write_embedder(connection: Connection[Any], place: str) -> None:
    """Write where the embedder is."""
    connection.execute("update settings set value = %s where name = 'embedder'", (json.dumps(place),))


def read_settings(connection: Connection[Any], schema: str, name: str) -> Settings:
    """What an index was made with; an error if there is none, or none that this release knows."""
    if not has_schema(connection, schema):
        raise NoIndexError(f"there is no index {name}; make one: pocketbert index DIR --index ADDRESS")
    there = connection.execute("select to_regclass(%s)", (f'"{schema}".settings',)).fetchone()
    if there is None or there[0] is None:
        raise SearchError(
            f"{name}: the schema {schema} is no index of ours; give another name, as in postgresql://…#NAME"
        )
    find_names(connection, schema)
    rows = {key: json.loads(value) for key, value in connection.execute("select name, value from settings")}
    form = rows.pop("form", None)
    if form != FORM:
        raise SearchError(
            f"{name} has version {form} of the index's form, and this release knows version {FORM}; "
            "index again under another name, or use the release that made it"
        )
    if set(rows) != {field.name for field in fields(Settings)}:
        raise SearchError(f"{name} is damaged: its settings are {sorted(rows)}; drop the schema, index again")
    return Settings(**rows)
