"""Write the tables of the documents from results/*.json, so that no number in them is typed by hand.

    python benchmarks/tables.py [--check]

A table stands between `<!-- NAME -->` and `<!-- end -->`. With --check nothing is written, and a table that is not
what the results say is an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from shown import browser, embedding, labelling, reading, scale, searching, teaching

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only say whether the documents are up to date")
    options = parser.parse_args()

    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        old = document.read_text(encoding="utf-8")
        new = filled(old)
        if new != old and options.check:
            sys.exit(f"{document.name} is not what the results say: run python benchmarks/tables.py")
        if new != old:
            document.write_text(new, encoding="utf-8")


def filled(text: str) -> str:
    """The text with every table drawn anew."""

    def draw(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in TABLES:
            sys.exit(f"there is no table {name!r}; the tables are {', '.join(TABLES)}")
        return f"<!-- {name} -->\n{TABLES[name]()}\n<!-- end -->"

    return re.sub(r"<!-- (?P<name>[\w-]+) -->\n.*?<!-- end -->", draw, text, flags=re.DOTALL)


TABLES = {
    "footprint": reading.footprint,
    "reader": reading.reader,
    "readers": reading.readers,
    "latency": reading.latency,
    "trade": reading.trade,
    "start": reading.start,
    "memory": reading.memory,
    "variants": reading.variants,
    "family": reading.family,
    "tasks": labelling.tasks,
    "ablation-parts": teaching.ablation_parts,
    "ablation-schedules": teaching.ablation_schedules,
    "compression": teaching.compression,
    "embedder": embedding.scores,
    "sentences": embedding.speeds,
    "search-quality": searching.quality,
    "search-growth": searching.growth,
    "bulk": scale.bulk,
    "scale": scale.expected,
    "browser-speed": browser.speed,
    "browser-same": browser.same,
}

if __name__ == "__main__":
    main()
