"""How `pocketbert ask` shows what was found: to people, and as JSON."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pocketbert.cli.tokens import visible

if TYPE_CHECKING:
    from pocketbert.runtime.answer import Answer, Result
    from pocketbert.text.pages import Page

AROUND = 200  # characters of a long sentence that are shown on either side of the answer
LONG_READ = 8  # windows; below that, reading is over before one could look


class Output:
    """Prints results on some pages."""

    def __init__(self, sources: Sequence[str], pages: Sequence[Page], *, as_json: bool, why: bool) -> None:
        self._sources = sources
        self._pages = pages
        self._as_json = as_json
        self._why = why
        self._coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def show(self, result: Result) -> None:
        """Print one result."""
        if sys.stderr.isatty():
            click.echo("\r\033[K", nl=False, err=True)  # where the progress stood
        if self._as_json:
            click.echo(json.dumps(self._report(result)))
            return
        for answer in result:
            click.echo(
                f"{answer.score:.2f}  {self._place(answer.document, answer.start)}  {self._sentence(answer)}"
            )
        if not result.found:
            click.echo(self._silence(result))
        if self._why:
            click.echo(self._windows(result))

    def _sentence(self, answer: Answer) -> str:
        start = answer.start - answer.sentence.start
        return marked(answer.sentence.text, start, answer.text, coloured=self._coloured)

    def _place(self, document: int, start: int) -> str:
        """Page or line; with the name of the file if there are several."""
        place = self._pages[document].locate(start, start)
        where = f"line {place.line}" if place.page is None else f"page {place.page}"
        return f"{visible(self._sources[document])}, {where}" if len(self._sources) > 1 else where

    def _silence(self, result: Result) -> str:
        if not result.read.complete:
            return f"no answer in the {result.read.windows} windows read of {result.read.of}"
        pages = "this page" if len(self._sources) == 1 else "these pages"
        return f"not on {pages} (probability {result.no_answer:.2f})"

    def _windows(self, result: Result) -> str:
        """A row for each window that was read, the most promising first."""
        lines = [f"read {result.read.windows} of {result.read.of} windows; no answer {result.no_answer:.2f}"]
        lines.append("promise  score  place and best words")
        for window in result.windows:
            place = self._place(window.document, window.start)
            lines.append(f"{window.promise:7.3f}  {window.score:5.3f}  {place}: {_line(window.best)}")
        return "\n".join(lines)

    def _report(self, result: Result) -> dict[str, Any]:
        """The result as JSON; with the files if there are several, with the windows if the reasons are wanted."""
        report = result.to_json()
        if len(self._sources) > 1:
            for row, answer in zip(report["answers"], result, strict=True):
                row["file"] = self._sources[answer.document]
        if self._why:
            report["windows"] = [
                {
                    "file": self._sources[window.document],
                    "start": window.start,
                    "end": window.end,
                    "promise": window.promise,
                    "score": window.score,
                    "best": window.best,
                }
                for window in result.windows
            ]
        return report


def progress(read: int, of: int) -> None:
    """Say on the terminal how far a long reading is."""
    if of >= LONG_READ and sys.stderr.isatty():
        click.echo(f"\r\033[Kread {read} of {of} windows", nl=False, err=True)


def marked(sentence: str, start: int, words: str, *, coloured: bool) -> str:
    """A sentence on one line, with the answer in it marked: by colour, or by asterisks where there is none."""
    before, after = _line(sentence[:start]).lstrip(), _line(sentence[start + len(words) :]).rstrip()
    if len(before) > AROUND:
        before = "… " + before[-AROUND:].partition(" ")[2]
    if len(after) > AROUND:
        after = after[:AROUND].rpartition(" ")[0] + " …"
    answer = _line(words)
    return f"{before}{click.style(answer, bold=True, fg='green') if coloured else f'**{answer}**'}{after}"


def _line(text: str) -> str:
    """A text on one line that cannot steer a terminal."""
    return visible(re.sub(r"\s+", " ", text))
