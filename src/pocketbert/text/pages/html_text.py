"""A tree of HTML as the text that a person reads: paragraphs apart, list items marked, table rows on lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pocketbert.text.pages.html_names import CELLS, CODE, DECODED, LINES, LISTS, PARAGRAPHS, WITHIN_LINE
from pocketbert.text.pages.html_tokens import Text, references, tokens
from pocketbert.text.pages.html_tree import Element, Words
from pocketbert.text.pages.html_visible import text_lengths
from pocketbert.text.pages.writing import Writer

DEEPEST_INDENT = 4
LONG_CELL = 400  # characters; a cell with more and with breaks in it is there for the layout


def write(roots: Sequence[Element], writer: Writer, dropped: Collection[Element] = ()) -> None:
    """Write the text below some elements, without the dropped ones and what they hold."""
    layout = {table for root in roots for table in _layout_tables(root)}
    walk = _Walk(writer, layout)
    stack: list[tuple[Element | Words, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, is_end = stack.pop()
        if isinstance(node, Words):
            walk.words(node)
        elif is_end:
            walk.leave(node)
        elif node not in dropped:
            walk.enter(node)
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node.children)]


def write_flat(source: str, writer: Writer) -> None:
    """Write all text of a source without building a tree: lines, but no lists and tables, and nothing left out."""
    is_title = False
    for token in tokens(source):
        if isinstance(token, Text):
            if not token.raw and not is_title:
                write_words(Words(source, token), writer.words, writer)
        else:
            is_title = token.name in DECODED and not token.is_end
            if token.name not in WITHIN_LINE:
                writer.line()


def write_words(words: Words, put: Callable[[str, int], None], writer: Writer) -> None:
    """Write a text, its character references as the characters they mean."""
    place = 0
    if not words.raw and "&" in words.written:
        for start, end, meaning in references(words.written):
            put(words.written[place:start], words.start + place)
            writer.unit(meaning, words.start + start, words.start + end)
            place = end
    put(words.written[place:], words.start + place)


class _Walk:
    """Where in the tree the writer is: in code, in lists, in a cell."""

    def __init__(self, writer: Writer, layout: set[Element]) -> None:
        self.writer = writer
        self.layout = layout  # tables whose cells are no table for a reader
        self.tables: list[bool] = []  # whether each open table has rows for a reader
        self.lists: list[int | None] = []  # the number of the last item in each open list
        self.code = 0
        self.cells = 0  # open cells in tables with rows
        self.is_first_cell = True

    def enter(self, element: Element) -> None:
        tag = element.tag
        if tag == "br" and not self.cells:
            self.writer.newline()
            return
        self._break(tag)
        if tag in CODE:
            self.code += 1
        elif tag in LISTS:
            self.lists.append(_number(element, "start", 1) - 1 if tag == "ol" else None)
        elif tag == "li" and not self.cells:
            self._item(element)
        elif tag == "table":
            self.tables.append(element not in self.layout)
        elif tag == "tr":
            self.is_first_cell = True
        elif tag in CELLS and self._in_rows():
            if not self.is_first_cell:
                self.writer.divide(" | ")
            self.is_first_cell = False
            self.cells += 1

    def leave(self, element: Element) -> None:
        tag = element.tag
        if tag in CODE:
            self.code -= 1
        elif tag in LISTS:
            self.lists.pop()
        elif tag in CELLS and self._in_rows():
            self.cells -= 1
            return
        elif tag == "table":
            self.tables.pop()
        if tag != "br":
            self._break(tag)

    def words(self, words: Words) -> None:
        write_words(words, self.writer.code if self.code else self.writer.words, self.writer)

    def _in_rows(self) -> bool:
        return bool(self.tables) and self.tables[-1]

    def _break(self, tag: str) -> None:
        """What parts an element from its neighbours."""
        if tag in WITHIN_LINE or (tag in CELLS and self._in_rows()):
            return
        if self.cells or tag not in LINES:  # a tag of MathML, or one that the page made up
            self.writer.blank()
        elif tag in PARAGRAPHS and not (tag in LISTS and self.lists):
            self.writer.paragraph()
        else:
            self.writer.line()

    def _item(self, element: Element) -> None:
        indent = "  " * (min(len(self.lists), DEEPEST_INDENT) - 1)
        last = self.lists[-1] if self.lists else None
        if last is None:
            self.writer.mark(f"{indent}- ")
        else:
            self.lists[-1] = _number(element, "value", last + 1)
            self.writer.mark(f"{indent}{self.lists[-1]}. ")


def _number(element: Element, attribute: str, default: int) -> int:
    written = element.attributes.get(attribute, "").strip()
    return int(written) if written.isascii() and written.isdigit() and len(written) < 10 else default


def _layout_tables(root: Element) -> set[Element]:
    """Tables that hold tables, or long cells of several lines, or that say themselves that they are none."""
    found: set[Element] = set()
    lengths = text_lengths(root)
    broken: set[Element] = set()  # cells, and what is in them, with a break
    tables: set[Element] = set()  # elements with a table below, or with a cell as large as one
    for element in reversed(list(root.elements())):
        for child in element.children:
            if isinstance(child, Element):
                if child in broken or child.tag not in WITHIN_LINE:
                    broken.add(element)
                if child in tables or child.tag == "table":
                    tables.add(element)
        if element.tag in CELLS and element in broken and lengths[element] > LONG_CELL:
            tables.add(element)
        says_so = element.attributes.get("role") in ("presentation", "none")
        if element.tag == "table" and (says_so or element in tables):
            found.add(element)
    return found
