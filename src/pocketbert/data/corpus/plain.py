"""Text files as documents, each a list of sentences: BERT's own form, a document a line, a file, or WikiExtractor's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pocketbert.errors import InputError
from pocketbert.tables.reading import open_lines
from pocketbert.text.sentences import sentences

Document = list[str]
"""The sentences of a document, none of them empty."""

_OPENING = re.compile(r"<doc\b[^>]*>")
_TITLE = re.compile(r'\btitle="([^"]*)"')


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without blanks at their ends."""
    for line in open_lines(path):
        yield line.strip()


def by_sentence(path: Path) -> Iterator[Document]:
    """One sentence a line, a blank line between documents: the form of BERT's own data."""
    document: Document = []
    for line in lines(path):
        if line:
            document.append(line)
        elif document:
            yield document
            document = []
    if document:
        yield document


def by_line(path: Path) -> Iterator[Document]:
    """One document a line."""
    for line in lines(path):
        if line:
            yield list(sentences(line))


def by_file(path: Path) -> Iterator[Document]:
    """One document a file. Lines may be wrapped: only a blank line, or a full stop, ends a sentence."""
    paragraph: list[str] = []
    document: Document = []
    for line in lines(path):
        if line:
            paragraph.append(line)
        elif paragraph:
            document += sentences(" ".join(paragraph))
            paragraph = []
    document += sentences(" ".join(paragraph))
    if document:
        yield document


def from_wiki(path: Path) -> Iterator[Document]:
    """What WikiExtractor writes: `<doc … title="…">`, the title once more, a paragraph a line, `</doc>`."""
    document: Document | None = None
    title, first = "", False
    for number, line in enumerate(lines(path), start=1):
        opening = _OPENING.fullmatch(line)
        if opening:
            if document is not None:
                raise InputError(f"{path}, line {number}: a <doc> begins before the last one has ended")
            found = _TITLE.search(line)
            document, title, first = [], found.group(1) if found else "", True
        elif line == "</doc>":
            if document:
                yield document
            document = None
        elif line and document is not None:
            if not (first and line == title):
                document += sentences(line)
            first = False
        elif line:
            raise InputError(
                f"{path}, line {number}: there is text outside <doc …> and </doc>; is this what WikiExtractor wrote?"
            )
    if document is not None:
        raise InputError(f"{path} ends inside a <doc>: it was cut short; get the file again")


def from_text(text: str) -> Document:
    """The sentences of a whole text, which may have several paragraphs."""
    return [sentence for line in text.splitlines() for sentence in sentences(line)]


def from_sentences(given: Iterable[str]) -> Document:
    """Sentences that came as a list."""
    return [sentence for each in given if (sentence := " ".join(each.split()))]
