"""Rows with named columns, from table files and from sets that the `datasets` library loads, and back to files."""

from __future__ import annotations

from pocketbert.tables.reading import read_rows
from pocketbert.tables.rows import Row, check_columns, near
from pocketbert.tables.sets import open_set
from pocketbert.tables.writing import TableWriter

__all__ = ["Row", "TableWriter", "check_columns", "near", "open_set", "read_rows"]
