"""What inside an article does not belong to it: lists of links, forms, frames for sharing and following."""

from __future__ import annotations

from collections.abc import Sequence, Set

from pocketbert.text.pages.article_measure import Measure, measure
from pocketbert.text.pages.article_names import weight
from pocketbert.text.pages.html_names import LISTS, ROW_GROUPS
from pocketbert.text.pages.html_tree import Element, is_paragraph

NEVER_PART = {"aside", "footer", "nav"}
SAFE = {"code", "pre"}
FRAMES = {"div", "fieldset", "form", "table"}
MANY_COMMAS = 10  # so many are prose


def cut_clutter(
    roots: Sequence[Element], measures: dict[Element, Measure], dropped: set[Element], *, by_name: bool
) -> None:
    """Drop clutter below some elements, the innermost first, so that what is around it is judged without it."""
    order = [element for root in roots for element in _below(root, measures, dropped)]
    kept = set(roots)
    for element, is_safe in reversed(order):
        measures[element] = measure(element, measures, dropped)
        if is_safe or element in kept:
            continue
        if _is_clutter(element, measures[element], weight(element) if by_name else 0):
            dropped.add(element)


def _below(
    root: Element, measures: dict[Element, Measure], dropped: set[Element]
) -> list[tuple[Element, bool]]:
    """The elements from here on that are not dropped, parents first, and whether each is in code or in a table."""
    found = []
    stack = [(root, False)]
    while stack:
        element, is_safe = stack.pop()
        if element in measures and element not in dropped:
            is_safe = is_safe or element.tag in SAFE or (element.tag == "table" and _has_headings(element))
            found.append((element, is_safe))
            stack += [(child, is_safe) for child in element.children if isinstance(child, Element)]
    return found


def _has_headings(table: Element) -> bool:
    """Whether a table names its rows or columns: then it holds facts, however many of them are links."""
    if table.attributes.get("role") in ("presentation", "none"):
        return False
    rows = [
        part
        for group in (table, *_children(table, ROW_GROUPS))
        for part in _children(group, {"tr", "caption", "colgroup"})
    ]
    return any(row.tag != "tr" or _children(row, {"th"}) for row in rows)


def _children(element: Element, tags: Set[str]) -> list[Element]:
    return [child for child in element.children if isinstance(child, Element) and child.tag in tags]


def _is_clutter(element: Element, held: Measure, points: int) -> bool:
    tag = element.tag
    if tag in NEVER_PART:
        return True
    if tag in ("h1", "h2"):
        return points < 0
    if (tag not in FRAMES and tag not in LISTS) or is_paragraph(element):
        return False
    if points < 0:
        return True
    if held.commas >= MANY_COMMAS:
        return False
    if held.inputs > held.paragraphs // 3:
        return True
    if points >= 25:
        return held.link_share > 0.5
    if tag in LISTS or held.list_share > 0.9:
        return False
    is_scrap = held.characters < 25 and held.images == 0 and held.heading_share < 0.9
    return held.link_share > 0.2 or (is_scrap and held.linked > 0) or held.items - 100 > held.paragraphs
