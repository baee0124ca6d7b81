"""What the names of elements say: classes and ids that authors give to articles, and to everything around them."""

from __future__ import annotations

import re
from functools import lru_cache

from pocketbert.text.pages.html_tree import Element

# Long words count inside of other words too (commentlist, mainSidebar), short ones only on their own.
_AWAY = (
    "advert|ai2html|banner|breadcrumb|comment|community|disqus|footer|legend|masthead|menu|navbar|navbox|navigation|"
    "newsletter|outbrain|pagination|paywall|popup|promo|recommend|related|remark|replies|shoutbox|sidebar|signup|"
    "skyscraper|social|sponsor|subscribe|supplement|taboola|toolbar|trending"
)
_AWAY_ALONE = (
    "ad|ads|agegate|combx|extra|header|login|modal|nav|pager|rail|rss|share|sharing|teaser|tools|topics|yom"
)
AWAY = re.compile(rf"{_AWAY}|(?<![a-z])(?:{_AWAY_ALONE})(?![a-z])")
RESCUED = re.compile(r"article|body|column|content|main|mathjax|story|post(?:s|ed)?(?![a-z])|entry")

GOOD = re.compile(r"article|blog|body|content|entry|main|page|post|story|text")
BAD = re.compile(
    rf"{_AWAY}|contact|hidden|media|meta|scroll|shopping|widget|tags|(?<![a-z])(?:{_AWAY_ALONE}|com|hid)(?![a-z])"
)
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
WEIGHT = 25
LONGEST = 300  # characters of a class that are looked at


def is_suspicious(element: Element) -> bool:
    """Whether its names say that it stands beside the article."""
    return _is_suspicious(*_names(element))


def weight(element: Element) -> int:
    """Points for the names: each of class and id can earn or cost as much as a long paragraph."""
    return sum(map(_weight, _names(element)))


def _names(element: Element) -> tuple[str, str]:
    attributes = element.attributes
    return attributes.get("class", "")[:LONGEST], attributes.get("id", "")[:LONGEST]


# A page repeats its names: remembered, they cost next to nothing.
@lru_cache(maxsize=2048)
def _is_suspicious(*names: str) -> bool:
    given = " ".join([*names, *map(_split, names)]).lower()
    return AWAY.search(given) is not None and RESCUED.search(given) is None


@lru_cache(maxsize=2048)
def _weight(name: str) -> int:
    given = _split(name).lower()
    return WEIGHT * ((GOOD.search(given) is not None) - (BAD.search(given) is not None))


def _split(name: str) -> str:
    """With a blank before each capital that begins a word."""
    return CAMEL.sub(" ", name)
