"""What to expect of many passages, computed from what was measured of few: rates, bytes and times."""

from __future__ import annotations

import json
from typing import Any

from record import RESULTS, circumstance, recorded

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
        ("Computed from the rates above and those of the index, as if they held: times grow with the passages and "
        "shrink with the cores. Ray's own work and the shared disk are not in it; measure a part of your data first."),
    ])  # fmt: skip


def index_rows() -> list[str]:
    """The index, from the largest that was measured.

    The bytes of a passage hold. A search that looks at every passage takes as many times longer as there are more of
    them, which is the worst case.
    """
    if not there("search", "growth"):
        return [row("the index", ["not measured yet"] * len(SIZES))]
    sizes = recorded("search", "growth")["sizes"]
    count = max(map(int, sizes))
    found = sizes[str(count)]
    lines = []
    if "bytes_per_passage" in found:
        lines.append(row("the index", [gigabytes(size * found["bytes_per_passage"]) for size in SIZES]))
    if "passages_per_second" in found:
        lines.append(
            row("indexing, one process", [span(size / found["passages_per_second"]) for size in SIZES])
        )
    lines += [
        row(
            f"a search by {way} in one SQLite file, at most ({milliseconds:,.0f} ms at {count:,})",
            [span(size / count * milliseconds / 1000) for size in SIZES],
        )
        for way, milliseconds in found.get("milliseconds", {}).items()
    ]
    return lines


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
