"""Rows with a field of text: JSON lines, Parquet files, and sets that the `datasets` library loads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pocketbert.data.corpus.plain import Document, from_sentences, from_text, lines
from pocketbert.errors import InputError, require
from pocketbert.tables.reading import parquet_batches


def from_json_lines(path: Path, field: str) -> Iterator[Document]:
    """One JSON object a line; `field` holds a text, or a list of sentences."""
    for number, line in enumerate(lines(path), start=1):
        if not line:
            continue
        place = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} is not a JSON object: {error}") from error
        if not isinstance(row, dict):
            raise InputError(
                f"{place} holds a {type(row).__name__}; every line must be an object with named fields"
            )
        yield _document(row, field, place)


def from_parquet(path: Path, field: str) -> Iterator[Document]:
    """One document a row of a Parquet file."""
    parquet = require("pyarrow.parquet", extra="lab")
    try:
        file = parquet.ParquetFile(path)
        names = file.schema_arrow.names
    except Exception as error:  # the library raises errors of its own kinds
        raise InputError(f"{path} is not a Parquet file: {error}") from error
    if field not in names:
        raise InputError(_no_field(str(path), field, names))
    number = 0
    with file:
        for batch in parquet_batches(file, path, [field]):
            for value in batch.column(0).to_pylist():
                yield _document({field: value}, field, f"{path}, row {number}")
                number += 1


def from_table(table: Any, name: str, field: str) -> Iterator[Document]:
    """One document a row of a set."""
    if field not in table.column_names:
        raise InputError(_no_field(name, field, table.column_names))
    for number, row in enumerate(table.select_columns([field])):
        yield _document(row, field, f"{name}, row {number}")


def _document(row: Mapping[str, object], field: str, place: str) -> Document:
    if field not in row:
        raise InputError(_no_field(place, field, row))
    value = row[field]
    if value is None:
        return []
    if isinstance(value, str):
        return from_text(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return from_sentences(value)
    raise InputError(
        f"{place}: {field!r} is of the type {type(value).__name__}; a text or a list of sentences is read"
    )


def _no_field(place: str, field: str, names: object) -> str:
    known = ", ".join(map(str, names)) if isinstance(names, (list, tuple, Mapping)) else str(names)
    return (
        f"{place} has no field {field!r}; name the one with the text by --text_field (in Python, field=…): "
        f"it has {known}"
    )
