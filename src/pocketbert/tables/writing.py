"""Table files out: CSV, TSV and JSON lines, row by row; the file appears whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Literal

from pocketbert.errors import InputError

Form = Literal["csv", "tsv", "json"]
ENDINGS: dict[str, Form] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "json", ".ndjson": "json",
}  # fmt: skip


class TableWriter:
    """Writes rows to a file whose ending tells its form; the first row's columns are those of the table.

    with TableWriter("said.csv") as table:
        table.write({"text": "Lovely.", "prediction": "good"})
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() not in ENDINGS:
            raise InputError(
                f"{self.path}: which form is that? A table can be written as {', '.join(ENDINGS)}"
            )
        self._form = ENDINGS[self.path.suffix.lower()]
        self._draft = self.path.with_name(f".{self.path.name}.{os.getpid()}.draft")
        self._file: IO[str] | None = None
        self._columns: list[str] = []

    def write(self, cells: Mapping[str, Any]) -> None:
        """Add a row; lists and objects are written as JSON where a form has no way of its own."""
        if self._file is None:
            raise InputError(f"{self.path} is not open; write to it inside a with statement")
        if self._form == "json":
            self._file.write(json.dumps(dict(cells), ensure_ascii=False) + "\n")
            return
        if not self._columns:
            self._columns = list(cells)
            self._file.write(self._line(self._columns))
        foreign = [name for name in cells if name not in self._columns]
        if foreign:
            raise InputError(
                f"{self.path}: a row has the column {foreign[0]!r}, which the first one lacks; all rows of a "
                f"{self._form.upper()} file have the same: write JSON lines (.jsonl) instead"
            )
        self._file.write(self._line([_written(cells.get(name)) for name in self._columns]))

    def _line(self, fields: list[str]) -> str:
        if self._form == "csv":
            return ",".join(map(_quoted, fields)) + "\r\n"
        for field in fields:
            if "\t" in field or "\n" in field or "\r" in field:
                raise InputError(
                    f"{self.path}: {field[:60]!r} holds a tab or a line break, as no TSV file can; write a CSV file"
                )
        marked = (
            '"' + field.replace('"', '""') + '"'
            if field[:1] == field[-1:] == '"' and len(field) > 1
            else field
            for field in fields
        )
        return "\t".join(marked) + "\n"

    def __enter__(self) -> TableWriter:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._draft.open("w", encoding="utf-8", newline="")
        except OSError as error:
            raise InputError(f"{self.path} cannot be written: {error.strerror or error}") from error
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if kind is None:
            self._draft.replace(self.path)
        else:
            self._draft.unlink(missing_ok=True)


def _written(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if any(mark in field for mark in ',;\t"\r\n') else field
