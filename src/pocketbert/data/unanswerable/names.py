"""Find names, years and numbers in a text and say what kind of thing each one is, without a trained tagger."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pocketbert.data.unanswerable.word_lists import word_list, word_set
from pocketbert.data.unanswerable.words import STOPWORDS, Word, words

MONTHS = word_list("months", file="names.txt")
WEEKDAYS = word_list("weekdays", file="names.txt")
NUMBERS = word_list("numbers", file="names.txt")
ORDINALS = word_list("ordinals", file="names.txt")
_COUNTRIES = word_set("countries", file="names.txt")
_PLACES = word_set("places", file="names.txt")
_PEOPLES = word_set("peoples", file="names.txt")
_FIRST_NAMES = word_set("first names", file="names.txt")
_TITLES = word_set("titles", file="names.txt")
_ALWAYS = (
    _COUNTRIES | _PLACES | _PEOPLES | _FIRST_NAMES - {"Grace", "Mark", "Rose", "Christian", "Max", "Native"}
)
_LAST_WORDS = {
    word: kind
    for kind in ("group", "event", "place")
    for word in word_list(f"last words of {kind}s", file="names.txt")
}

_JOINS = word_set("inside names")
_PLACE_BEFORE = word_set("before places")
_PERSON_AFTER = word_set("after persons")
_OPENERS = ".!?:;\"“‘'(\n*-"
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")


@dataclass(frozen=True)
class Name:
    """A mention of something that another of its kind could stand in for."""

    text: str
    start: int
    end: int
    kind: str
    article: bool
    """Whether `the` stands before it: `the Danube`, but `Vienna`."""
    before: str = ""
    """The word before it, in small letters."""
    modifier: bool = False
    """Whether a plain noun or a verb follows it directly: `Oxford students`."""

    @property
    def is_word(self) -> bool:
        """Whether it is a name in letters, not a number or a date."""
        return self.kind not in ("year", "number", "small number", "ordinal", "month", "weekday")

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(word.lower.removesuffix("'s") for word in words(self.text)) - {"the", "of"}


class NameFinder:
    """Learns from a collection which words are names and what kind each name is; then finds them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._capital: Counter[str] = Counter()
        self._small: Counter[str] = Counter()
        self._evidence: dict[str, Counter[str]] = defaultdict(Counter)
        texts = list(texts)
        for text in texts:
            self._count_capitals(text)
        for text in texts:
            self._gather_evidence(text)

    def find(self, text: str) -> list[Name]:
        """All names and numbers of a text, left to right."""
        parts = words(text)
        found: list[Name] = []
        index = 0
        while index < len(parts):
            end = self._name_end(text, parts, index)
            if end > index:
                found.append(self._name(text, parts, index, end))
                index = end
                continue
            if kind := _number_kind(text, parts, index):
                found.append(_mention(text, parts, index, index + 1, kind))
            index += 1
        return found

    def is_name(self, text: str, parts: tuple[Word, ...], index: int) -> bool:
        """Whether a word has a capital that only a name would have where it stands."""
        bare = _bare(parts[index].text)
        if not bare[:1].isupper() or bare.lower() in STOPWORDS or bare[:2] in ("I'", "I’"):
            return False
        if index and not _closed(text, parts[index - 1], parts[index], marks=_OPENERS):
            return True
        return bare in _ALWAYS or self._capital[bare.lower()] > 3 * self._small[bare.lower()]

    def _name_end(self, text: str, parts: tuple[Word, ...], start: int) -> int:
        """One past the last word of the name that begins at `start`, or `start` where none begins."""
        if not self.is_name(text, parts, start):
            return start
        end = start + 1
        while end < len(parts) and not _closed(text, parts[end - 1], parts[end]):
            if parts[end - 1].text.endswith(("'s", "’s")):
                break
            if (
                self.is_name(text, parts, end)
                or _capital_inside(parts[end].text)
                or re.fullmatch(r"[IVX]{2,}", parts[end].text)
            ):
                end += 1
            elif (
                parts[end].text in _JOINS
                and end + 1 < len(parts)
                and (self.is_name(text, parts, end + 1) or _capital_inside(parts[end + 1].text))
                and not _closed(text, parts[end], parts[end + 1])
            ):
                end += 2
            else:
                break
        return end

    def _name(self, text: str, parts: tuple[Word, ...], start: int, end: int) -> Name:
        single = parts[start].text if end == start + 1 else ""
        if single in MONTHS:
            return _mention(text, parts, start, end, "month")
        if single.removesuffix("s") in WEEKDAYS:
            return _mention(text, parts, start, end, "weekday")
        return _mention(text, parts, start, end, self._kind([_bare(part.text) for part in parts[start:end]]))

    def _kind(self, name: list[str]) -> str:
        if name[-1] in _LAST_WORDS or name[0] in _LAST_WORDS:
            return _LAST_WORDS.get(name[-1]) or _LAST_WORDS[name[0]]
        if len(name) == 1 and name[0] in _PEOPLES:
            return "people"
        if len(name) == 1 and name[0] in _COUNTRIES:
            return "country"
        if " ".join(name) in _PLACES:
            return "place"
        if name[0] in _TITLES or name[0] in _FIRST_NAMES:
            return "person"
        votes = self._evidence.get(" ".join(name), Counter())
        kind, count = max(votes.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        if count >= 1 and count >= 2 * (sum(votes.values()) - count):
            return kind
        return "name" if len(name) == 1 else "long name"

    def _count_capitals(self, text: str) -> None:
        previous: Word | None = None
        for word in words(text):
            bare = _bare(word.text)
            starts = previous is None or _closed(text, previous, word, marks=_OPENERS)
            previous = word
            if bare[:1].isupper() and not starts and not (bare.isupper() and len(bare) > 5):
                self._capital[bare.lower()] += 1
            elif bare[:1].islower():
                self._small[bare.lower()] += 1

    def _gather_evidence(self, text: str) -> None:
        parts = words(text)
        index = 0
        while index < len(parts):
            end = self._name_end(text, parts, index)
            if end == index:
                index += 1
                continue
            name = " ".join(_bare(part.text) for part in parts[index:end])
            before = parts[index - 1].lower if index else ""
            after = parts[end].lower if end < len(parts) else ""
            if before in _PLACE_BEFORE:
                self._evidence[name]["place"] += 1
            if after in _PERSON_AFTER and before != "the":
                self._evidence[name]["person"] += 1
            index = end


def _mention(text: str, parts: tuple[Word, ...], start: int, end: int, kind: str) -> Name:
    first, last = parts[start].start, parts[end - 1].end
    name = text[first:last]
    if name.endswith(("'s", "’s")):
        name, last = name[:-2], last - 2
    before = parts[start - 1].lower if start and not _closed(text, parts[start - 1], parts[start]) else ""
    follows = end < len(parts) and text[last : parts[end].start] == " " and parts[end].text.islower()
    modifier = follows and parts[end].lower not in STOPWORDS
    return Name(name, first, last, kind, before == "the", before, modifier)


def _number_kind(text: str, parts: tuple[Word, ...], index: int) -> str:
    word = parts[index]
    before = text[word.start - 1 : word.start]
    after = text[word.end : word.end + 1]
    if _YEAR.fullmatch(word.text) and before not in ("$", "£", "€"):
        return "year"
    if word.lower in ORDINALS or _ORDINAL.fullmatch(word.text):
        return "ordinal"
    if _NUMBER.fullmatch(word.text) and before not in ("-", "/", ":") and after not in ("-", "/", ":"):
        return "number"
    return "small number" if word.lower in NUMBERS else ""


def _capital_inside(word: str) -> bool:
    """Whether a word continues a name although it is a common one: `Ocarina of Time`."""
    return len(word) > 3 and word[0].isupper() and word.lower() in STOPWORDS


def _bare(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "’s")) else word


def _closed(text: str, left: Word, right: Word, *, marks: str = '.!?:;,"“”()\n*-–—/') -> bool:
    """Whether punctuation stands between two words, so that no name can run across."""
    if len(left.text) == 1 and left.text.isupper() and text[left.end : right.start] == ". ":
        return False  # an initial
    return any(mark in text[left.end : right.start] for mark in marks)
