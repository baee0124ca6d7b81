"""Which elements of a page nobody sees, or nobody reads."""

from __future__ import annotations

import re

from pocketbert.text.pages.html_names import HEADINGS, NOT_TEXT
from pocketbert.text.pages.html_tree import Element, Words

HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE
)
# Names that owners of consent dialogs give them, and the tools that make such dialogs.
CONSENT = re.compile(
    r"cookie-?_?(?:bar|banner|consent|notice|policy|warning|message|law|layer|disclaimer|wall|popup|overlay)|gdpr|"
    r"cc-(?:window|banner)|onetrust|didomi|usercentrics|cookiebot|truste|quantcast|qc-cmp|sp_message|eupopup|"
    r"consent-?_?(?:banner|manager|dialog|popup|bar|layer)",
    re.IGNORECASE,
)
PAGE = {"document", "html", "body", "main", "article"}
UNFOLDING = HEADINGS | {"dt", "summary"}
MOST_OF_A_BANNER = 5000  # characters; with more it is the page that is about cookies


def is_hidden(element: Element) -> bool:
    """Whether a browser would not show it, as far as the element itself says."""
    attributes = element.attributes
    return (
        ("hidden" in attributes and attributes["hidden"].lower() != "until-found")
        or (attributes.get("aria-hidden", "").lower() == "true")
        or ("style" in attributes and HIDING_STYLE.search(attributes["style"]) is not None)
        or (element.tag == "dialog" and "open" not in attributes)
    )


def unread(root: Element, *, with_noscript: bool = False) -> set[Element]:
    """The outermost elements that hold nothing to read: hidden ones, code, controls, consent dialogs."""
    not_text = NOT_TEXT - {"noscript"} if with_noscript else NOT_TEXT
    found = set()
    lengths: dict[Element, int] = {}
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag in not_text or _is_control(element) or is_hidden(element):
            found.add(element)
        elif _is_named_consent(element):
            lengths = lengths or text_lengths(root)
            if lengths[element] < MOST_OF_A_BANNER:
                found.add(element)
                continue
        if element not in found:
            stack += [child for child in element.children if isinstance(child, Element)]
    return found


def text_lengths(root: Element) -> dict[Element, int]:
    """How many characters every element holds, itself and all below."""
    lengths: dict[Element, int] = {}
    for element in reversed(list(root.elements())):
        lengths[element] = sum(
            len(child.text) if isinstance(child, Words) else lengths[child] for child in element.children
        )
    return lengths


def _is_control(element: Element) -> bool:
    # A heading may be a button that unfolds what it heads.
    return element.tag == "button" and not (element.parent and element.parent.tag in UNFOLDING)


def _is_named_consent(element: Element) -> bool:
    names = f"{element.attributes.get('class', '')} {element.attributes.get('id', '')}"
    return element.tag not in PAGE and CONSENT.search(names) is not None
