"""Tables and tiny models for tests of whole tables: every row has a number, so that one sees which are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet

LABELS = ("bad", "good", "mixed")


def texts_table(path: Path, rows: int, *, first: int = 0, repeat: int = 3, group: int = 7) -> Path:
    """A table with numbers, texts and a column that nobody reads, in small row groups that no part fits."""
    numbers = range(first, first + rows)
    table = arrow.table(
        {
            "number": list(numbers),
            "text": [f"Ferry {number} leaves at nine. " * (1 + number % repeat) for number in numbers],
            "tags": [["a", str(number)] for number in numbers],
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path, row_group_size=group)
    return path


def questions_table(path: Path) -> Path:
    """Questions that the toy reader answers with "gold" or not at all; and rows that nothing can be said of."""
    rows = [
        {
            "id": number,
            "question": "what ?",
            "context": f"the {'gold' if number % 3 else 'paper'} is in box {number}",
        }
        for number in range(12)
    ]
    rows[4]["context"] = " "
    rows[7]["question"] = None
    rows[9]["question"] = "why " * 200
    parquet.write_table(arrow.Table.from_pylist(rows), path)
    return path


def columns(folder: Path) -> dict[str, list[Any]]:
    """All rows of a folder of parts, in the order of their names."""
    return parquet.read_table(folder).to_pydict()


def vectors(folder: Path) -> np.ndarray:
    return np.array(columns(folder)["vector"], dtype=np.float32)


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("part-*.parquet"))


def hidden(folder: Path) -> list[str]:
    """What should be gone when a run has ended."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
