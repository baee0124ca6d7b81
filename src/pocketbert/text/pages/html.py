"""HTML to a page: the article as text, the title, and offsets into the source."""

from __future__ import annotations

from pocketbert.text.pages.article import find_article
from pocketbert.text.pages.html_text import write, write_flat
from pocketbert.text.pages.html_tree import Element, parse
from pocketbert.text.pages.html_visible import unread
from pocketbert.text.pages.page import Page, Part
from pocketbert.text.pages.writing import Writer

MOST_TAGS = 300_000  # a page of 5 MB has half of that; a tree of many more would take minutes and gigabytes
FLAT = "so many tags that the page was read from end to end, menus and hidden parts too"


def read_html(source: str, *, part: Part = "article") -> Page:
    """The article of an HTML page, or all that it shows; a page that needs scripts for that shows its noscript."""
    if source.count("<") > MOST_TAGS:
        writer = Writer()
        write_flat(source, writer)
        text, offsets = writer.finish()
        return Page(text=text, kind="html", title="", source=source, offsets=offsets, notes=(FLAT,))
    root = parse(source)
    for with_noscript in (False, True):
        writer = Writer()
        unseen = unread(root, with_noscript=with_noscript)
        if part == "article":
            article = find_article(root, unseen)
            write(article.roots, writer, article.dropped)
        else:
            write([root], writer, unseen)
        text, offsets = writer.finish()
        if text:
            break
    return Page(text=text, kind="html", title=_title(root), source=source, offsets=offsets)


def _title(root: Element) -> str:
    """The title in the page's head, or its first heading."""
    for tag in ("title", "h1"):
        for element in root.elements():
            in_drawing = element.parent is not None and element.parent.tag in ("svg", "g", "symbol")
            if element.tag == tag and not in_drawing and (text := " ".join(element.text().split())):
                return text
    return ""
