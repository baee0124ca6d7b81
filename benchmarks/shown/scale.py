"""What to expect of many passages, computed from what was measured of few: rates, bytes and times."""

from __future__ import annotations

import json
import math
from typing import Any

from record import RESULTS, circumstance, recorded
from shown.searching import STORES

SIZES = (10_000_000, 100_000_000)
MACHINES = 16, 16  # machines, cores of each: a small cluster
MISSING = "Not measured yet; `{command}` does it."
HOUR = 3600
GIGABYTE = 1e9


def bulk() -> str:
    """Rows a second, by engine."""
    if not there("bulk", "rows a second"):
        return MISSING.format(command="python benchmarks/bulk.py")
    measured = recorded("bulk", "rows a second")
    rows = [
        row(kind, [f"{here['rows']:,}", rate(here), rate(job["ray"]), f"{here['bytes_per_row']:,}"])
        for kind, job in measured["jobs"].items()
        for here in [job["local"]]
    ]
    where = circumstance("bulk", "rows a second", "machine")
    return "\n".join([
        "| | rows | local, one thread, rows a second | Ray, a worker a core, rows a second | bytes a row written |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"Texts of {measured['words']} words, on {where}.",
    ])  # fmt: skip


def expected() -> str:
    """Hours, gigabytes and milliseconds at 10 and 100 million passages."""
    if not there("bulk", "rows a second"):
        return MISSING.format(command="python benchmarks/bulk.py")
    measured = recorded("bulk", "rows a second")
    machines, cores = MACHINES
    lines = [
        f"| | {' | '.join(f'{size // 1_000_000} million passages' for size in SIZES)} |",
        "| --- | ---: | ---: |",
    ]
    for kind, job in measured["jobs"].items():
        here, each = job["ray"]["rows_per_second"], job["local"]["bytes_per_row"]
        if here is None:
            continue
        core = here / measured["cores"]
        lines += [
            row(f"{kind}, the machine measured", [span(size / here) for size in SIZES]),
            row(
                f"{kind}, {machines} machines of {cores} such cores",
                [span(size / core / machines / cores) for size in SIZES],
            ),
            row(f"{kind}, Parquet parts", [gigabytes(size * each) for size in SIZES]),
        ]
    lines += index_rows()
    return "\n".join([
        *lines,
        "",
        ("Computed from the rates above and those of the index, as if they held: the work grows with the passages and "
        "shrinks with the cores, and searches go on to grow as they did between the two largest indexes measured. "
        "Ray's own work, the shared disk and an index that no longer fits into memory are not in it; measure a part of "
        "your data first."),
    ])  # fmt: skip


def index_rows() -> list[str]:
    """The index in each store, from the two largest that were measured.

    The bytes of a passage hold, and so does the rate. A time of searching goes on as it grew from the one size to the
    other: with their ratio's power, which is at most 1.
    """
    if not there("search", "growth"):
        return [row("the index", ["not measured yet"] * len(SIZES))]
    lines = []
    for store, sizes in recorded("search", "growth")["stores"].items():
        smaller, larger = sorted(sizes, key=lambda size: size["passages"])[-2:]
        count = larger["passages"]
        each = larger["megabytes"] * 1e6 / count
        rate = larger["stored_a_second"]
        lines += [
            row(f"{STORES[store]}, on disk", [gigabytes(size * each) for size in SIZES]),
            row(
                f"{STORES[store]}, to store what is embedded, one process",
                [span(size / rate) for size in SIZES],
            ),
        ]
        for way, times in larger["latency"].items():
            power = growth(times["p50"] / smaller["latency"][way]["p50"], count / smaller["passages"])
            lines.append(
                row(
                    f"{STORES[store]}, a search by {way} ({times['p50']:,.0f} ms at {count:,})",
                    [span((size / count) ** power * times["p50"] / 1000) for size in SIZES],
                )
            )
    return lines


def growth(times: float, larger: float) -> float:
    """The power of its size that a time grows with, between 0 and 1."""
    return min(max(math.log(times) / math.log(larger), 0.0), 1.0)


def row(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def rate(found: dict[str, Any]) -> str:
    value = found["rows_per_second"]
    return "" if value is None else f"{value:,.0f}"


def span(seconds: float) -> str:
    """A time that one can imagine."""
    if seconds < 2:
        return f"{1000 * seconds:,.0f} ms"
    if seconds < 120:
        return f"{seconds:,.0f} s"
    if seconds < 2 * HOUR:
        return f"{seconds / 60:,.0f} min"
    return f"{seconds / HOUR:,.0f} h" if seconds < 72 * HOUR else f"{seconds / HOUR / 24:,.0f} days"


def gigabytes(count: float) -> str:
    return f"{count / GIGABYTE:,.0f} GB"


def there(name: str, key: str) -> bool:
    """Whether a benchmark has been run."""
    path = RESULTS / f"{name}.json"
    return path.is_file() and key in json.loads(path.read_text(encoding="utf-8"))
