"""HTML as a tree of elements and texts in the order of the source, whatever was left open or closed twice.

A browser's rules for broken markup fill fifty pages and move nodes about. Here nothing is moved, so places in the
source only ever grow along the text; what is kept of the rules is what changes the text: void elements, the end tags
that may be left out, and that a stray end tag closes nothing beyond its own block or table cell. Every step takes
constant time, so depth costs nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set

from pocketbert.text.pages.html_names import (
    BLOCKS,
    BREAKS_OUT,
    CELLS,
    CLOSES_PARAGRAPH,
    FOREIGN,
    HEADINGS,
    INLINE,
    ROW_GROUPS,
    TABLE_PARTS,
    VOID,
)
from pocketbert.text.pages.html_tokens import Tag, Text, decode, tokens

# Start tag -> the open elements that it ends, and the elements beyond which it does not look.
ENDS: dict[str, tuple[Set[str], Set[str]]] = {
    "li": ({"li"}, {"ul", "ol", "menu", "dir"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "option": ({"option"}, {"select"}),
    "optgroup": ({"option", "optgroup"}, {"select"}),
    "td": (CELLS, {"tr"}),
    "th": (CELLS, {"tr"}),
    "tr": (CELLS | {"tr"}, ROW_GROUPS),
    "rt": ({"rt", "rp"}, {"ruby"}),
    "rp": ({"rt", "rp"}, {"ruby"}),
    "a": ({"a"}, set()),
    **{name: (CELLS | ROW_GROUPS | {"tr", "caption"}, set()) for name in ROW_GROUPS},
    **{name: (HEADINGS, set()) for name in HEADINGS},
}
# An end tag inside of these closes nothing outside.
WALLS = {"td", "th", "caption", "table", "template", "button", "object"}
ONCE = {"html", "head", "body"}


class Element:
    """An element: its tag, its attributes and what it holds."""

    __slots__ = ("attributes", "children", "parent", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], parent: Element | None) -> None:
        self.tag = tag
        self.attributes = attributes
        self.parent = parent
        self.children: list[Element | Words] = []

    def elements(self) -> Iterator[Element]:
        """The element and all below it, in order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack += [child for child in reversed(element.children) if isinstance(child, Element)]

    def text(self) -> str:
        """All text below, as it stands."""
        stack: list[Element | Words] = [self]
        parts = []
        while stack:
            node = stack.pop()
            if isinstance(node, Words):
                parts.append(node.text)
            else:
                stack += reversed(node.children)
        return "".join(parts)


class Words:
    """A text between tags: where it stands in the source, and what it says."""

    __slots__ = ("raw", "start", "text", "written")

    def __init__(self, source: str, token: Text) -> None:
        self.start = token.start
        self.raw = token.raw
        self.written = source[token.start : token.end]
        self.text = self.written if token.raw else decode(self.written)


def is_paragraph(element: Element) -> bool:
    """Whether it is a paragraph, or a div that only holds what a paragraph could."""
    if element.tag != "div":
        return element.tag == "p"
    return not any(isinstance(child, Element) and child.tag in BLOCKS for child in element.children)


def parse(source: str) -> Element:
    """The tree of a page; its root is the element "document", whatever the page holds."""
    root = Element("document", {}, None)
    builder = _Builder(root)
    for token in tokens(source):
        if isinstance(token, Text):
            builder.here.children.append(Words(source, token))
        elif token.is_end:
            builder.end(token.name)
        else:
            builder.start(token)
    return root


class _Builder:
    """The open elements, and for every tag name the places on the stack where it is open."""

    def __init__(self, root: Element) -> None:
        self.open = [root]
        self.places: defaultdict[str, list[int]] = defaultdict(lambda: [-1])
        self.walls = [0]
        self.blocks = [0]

    @property
    def here(self) -> Element:
        return self.open[-1]

    def start(self, tag: Tag) -> None:
        name = tag.name
        if name in ONCE and (self._is_open(name) or self._is_open("body")):
            return
        if name == "body":
            self._close({"head"}, 0)
        if name in BREAKS_OUT:
            self._leave_foreign()
        if name in CLOSES_PARAGRAPH:
            self._close({"p"}, self.walls[-1])
        if name in ENDS:
            ended, limits = ENDS[name]
            self._close(ended, max([self._limit(name), *(self.places[each][-1] for each in limits)]))
        element = Element(name, tag.attributes, self.here)
        self.here.children.append(element)
        if name not in VOID and not tag.closed:
            self._push(element)

    def end(self, name: str) -> None:
        if name == "br":  # browsers take </br> for <br>
            self.here.children.append(Element("br", {}, self.here))
        elif name not in ONCE and self._is_open(name):  # what follows </body> still belongs to the page
            place = self.places[name][-1]
            if place > self._limit(name) or name in WALLS:
                self._pop(place)

    def _limit(self, name: str) -> int:
        """The place on the stack beyond which a tag of this name closes nothing."""
        if name in TABLE_PARTS:
            return self.places["table"][-1]
        if name in INLINE:
            return max(self.walls[-1], self.blocks[-1])
        if name in HEADINGS:
            return max(self.walls[-1], self.blocks[-1] - 1)
        return self.walls[-1]

    def _is_open(self, name: str) -> bool:
        return self.places[name][-1] > 0

    def _push(self, element: Element) -> None:
        place = len(self.open)
        self.open.append(element)
        self.places[element.tag].append(place)
        if element.tag in WALLS:
            self.walls.append(place)
        if element.tag not in INLINE:
            self.blocks.append(place)

    def _pop(self, place: int) -> None:
        """Close everything from a place on the stack upwards."""
        while len(self.open) > place:
            self.places[self.open.pop().tag].pop()
            for marks in (self.walls, self.blocks):
                if marks[-1] == len(self.open):
                    marks.pop()

    def _close(self, names: Set[str], limit: int) -> None:
        """Close the outermost of the open elements of these names above a place."""
        places = [place for name in names if (place := self.places[name][-1]) > limit]
        if places:
            self._pop(min(places))

    def _leave_foreign(self) -> None:
        """HTML inside an SVG or MathML that nobody closed ends it, unless the SVG says that HTML follows."""
        inside = max(self.places[name][-1] for name in ("foreignobject", "annotation-xml"))
        self._close(FOREIGN, inside)
