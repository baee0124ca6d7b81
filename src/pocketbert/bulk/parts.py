"""One part: its rows read, said something of, and written with all their columns; the file is whole or not there.

What a run has to tell of a part is in the part itself (its file's metadata), so that the files are the only record.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pocketbert.bulk.jobs import Cells, Opened, Texts
from pocketbert.bulk.plan import Part
from pocketbert.errors import BulkError, InputError, require

KEY = b"pocketbert"
DRAFT = ".draft"


@dataclass(frozen=True)
class Said:
    """What is to be told of a part, or of all of them."""

    rows: int = 0
    truncated: int = 0
    """Texts whose ends were not read."""
    skipped: int = 0
    """Rows of which nothing could be said; their new columns are null."""
    first_skipped: str = ""
    """Where the first of them is, and why."""

    def __add__(self, other: Said) -> Said:
        return Said(
            self.rows + other.rows,
            self.truncated + other.truncated,
            self.skipped + other.skipped,
            self.first_skipped or other.first_skipped,
        )


def make_part(part: Part, reads: Sequence[str], opened: Opened, out: Path, plan: str) -> None:
    """Read, say and write; a part that is there already, whole and of the same plan, is left alone."""
    if said_of(out, part, plan) is not None:
        return
    table = read_part(part)
    rows = list(zip(*(table[name].to_pylist() for name in reads), strict=True))
    cells, said = say_all(rows, part, reads, opened)
    arrow = require("pyarrow", extra="parquet")
    for place, (name, kind) in enumerate(opened.types.items()):
        column = [None if row is None else row[place] for row in cells]
        table = table.append_column(name, arrow.array(column, type=kind))
    mark = json.dumps({"plan": plan, "part": part.number, **asdict(said)}, ensure_ascii=False)
    write_part(table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: mark}), out / part.name)


def said_of(out: Path, part: Part, plan: str) -> Said | None:
    """What a finished part tells; None if it is not there, or not what the plan says."""
    parquet = require("pyarrow.parquet", extra="parquet")
    arrow = require("pyarrow", extra="parquet")
    path = out / part.name
    if not path.is_file():
        return None
    try:
        found = parquet.read_metadata(path)
        mark = json.loads((found.metadata or {})[KEY])
    except (OSError, ValueError, KeyError, arrow.ArrowException):
        return None
    if (mark.pop("plan", None), mark.pop("part", None), found.num_rows) != (plan, part.number, part.rows):
        return None
    return Said(**mark)


def read_part(part: Part) -> Any:
    """The rows of a part, with all columns."""
    arrow = require("pyarrow", extra="parquet")
    parquet = require("pyarrow.parquet", extra="parquet")
    batches, begins = [], 0
    end = part.first + part.rows
    try:
        with parquet.ParquetFile(part.file) as file:
            schema = file.schema_arrow
            groups, skipped = _groups(file.metadata, part.first, end)
            begins = skipped
            for batch in file.iter_batches(batch_size=part.rows, row_groups=groups):
                low, high = max(part.first - begins, 0), min(end - begins, len(batch))
                if high > low:
                    batches.append(batch.slice(low, high - low))
                begins += len(batch)
                if begins >= end:
                    break
    except (OSError, arrow.ArrowException) as error:
        raise BulkError(
            f"{part.file} cannot be read: {error}; every machine must see the file under this name, and nobody "
            "may change it while it is read"
        ) from error
    table = arrow.Table.from_batches(batches, schema=schema)
    if len(table) != part.rows:
        raise BulkError(f"{part.file} has lost rows since the run began: {end} were expected; start again")
    return table


def say_all(
    rows: Sequence[tuple[Any, ...]], part: Part, reads: Sequence[str], opened: Opened
) -> tuple[list[Cells | None], Said]:
    """The cells of all rows. A row without a text, or one that the model refuses, has none, and is counted."""
    cells: list[Cells | None] = [None] * len(rows)
    reasons: dict[int, str] = {}
    for number, row in enumerate(rows):
        empty = [name for name, text in zip(reads, row, strict=True) if text is None or not text.strip()]
        if empty:
            reasons[number] = f"{empty[0]!r} is empty"
    wanted = [number for number in range(len(rows)) if number not in reasons]
    truncated = 0

    def say(numbers: list[int]) -> str:
        """Fill in some rows; why they were refused, or nothing."""
        nonlocal truncated
        texts: list[Texts] = [rows[number] for number in numbers]
        try:
            found, cut = opened.say(texts) if texts else ([], 0)
        except InputError as error:
            return str(error)
        for number, cell in zip(numbers, found, strict=True):
            cells[number] = cell
        truncated += cut
        return ""

    if say(wanted):  # one of them, and only one by one it is seen which
        reasons |= {number: reason for number in wanted if (reason := say([number]))}
    first = min(reasons, default=None)
    place = "" if first is None else f"{part.file.name}, row {part.first + first}: {reasons[first]}"
    return cells, Said(len(rows), truncated, len(reasons), place)


def write_part(table: Any, path: Path) -> None:
    """Write beside, bring to the disk, then rename: there is never half a part under its name."""
    parquet = require("pyarrow.parquet", extra="parquet")
    draft = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}{DRAFT}")
    try:
        with draft.open("wb") as file:
            parquet.write_table(table, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _groups(metadata: Any, first: int, end: int) -> tuple[list[int], int]:
    """The row groups that hold some rows, and how many rows stand before them."""
    found: list[int] = []
    before = begins = 0
    for number in range(metadata.num_row_groups):
        after = begins + metadata.row_group(number).num_rows
        if begins < end and after > first:
            if not found:
                before = begins
            found.append(number)
        begins = after
    return found, before
