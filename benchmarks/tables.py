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

from record import circumstance, recorded

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


def footprint() -> str:
    seconds = {name: pair["processor"] for name, pair in recorded("footprint", "seconds").items()}
    install = recorded("footprint", "base_install")
    alone = seconds.pop("python alone")
    rows = [f"| `{name}` | {max(0.0, value - alone):.3f} s |" for name, value in seconds.items()]
    parts = ", ".join(f"{name} {size:.0f} MB" for name, size in list(install["largest"].items())[:3])
    where = circumstance("footprint", "seconds", "machine")
    return "\n".join([
        "| | takes |",
        "| --- | ---: |",
        *rows,
        f"| base install ({parts}) | {install['megabytes']:.0f} MB |",
        "",
        f"Medians of processor time, over the {alone:.3f} s that Python itself needs, on {where}.",
    ])  # fmt: skip


def reader() -> str:
    measured = recorded("reader", "squad2")
    rows = []
    for name in ("torch", "fp32", "int8", "int8-fast", "fp16"):
        if name in measured:
            row = measured[name]
            equal = f"{row['equal']:.1f} %" if "equal" in row else ""
            size = f"{row['megabytes']:.1f} MB" if "megabytes" in row else ""
            rows.append(
                f"| {name} | {row['f1']:.1f} | {row['exact']:.1f} | {row['has_answer_f1']:.1f} | "
                f"{row['no_answer']:.1f} | {equal} | {size} |"
            )
    return "\n".join([
        "| | F1 | exact | F1 if it must answer | silent if it should be | equal to torch | size |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"On {measured['questions']:,} questions of SQuAD 2.0's development set, {measured['unanswerable']:,} "
        "of them unanswerable, from articles that neither training nor calibration saw."),
    ])  # fmt: skip


TABLES = {"footprint": footprint, "reader": reader}

if __name__ == "__main__":
    main()
