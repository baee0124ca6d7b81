"""Rows of table files, one after the other: CSV, TSV, JSON lines, Parquet, and sets of the hub.

A table is never held as a whole, but for a JSON file that is one list.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pocketbert.errors import InputError, require
from pocketbert.tables.rows import Row, check_columns, check_names
from pocketbert.tables.sets import BUILDERS, open_set

Form = Literal["auto", "csv", "tsv", "json", "parquet"]
FORMS: dict[str, Form] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".jsonl": "json", ".ndjson": "json",
    ".parquet": "parquet",
}  # fmt: skip
Quotes = Literal["fields", "characters"]
# How a packed file begins, and what unpacks it.
_PACKED = {
    b"\x1f\x8b": "gunzip -k", b"BZh": "bunzip2 -k", b"\xfd7zXZ": "unxz -k", b"\x28\xb5\x2f\xfd": "unzstd",
    b"PK\x03\x04": "unzip",
}  # fmt: skip


def read_rows(
    source: str | os.PathLike[str],
    *,
    columns: Iterable[str] = (),
    header: Sequence[str] | None = None,
    form: Form = "auto",
    split: str = "train",
    quotes: Quotes = "fields",
) -> Iterator[Row]:
    """The rows of a table file, whose form its ending tells, or of a set that `datasets` loads (its part `split`).

    A table without one of the `columns`, or with two of a name, is refused before its first row. `header` names the
    columns of a CSV or TSV file that does not do so itself. In a TSV file, `quotes` say whether quotation marks around
    a field belong to the file or to the text, as in GLUE; a field never holds a tab or a line break there.
    """
    path = Path(source)
    if form == "auto":
        form = FORMS.get(path.suffix.lower(), "auto")
    if form == "auto" and path.is_file() and path.suffix.lower() not in BUILDERS:
        endings = ", ".join(dict.fromkeys((*FORMS, *BUILDERS)))
        raise InputError(
            f"{path} is no table by its ending; tables end with {endings}: rename the file, convert it, or unpack "
            "it if it is packed"
        )
    if form == "auto" or path.is_dir():
        return _set_rows(str(source), list(columns), split)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; give a table ({', '.join(FORMS)}) or a set's name")
    if header is not None and form not in ("csv", "tsv"):
        raise InputError(f"{path} names its columns itself; column names are for CSV and TSV files")
    if form == "csv":
        return _delimited(path, _csv_lines(path), list(columns), header)
    if form == "tsv":
        return _delimited(path, _tsv_lines(path, quotes), list(columns), header)
    return (_json_rows if form == "json" else _parquet_rows)(path, list(columns))


def open_lines(path: Path, *, newline: str | None = None) -> Iterator[str]:
    """The lines of a UTF-8 file as they are; a byte order mark is no part of the first."""
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            yield from file
    except UnicodeDecodeError as error:
        raise InputError(_not_text(path, error.reason)) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def parquet_batches(file: Any, path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """The rows of an open Parquet file by the thousand; all columns if none is named."""
    try:
        yield from file.iter_batches(batch_size=1024, columns=list(columns) or None)
    except Exception as error:  # the library raises errors of its own kinds
        raise InputError(f"{path} is damaged ({error}); get the file again, or write it anew") from error


def _not_text(path: Path, reason: str) -> str:
    with path.open("rb") as file:
        start = file.read(8)
    for beginning, tool in _PACKED.items():
        if start.startswith(beginning):
            return f"{path} is compressed; unpack it first ({tool} {path}), and give the file that comes out"
    return f"{path} is not UTF-8 ({reason}); convert it first: iconv -t UTF-8 {path}"


Line = tuple[int, list[str]]  # number of the line, its fields


def _csv_lines(path: Path) -> Iterator[Line]:
    lines = open_lines(path, newline="")  # a field in quotation marks may hold line breaks
    first = next(lines, "")
    # Spreadsheets of half the world write semicolons; the header tells.
    delimiter = max(",;\t", key=first.count)

    def all_lines() -> Iterator[str]:
        yield first
        yield from lines

    reader = csv.reader(all_lines(), delimiter=delimiter, strict=True)
    begins = 1
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"{path}, line {begins}: {error}; write a text with quotation marks or line breaks as "
                '"… ""so"" …", or use JSON lines'
            ) from error
        if fields:
            yield begins, fields
        begins = reader.line_num + 1


def _tsv_lines(path: Path, quotes: Quotes) -> Iterator[Line]:
    for number, line in enumerate(open_lines(path, newline="\n"), start=1):
        fields = line.rstrip("\r\n").split("\t")
        if fields == [""]:
            continue
        if quotes == "fields":
            fields = [
                field[1:-1].replace('""', '"') if len(field) > 1 and field[0] == field[-1] == '"' else field
                for field in fields
            ]
        yield number, fields


def _delimited(
    path: Path, lines: Iterator[Line], columns: Sequence[str], header: Sequence[str] | None
) -> Iterator[Row]:
    if header is None:
        _, names = next(lines, (1, []))
        names = [name.strip() for name in names]
    else:
        names = list(header)
    check_names(str(path), names)
    check_columns(str(path), columns, names)
    for number, fields in lines:
        if len(fields) != len(names):
            raise InputError(
                f"{path}, line {number}: {len(fields)} fields, but there are {len(names)} columns "
                f"({', '.join(names)}); a text that holds the separator needs quotation marks around it"
            )
        yield Row(f"{path}, line {number}", dict(zip(names, fields, strict=True)))


def _json_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    for place, value in _json_values(path):
        if not isinstance(value, dict):
            raise InputError(
                f"{place} holds a {type(value).__name__}; every row must be an object with named columns"
            )
        check_columns(place, columns, list(value))
        yield Row(place, value)


def _json_values(path: Path) -> Iterator[tuple[str, Any]]:
    lines = open_lines(path)
    begun = False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            if not begun and line.lstrip().startswith("["):
                for row, value in enumerate(json.loads(line + "".join(lines))):
                    yield f"{path}, row {row}", value
                return
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} is not a JSON object: {error}") from error
        begun = True
        yield place, value


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    parquet = require("pyarrow.parquet", extra="parquet")
    try:
        file = parquet.ParquetFile(path)
        names = file.schema_arrow.names
    except Exception as error:  # the library raises errors of its own kinds
        raise InputError(f"{path} is not a Parquet file: {error}") from error
    check_names(str(path), names)
    check_columns(str(path), columns, names)
    number = 0
    with file:
        for batch in parquet_batches(file, path, columns):
            for cells in batch.to_pylist():
                yield Row(f"{path}, row {number}", cells)
                number += 1


def _set_rows(name: str, columns: Sequence[str], split: str) -> Iterator[Row]:
    table = open_set(name, split)
    check_columns(name, columns, table.column_names)
    wanted = table.select_columns(columns) if columns else table
    for number, cells in enumerate(wanted):
        yield Row(f"{name} ({split}), row {number}", cells)
