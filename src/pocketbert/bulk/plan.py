"""What is to be done: Parquet files cut into numbered parts, the same ones whoever does the work and however often.

A part is known by its number alone, and whoever makes it writes the same file. So a part that is made twice is there
once, and one that was never made is missing by name: nothing is lost and nothing is there twice, whatever dies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pocketbert
from pocketbert.errors import InputError, check_count, require
from pocketbert.tables import check_columns

ENDING = ".parquet"
PART_ROWS = 4096
MAGIC = b"PAR1"


@dataclass(frozen=True)
class Source:
    """A Parquet file, and by what it is known again."""

    path: Path
    rows: int
    bytes: int
    footer: str
    """The SHA-256 of the footer, which holds sizes, places and extremes of all that is in the file."""


@dataclass(frozen=True)
class Part:
    """Some rows of one file, which become one file."""

    number: int
    file: Path
    first: int
    rows: int

    @property
    def name(self) -> str:
        return f"part-{self.number:06}{ENDING}"


@dataclass(frozen=True)
class Plan:
    """All parts of some files."""

    sources: tuple[Source, ...]
    part_rows: int
    schema: Any
    """The columns of all files, as pyarrow knows them."""

    @classmethod
    def of(cls, given: Sequence[Path], *, part_rows: int = PART_ROWS) -> Plan:
        """Look at files, and at all that lie in folders; they must have the same columns, and a row between them."""
        check_count("part_rows", part_rows)
        arrow = require("pyarrow", extra="parquet")
        sources, schema, first = [], None, None
        for path in _files(given):
            source, found = _opened(path, arrow)
            if schema is None:
                schema, first = found, path
            elif not found.equals(schema):
                raise InputError(
                    f"{path} has other columns than {first}: {_shown(found)} instead of {_shown(schema)}; "
                    "all files of a run must have the same, in the same order"
                )
            sources.append(source)
        if not sum(source.rows for source in sources):
            raise InputError(f"{', '.join(map(str, given))}: there are no rows; give a table that has some")
        return cls(tuple(sources), part_rows, schema)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Stretches of at most `part_rows` rows, in the order of the files; no part holds rows of two."""
        return tuple(
            Part(number, path, first, rows) for number, (path, first, rows) in enumerate(self._stretches())
        )

    @property
    def rows(self) -> int:
        return sum(source.rows for source in self.sources)

    def check(self, reads: Sequence[str], writes: Sequence[str]) -> None:
        """Refuse columns that are missing, that hold no texts, or that would be written over."""
        types = require("pyarrow", extra="parquet").types
        place = str(self.sources[0].path)
        check_columns(place, reads, self.schema.names)
        for name in reads:
            kind = self.schema.field(name).type
            held = kind.value_type if types.is_dictionary(kind) else kind
            if not (types.is_string(held) or types.is_large_string(held) or types.is_string_view(held)):
                raise InputError(f"{place}: {name!r} holds {kind}; texts are needed")
        taken = [name for name in writes if name in self.schema.names]
        if taken:
            raise InputError(
                f"{place} has a column {taken[0]!r} already, which is where the result would go; rename it first"
            )

    def described(self, job: dict[str, Any]) -> dict[str, Any]:
        """All that decides what is in the parts, as JSON; where the files lie does not."""
        return {
            "pocketbert": pocketbert.__version__,
            **job,
            "part_rows": self.part_rows,
            "files": [
                {
                    "name": source.path.name,
                    "rows": source.rows,
                    "bytes": source.bytes,
                    "footer": source.footer,
                }
                for source in self.sources
            ],
        }

    def _stretches(self) -> Iterator[tuple[Path, int, int]]:
        for source in self.sources:
            for first in range(0, source.rows, self.part_rows):
                yield source.path, first, min(self.part_rows, source.rows - first)


def identity(described: dict[str, Any]) -> str:
    """A plan's short name: two plans with the same one make the same parts."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:32]


def _files(given: Sequence[Path]) -> Iterator[Path]:
    for path in given:
        if path.is_dir():
            found = sorted(file for file in path.glob(f"*{ENDING}") if not file.name.startswith((".", "_")))
            if not found:
                raise InputError(f"{path} holds no {ENDING} file; give a folder that does, or a file")
            yield from found
        elif path.is_file():
            yield path
        else:
            raise InputError(f"{path} is not there; give a {ENDING} file, or a folder of such files")


def _opened(path: Path, arrow: Any) -> tuple[Source, Any]:
    parquet = require("pyarrow.parquet", extra="parquet")
    try:
        with parquet.ParquetFile(path) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
        return Source(path.absolute(), rows, path.stat().st_size, _footer(path)), schema
    except (OSError, arrow.ArrowException) as error:
        raise InputError(f"{path} cannot be read as a Parquet file: {error}") from error


def _footer(path: Path) -> str:
    """The hash of what stands at a Parquet file's end; its last eight bytes are the length of that and a mark."""
    with path.open("rb") as file:
        file.seek(-8, 2)
        length = int.from_bytes(file.read(4), "little")
        if file.read(4) != MAGIC:
            raise InputError(f"{path} is no ordinary Parquet file (an encrypted one?); write it again as one")
        file.seek(-8 - length, 2)
        return hashlib.sha256(file.read(length)).hexdigest()


def _shown(schema: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)
