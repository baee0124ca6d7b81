"""Which part of a web page is the article: the idea of the reader views in browsers, on our own tree.

Paragraphs give points to the elements around them, for their length and commas; links take points away, and names such
as "sidebar" or "content" count. The best element wins, neighbours that look like it join it, and what inside of it is
mostly links, forms or frames is cut out. If too little remains, the search is made again with fewer suspicions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from pocketbert.text.pages.article_clutter import cut_clutter
from pocketbert.text.pages.article_measure import Measure, measure
from pocketbert.text.pages.article_names import is_suspicious, weight
from pocketbert.text.pages.html_names import BLOCKS, HEADINGS
from pocketbert.text.pages.html_tree import Element, Words, is_paragraph

ENOUGH = 500  # characters; an article that is shorter makes the search doubt itself
LEAST_SHARE = 0.25  # of the text that is no link; a page whose best part is less is read as a whole
SHORTEST_PARAGRAPH = 25
SENTENCE_END = re.compile(r"\.(?:\s|$)")

BESIDE_ROLES = {"alert", "alertdialog", "complementary", "dialog", "menu", "menubar", "navigation"}
NEVER_BESIDE = {"a", "article", "body", "html", "main"}
SHELTERS = {"table", "code", "pre"}  # inside of these, names mean something else
SCORED = {"section", "h2", "h3", "h4", "h5", "h6", "p", "td", "pre"}
TAG_POINTS = {
    "div": 5,
    **dict.fromkeys(("pre", "td", "blockquote"), 3),
    **dict.fromkeys(("address", "ol", "ul", "dl", "dd", "dt", "li", "form"), -3),
    **dict.fromkeys((*HEADINGS, "th"), -5),
}
SHARES = (1, 1 / 2, 1 / 6, 1 / 9, 1 / 12)  # of a paragraph's points, for its parent, the parent's parent …


@dataclass(frozen=True)
class Article:
    """The elements that make up an article, in order, and what inside of them does not belong to it."""

    roots: list[Element]
    dropped: Set[Element]
    characters: int


def find_article(root: Element, unread: Set[Element]) -> Article:
    """The article of a page; everything that can be read if nothing stands out."""
    body = next((element for element in root.elements() if element.tag == "body"), root)
    has_names = any(
        "class" in element.attributes or "id" in element.attributes for element in body.elements()
    )
    found: list[Article] = []
    for suspicions in (3, 2, 1, 0) if has_names else (1, 0):
        article = _Search(body, unread, suspicions).article()
        if article.characters >= ENOUGH:
            return article
        found.append(article)
    most = max(article.characters for article in found)
    return next(article for article in found if article.characters >= most / 2)


class _Search:
    """One search; the suspicions are: 1 that there is clutter, 2 that names count, 3 that names alone drop."""

    def __init__(self, root: Element, unread: Set[Element], suspicions: int) -> None:
        self.root = root
        self.suspicions = suspicions
        self.dropped = set(unread)
        self.order = list(self._candidates())
        self.measures: dict[Element, Measure] = {}
        for element in reversed(self.order):
            self.measures[element] = measure(element, self.measures)
        self.scores = self._scores()

    def article(self) -> Article:
        roots = self._with_neighbours(self._best())
        everything = self.measures[self.root]
        chosen = sum(self.measures[root].characters for root in roots)
        if chosen < LEAST_SHARE * (everything.characters - everything.linked):
            roots = [self.root]  # a forum, a list, a page of many parts
        if self.suspicions >= 1:
            cut_clutter(roots, self.measures, self.dropped, by_name=self.suspicions >= 2)
        return Article(roots, self.dropped, sum(self.measures[root].characters for root in roots))

    def _candidates(self) -> Iterator[Element]:
        """The elements worth a look, parents first; the others are dropped."""
        stack = [(self.root, False)]
        while stack:
            element, sheltered = stack.pop()
            if element in self.dropped:
                continue
            if element is not self.root and self._is_beside(element, sheltered):
                self.dropped.add(element)
                continue
            yield element
            sheltered = sheltered or element.tag in SHELTERS
            stack += [
                (child, sheltered) for child in reversed(element.children) if isinstance(child, Element)
            ]

    def _is_beside(self, element: Element, sheltered: bool) -> bool:
        if element.tag in NEVER_BESIDE:
            return False
        if element.attributes.get("role") in BESIDE_ROLES:
            return True
        return self.suspicions >= 3 and not sheltered and is_suspicious(element)

    def _scores(self) -> dict[Element, float]:
        """Points of the elements around paragraphs, less what links take away."""
        scores: dict[Element, float] = {}
        for element in self.order:
            for paragraph, around in self._paragraphs(element):
                if paragraph.characters < SHORTEST_PARAGRAPH:
                    continue
                points = 2 + paragraph.commas + min(paragraph.characters // 100, 3)
                for share, ancestor in zip(SHARES, self._upwards(around), strict=False):
                    if ancestor not in scores:
                        scores[ancestor] = TAG_POINTS.get(ancestor.tag, 0) + self._weight(ancestor)
                    scores[ancestor] += points * share
        return {element: score * (1 - self.measures[element].link_share) for element, score in scores.items()}

    def _paragraphs(self, element: Element) -> Iterator[tuple[Measure, Element]]:
        """The stretches of text that an element is or holds, each with the element that gets points for it."""
        if element.tag in SCORED or is_paragraph(element):
            if element is not self.root and element.parent is not None:
                yield self.measures[element], element.parent
        elif element.tag == "div":
            run = Measure()
            for child in element.children:
                if isinstance(child, Words):
                    run.add_words(child)
                elif child.tag not in BLOCKS and child in self.measures:
                    run.add(self.measures[child])
                elif run.characters:
                    yield run, element
                    run = Measure()
            yield run, element

    def _weight(self, element: Element) -> int:
        return weight(element) if self.suspicions >= 2 else 0

    def _best(self) -> Element:
        ranked = sorted(self.scores, key=lambda element: -self.scores[element])[:5]
        if not ranked:
            return self.root
        best = self._around_several(ranked) or ranked[0]
        # An element further out that has gathered more still is better.
        last = self.scores.get(best, 0.0)
        floor = last / 3
        for ancestor in self._outwards(best):
            score = self.scores.get(ancestor)
            if score is None:
                continue
            if score < floor:
                break
            if score > last:
                best = ancestor
                break
            last = score
        for ancestor in self._outwards(best):  # a frame round it may have neighbours that belong
            if sum(child in self.measures for child in ancestor.children) != 1:
                break
            best = ancestor
        return best

    def _around_several(self, ranked: list[Element]) -> Element | None:
        """The nearest element around the best one and three others that are nearly as good."""
        best, *others = ranked
        near = [set(self._upwards(each)) for each in others if self.scores[each] >= 0.75 * self.scores[best]]
        for ancestor in self._outwards(best):
            if sum(ancestor in each for each in near) >= 3:
                return ancestor
        return None

    def _upwards(self, element: Element) -> Iterator[Element]:
        """The element and those around it, as far as the body."""
        step: Element | None = element
        while step is not None and step in self.measures:
            yield step
            step = step.parent

    def _outwards(self, element: Element) -> Iterator[Element]:
        """Those around it, without the body."""
        for ancestor in self._upwards(element):
            if ancestor is not element and ancestor is not self.root:
                yield ancestor

    def _with_neighbours(self, best: Element) -> list[Element]:
        """The best element and those beside it that are as good, or are plain paragraphs."""
        if best is self.root or best.parent is None:
            return [best]
        beside = [
            child for child in best.parent.children if isinstance(child, Element) and child in self.measures
        ]
        return [each for each in beside if each is best or self._belongs_to(best, each)]

    def _belongs_to(self, best: Element, neighbour: Element) -> bool:
        score = self.scores.get(best, 0.0)
        same_class = best.attributes.get("class", "") == neighbour.attributes.get("class") != ""
        if self.scores.get(neighbour, 0.0) + 0.2 * score * same_class >= max(10.0, 0.2 * score):
            return True
        if not is_paragraph(neighbour):
            return False
        held = self.measures[neighbour]
        if held.characters > 80:
            return held.link_share < 0.25
        return held.characters > 0 and held.linked == 0 and bool(SENTENCE_END.search(neighbour.text()))
