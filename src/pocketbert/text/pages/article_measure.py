"""What an element of a page holds, counted: text, links, commas, paragraphs, and so on."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pocketbert.text.pages.html_names import HEADINGS
from pocketbert.text.pages.html_tree import Element, Words

COMMAS = re.compile("[,،﹐︐︑⹁⸲，、]")  # as many scripts write them
CONTROLS = {"input", "select", "textarea"}
SAME_PAGE = 0.3  # how much of a link a link to the same page is: a table of contents, a footnote


@dataclass(slots=True)
class Measure:
    """Counts over an element and all below, without what was cut out."""

    characters: int = 0
    linked: float = 0.0
    commas: int = 0
    paragraphs: int = 0
    images: int = 0
    items: int = 0
    inputs: int = 0
    headings: int = 0  # characters in headings
    listed: int = 0  # characters in list items

    @property
    def link_share(self) -> float:
        return self.linked / self.characters if self.characters else 0.0

    @property
    def list_share(self) -> float:
        return self.listed / self.characters if self.characters else 0.0

    @property
    def heading_share(self) -> float:
        return self.headings / self.characters if self.characters else 0.0

    def add(self, other: Measure) -> None:
        self.characters += other.characters
        self.linked += other.linked
        self.commas += other.commas
        self.paragraphs += other.paragraphs
        self.images += other.images
        self.items += other.items
        self.inputs += other.inputs
        self.headings += other.headings
        self.listed += other.listed

    def add_words(self, words: Words) -> None:
        length = len(" ".join(words.text.split()))
        if length:
            self.characters += length
            self.commas += len(COMMAS.findall(words.text))


def measure(element: Element, known: Mapping[Element, Measure], dropped: Collection[Element] = ()) -> Measure:
    """The counts of an element from those of its children; children that are not known count for nothing."""
    result = Measure()
    for child in element.children:
        if isinstance(child, Words):
            result.add_words(child)
        elif child in known and child not in dropped:
            result.add(known[child])
        elif child.tag in CONTROLS and child.attributes.get("type") != "hidden":
            result.inputs += 1  # not read, but telling
    tag = element.tag
    if tag == "a":
        target = element.attributes.get("href", "")
        result.linked = result.characters * (SAME_PAGE if target.startswith("#") and len(target) > 1 else 1.0)
    elif tag == "p":
        result.paragraphs += 1
    elif tag == "li":
        result.items += 1
        result.listed = result.characters
    elif tag == "img":
        result.images += 1
    elif tag in HEADINGS:
        result.headings = result.characters
    return result
