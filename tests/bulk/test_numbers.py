"""The numbers to expect at scale are computed from results, and say so where there are none."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
RATES = {
    "cores": 2,
    "words": 100,
    "jobs": {
        "embedding": {
            "local": {"rows": 20_000, "rows_per_second": 60.0, "bytes_per_row": 2_000},
            "ray": {"rows": 20_000, "rows_per_second": 100.0, "bytes_per_row": 2_000},
        }
    },
}
GROWTH = {
    "stores": {
        "sqlite": [
            {"passages": 10_000, "stored_a_second": 90, "megabytes": 50, "latency": {"words": {"p50": 2}}},
            {"passages": 100_000, "stored_a_second": 50, "megabytes": 400, "latency": {"words": {"p50": 20}}},
        ],
        "postgres": [
            {
                "passages": 100_000,
                "stored_a_second": 500,
                "megabytes": 900,
                "latency": {"vectors": {"p50": 20}},
            },
            {"passages": 1_000, "stored_a_second": 900, "megabytes": 10, "latency": {"vectors": {"p50": 2}}},
            {
                "passages": 10_000,
                "stored_a_second": 900,
                "megabytes": 90,
                "latency": {"vectors": {"p50": 20}},
            },
        ],
    }
}


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module that draws the tables, with a folder of results of its own."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    for name in ("record", "shown", "shown.scale"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = import_module("shown.scale")
    monkeypatch.setattr(import_module("record"), "RESULTS", tmp_path)
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    return module


def write(folder: Path, name: str, key: str, value: object) -> None:
    entry = {"value": value, "circumstances": {"machine": "a toy"}}
    (folder / f"{name}.json").write_text(json.dumps({key: entry}))


def test_without_results_the_command_is_named(scale, tmp_path) -> None:
    assert scale.bulk() == scale.expected() == "Not measured yet; `python benchmarks/bulk.py` does it."


def test_numbers_follow_from_rates(scale, tmp_path) -> None:
    write(tmp_path, "bulk", "rows a second", RATES)
    assert "| embedding | 20,000 | 60 | 100 | 2,000 |" in scale.bulk()
    assert "| the index | not measured yet | not measured yet |" in scale.expected()
    write(tmp_path, "search", "growth", GROWTH)
    lines = scale.expected().splitlines()
    assert "| embedding, the machine measured | 28 h | 12 days |" in lines
    assert "| embedding, 16 machines of 16 such cores | 13 min | 2 h |" in lines
    assert "| embedding, Parquet parts | 20 GB | 200 GB |" in lines
    assert "| SQLite, on disk | 40 GB | 400 GB |" in lines
    assert "| SQLite, to store what is embedded, one process | 56 h | 23 days |" in lines
    assert "| SQLite, a search by words (20 ms at 100,000) | 2 s | 20 s |" in lines
    assert "| PostgreSQL, on disk | 90 GB | 900 GB |" in lines
    assert "| PostgreSQL, a search by vectors (20 ms at 100,000) | 20 ms | 20 ms |" in lines


def test_searches_grow_as_they_did(scale) -> None:
    assert scale.growth(10.0, 10.0) == scale.growth(30.0, 10.0) == 1
    assert scale.growth(0.9, 10.0) == 0
    assert scale.growth(10**0.5, 10.0) == pytest.approx(0.5)
