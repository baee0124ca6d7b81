"""Do a question's words give it away? How many of them the context lacks, by kind. Written to results/cues.json.

    python benchmarks/cues.py KEY FILE… [--half fit]

FILEs are SQuAD JSON, with the field `kind` where `write_squad_json` wrote them. `--half` takes every odd (fit) or every
even (report) article, by title.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path

from pocketbert.data.unanswerable import missing_words
from pocketbert.data.unanswerable.balance import MOST
from record import record


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("key", help="the entry of results/cues.json")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--half", choices=["all", "fit", "report"], default="all")
    options = parser.parse_args()

    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for file in options.files:
        articles = json.loads(file.read_text(encoding="utf-8"))["data"]
        if options.half != "all":
            articles = sorted(articles, key=lambda article: article["title"])[options.half == "report" :: 2]
        for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
            for item in paragraph["qas"]:
                group = min(MOST, missing_words(item["question"], paragraph["context"]))
                made = "unanswerable" if item.get("is_impossible") else "answerable"
                for name in {made, f"{made}: {item['kind']}" if item.get("kind") else made}:
                    counts[name][group] += 1
    measured = {
        name: {
            "questions": sum(groups.values()),
            "percent": [round(100 * groups[group] / sum(groups.values()), 1) for group in range(MOST + 1)],
        }
        for name, groups in sorted(counts.items())
    }
    record("cues", {options.key: measured})
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
