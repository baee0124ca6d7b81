"""How much of an article do we keep, and how little else? Word-level F1 on real web pages, beside known extractors.

    python benchmarks/pages.py FOLDER

FOLDER holds one folder per page with source.html and expected.html, the article that a reader sees. The extractor was
developed on the pages with even numbers in the order of names; the others are what counts. Peers are measured if they
are installed (pip install readability-lxml trafilatura turbohtml); they are no dependency. Large pages are made up
here, to be timed. Writes results/pages.json.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

from record import record

WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+"
)  # a letter of these scripts is a word
WITHIN_WORDS = frozenset(
    re.findall(
        r"\w+", "a abbr b bdi cite code em font i ins kbd mark q s small span strong sub sup time u var wbr"
    )
)

Extractor = Callable[[bytes], str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the pages")
    parser.add_argument("--each", action="store_true", help="print the scores of every page for development")
    options = parser.parse_args()

    pages = sorted(path.parent for path in options.folder.glob("*/source.html"))
    halves = {"development": pages[::2], "report": pages[1::2]}
    measured: dict[str, object] = {}
    for name, extract in extractors().items():
        seconds = 0.0
        scores: dict[str, object] = {}
        for half, folders in halves.items():
            each = {}
            for folder in folders:
                source = (folder / "source.html").read_bytes()
                started = time.process_time()
                text = extract(source)
                seconds += time.process_time() - started
                each[folder.name] = score(text, article(folder))
                if options.each and half == "development":
                    print(name, folder.name, *(f"{value:.3f}" for value in each[folder.name]))
            columns = zip(*each.values(), strict=True)
            means = [round(statistics.mean(column), 4) for column in columns]
            scores[half] = {
                "pages": len(folders),
                **dict(zip(("precision", "recall", "f1"), means, strict=True)),
            }
        measured[name] = {**scores, "seconds": round(seconds, 2)}
    measured["seconds for large pages"] = large_pages()
    if not options.each:
        record("pages", measured)
    print(json.dumps(measured))


def extractors() -> dict[str, Extractor]:
    """Ours, the whole visible text, and the peers that are installed."""
    from pocketbert.text.pages import read_page

    found: dict[str, Extractor] = {"pocketbert": lambda source: read_page(source, kind="html").text}
    try:
        from readability import Document

        found[f"readability-lxml {version('readability-lxml')}"] = lambda source: visible(
            Document(source.decode("utf-8")).summary()
        )
    except ImportError:
        pass
    try:
        from trafilatura import extract

        found[f"trafilatura {version('trafilatura')}"] = lambda source: (
            extract(source, include_comments=False) or ""
        )
        found[f"trafilatura {version('trafilatura')}, favouring recall"] = lambda source: (
            extract(source, include_comments=False, favor_recall=True) or ""
        )
    except ImportError:
        pass
    try:
        from turbohtml import parse

        found[f"turbohtml {version('turbohtml')}"] = lambda source: parse(source).article().text
    except ImportError:
        pass
    found["every tag stripped"] = lambda source: visible(source.decode("utf-8"))
    return found


def large_pages() -> dict[str, float]:
    """Processor time for a page of 5 MB, and for one of 100,000 tags that nobody closed."""
    from pocketbert.text.pages import read_page

    paragraph = f"<div class='post'><p>The keeper, {'counting ships ' * 20}<a href=x>wrote</a> &amp; read.</p></div>\n"
    sources = {
        "5 MB of paragraphs": paragraph * (5_000_000 // len(paragraph)),
        "5 MB of short cells": "<table>" + "<tr><td>one<td>two" * (5_000_000 // 18),
        "100,000 open tags": "<div>" * 100_000 + "end",
    }
    seconds = {}
    for name, source in sources.items():
        started = time.process_time()
        read_page(source.encode(), kind="html")
        seconds[name] = round(time.process_time() - started, 2)
    return seconds


def score(text: str, expected: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of the words, each counted as often as it occurs."""
    found, wanted = (Counter(WORD.findall(each.lower())) for each in (text, expected))
    common = sum((found & wanted).values())
    if not common:
        return (1.0, 1.0, 1.0) if not found and not wanted else (0.0, 0.0, 0.0)
    precision, recall = common / sum(found.values()), common / sum(wanted.values())
    return precision, recall, 2 * precision * recall / (precision + recall)


def article(folder: Path) -> str:
    return visible((folder / "expected.html").read_text(encoding="utf-8"))


def visible(html: str) -> str:
    """The text between tags, by the standard library, so that no extractor is measured with its own tool."""
    parser = Stripper()
    parser.feed(html)
    parser.close()
    return "".join(parser.texts)


class Stripper(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.skipped += tag in ("script", "style", "title")
        self.part(tag)

    def handle_endtag(self, tag: str) -> None:
        self.skipped -= tag in ("script", "style", "title") and self.skipped > 0
        self.part(tag)

    def part(self, tag: str) -> None:
        if tag not in WITHIN_WORDS:
            self.texts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            self.texts.append(data)


if __name__ == "__main__":
    main()
