"""Markdown to a page: the text without its marks, and offsets into the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from pocketbert.text.pages.html_names import CELLS, LINES, NOT_TEXT, VOID
from pocketbert.text.pages.html_text import DEEPEST_INDENT, write
from pocketbert.text.pages.html_tree import parse
from pocketbert.text.pages.html_visible import unread
from pocketbert.text.pages.markdown_places import Lines, Places
from pocketbert.text.pages.page import Offsets, Page
from pocketbert.text.pages.writing import Writer

if TYPE_CHECKING:
    from markdown_it.token import Token

FRONT_MATTER = re.compile(
    r"\ufeff?(---|\+\+\+)[ \t]*(?:\r\n?|\n)(.*?)(?:\r\n?|\n)(?:\1|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL
)
TITLE = re.compile(r"""^title\s*[:=]\s*["']?(.*?)["']?\s*$""", re.MULTILINE)
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)")
PARAGRAPHS = {"paragraph", "heading", "blockquote", "table", "hr"}


def read_markdown(source: str) -> Page:
    """The text of a Markdown file, its front matter left out."""
    from pocketbert.text.pages.markdown_parser import DEEPEST, parser

    front = FRONT_MATTER.match(source)
    start = front.end() if front else 0
    try:
        tokens = parser().parse(source[start:])
    except RecursionError:
        tokens = None
    if tokens is None or any(token.level > DEEPEST - 3 for token in tokens):
        # The parser leaves out what is nested deeper: better a text with marks than one with holes.
        return Page(text=source, kind="markdown", title="", source=source, offsets=Offsets.same(len(source)))
    walk = _Walk(Lines(source, start))
    walk.blocks(tokens)
    text, offsets = walk.writer.finish()
    named = TITLE.search(front[2]) if front else None
    return Page(
        text=text,
        kind="markdown",
        title=named[1] if named else walk.title,
        source=source,
        offsets=offsets,
    )


class _Walk:
    """Writes block after block."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.writer = Writer()
        self.title = ""
        self.lists = 0  # how many are open
        self.cells: Iterator[Places] = iter(())  # of the row that is being written
        self.is_first_cell = True
        self.skipped: str | None = None  # an open tag inside a line whose content is not text

    def blocks(self, tokens: Sequence[Token]) -> None:
        for index, token in enumerate(tokens):
            block = token.type.removesuffix("_open").removesuffix("_close")
            if token.type == "inline":
                self._inline(token, around=tokens[index - 1])
            elif token.type in ("fence", "code_block"):
                self._code(token)
            elif token.type == "html_block":
                self._html(token)
            elif token.type == "list_item_open":
                indent = "  " * (min(self.lists, DEEPEST_INDENT) - 1)
                self.writer.mark(f"{indent}{token.info}. " if token.info else f"{indent}- ")
            elif block in ("bullet_list", "ordered_list"):
                is_inner = self.lists > (token.nesting < 0)
                self.writer.line() if is_inner else self.writer.paragraph()
                self.lists += token.nesting
            elif token.type == "tr_open":
                self.writer.line()
                self._row(tokens, index)
            elif token.type in ("th_open", "td_open"):
                if not self.is_first_cell:
                    self.writer.divide(" | ")
                self.is_first_cell = False
            elif block in PARAGRAPHS and not token.hidden:
                self.writer.paragraph()
            elif block not in CELLS:
                self.writer.line()

    def _row(self, tokens: Sequence[Token], index: int) -> None:
        self.is_first_cell = True
        cells = []
        number = _first_line(tokens[index])
        while tokens[index].type != "tr_close":
            if tokens[index].type == "inline":
                cells.append(tokens[index].content)
            index += 1
        self.cells = iter(self.lines.cell_places(cells, number) or ())

    def _inline(self, token: Token, *, around: Token) -> None:
        """A line or lines of text."""
        number = _first_line(token)
        if around.type in ("th_open", "td_open"):
            places = next(self.cells, None)
        elif around.markup.startswith("#"):
            places = self.lines.heading_places(token.content, number)
        else:
            places = self.lines.places(token.content, number)
        if places is None:
            self._as_written(token)
            return
        if not self.title and around.tag == "h1":
            self.title = _said(token.children or ())
        with self.writer.within(places):
            for child in token.children or ():
                self._piece(child, token.content, places)
        self.skipped = None

    def _piece(self, piece: Token, line: str, places: Places) -> None:
        """One token inside a line."""
        start, end = piece.meta.get("place", (0, 0))
        if piece.type == "html_inline":
            self._tag(piece.content)
        elif self.skipped:
            return
        elif piece.type == "softbreak":
            self.writer.words(" ", start)
            if line.endswith("  ", 0, start):  # two blanks before it make it a hard one
                self.writer.newline()
        elif piece.type == "hardbreak":
            self.writer.newline()
        elif piece.type == "code_inline":
            marks = len(piece.markup)
            self._words(line[start + marks : end - marks], start + marks, places)
        elif piece.type == "text" and piece.content == line[start:end]:
            self._words(piece.content, start, places)
        elif piece.type == "text" and piece.content == line[start + 1 : end - 1]:  # <https://example.org>
            self._words(piece.content, start + 1, places)
        elif piece.type in ("text", "text_special") and piece.content:
            self.writer.unit(piece.content, start, end)

    def _words(self, text: str, start: int, places: Places) -> None:
        """A text, cut where its place in the source jumps."""
        cuts = [start, *places.jumps(start, start + len(text)), start + len(text)]
        for left, right in pairwise(cuts):
            self.writer.words(text[left - start : right - start], left)

    def _tag(self, tag: str) -> None:
        """HTML inside a line: most tags change how the line looks, some what it says."""
        found = TAG.match(tag)
        if found is None:
            return  # a comment
        is_end, name = bool(found[1]), found[2].lower()
        if name in NOT_TEXT - VOID:
            self.skipped = None if is_end else self.skipped or name
        elif name == "br":
            self.writer.newline()
        elif name in LINES:
            self.writer.line()

    def _code(self, token: Token) -> None:
        first = _first_line(token) + (token.type == "fence")
        places = self.lines.places(token.content.removesuffix("\n"), first)
        self.writer.paragraph()
        if places is None:
            self._as_written(token)
        else:
            with self.writer.within(places):
                self.writer.code(token.content, 0)
        self.writer.paragraph()

    def _html(self, token: Token) -> None:
        places = self.lines.places(token.content.removesuffix("\n"), _first_line(token))
        self.writer.paragraph()
        if places is None:
            self._as_written(token)
        else:
            root = parse(token.content)
            with self.writer.within(places):
                write([root], self.writer, unread(root))
        self.writer.paragraph()

    def _as_written(self, token: Token) -> None:
        """The lines of a block as they stand in the source: what to do where the places inside are not certain."""
        for number in range(*(token.map or (0, 0))):
            self.writer.line()
            self.writer.words(self.lines.texts[number], self.lines.starts[number])


def _first_line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _said(pieces: Sequence[Token]) -> str:
    """What a line says, in one line."""
    parts = (
        " " if piece.type.endswith("break") else piece.content
        for piece in pieces
        if piece.type != "html_inline"
    )
    return " ".join("".join(parts).split())
