"""Byte-level BPE, the tokenizer of RoBERTa: its settings, and the engine built from them.

A text is cut into words, each with the blank before it, and the bytes of a word are joined pair by pair as the list of
merges says. Any text can be spelled: there are words for all 256 bytes. In the vocabulary each byte is a printable
character; a blank is "Ġ", so "Ġcat" is the word " cat".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pocketbert.errors import TokenizerError
from pocketbert.text.engine import Engine, Offset, add_words, can_be_cut_at_blanks, panics_caught
from pocketbert.text.layout import ROBERTA, Layout
from pocketbert.text.vocabulary import Kind, Role, Vocabulary
from pocketbert.text.words import inside_word

BLANK = "Ġ"
Pair = tuple[str, str]


def default_roles() -> dict[Role, str]:
    """What RoBERTa calls its special tokens."""
    return {"unk": "<unk>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>"}


def _alphabet() -> dict[str, int]:
    """Character of the vocabulary -> byte: printable ones stand for themselves, the others follow from 256 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


ALPHABET = _alphabet()


@dataclass(frozen=True)
class BytePairs:
    """All there is to know about one byte-level BPE tokenizer."""

    vocabulary: Vocabulary
    merges: tuple[Pair, ...]
    """Pairs of words, the first to be joined first."""
    blank_first: bool = False
    """Whether the first word of a text gets a blank, so that it is the same as further on."""
    layout: Layout = ROBERTA

    def __post_init__(self) -> None:
        ids = self.vocabulary.ids
        missing = sorted(ALPHABET.keys() - ids.keys())
        if missing:
            raise TokenizerError(
                f"the vocabulary lacks {len(missing)} of the 256 bytes, {missing[0]!r} among them; "
                "byte-level BPE needs a word for each, or it would drop what it cannot spell"
            )
        taken = sorted(ALPHABET.keys() & self.vocabulary.hidden)
        if taken:
            raise TokenizerError(
                f"the special token {taken[0]!r} is the word for a byte, so that texts could not be spelled; "
                "give it a longer name"
            )
        for left, right in self.merges:
            absent = [word for word in (left, right, left + right) if word not in ids]
            if absent:
                raise TokenizerError(
                    f"the merge {left!r} + {right!r} needs the word {absent[0]!r}, which the vocabulary does not "
                    "have; vocabulary and merges are not of the same tokenizer"
                )

    @property
    def lowercase(self) -> bool:
        """Whether texts are read in lower case: never."""
        return False

    def kind(self, word: str) -> Kind:
        """What sort of entry a word of the vocabulary is; one without a blank before it may also begin a text."""
        if word in self.vocabulary.special:
            return "special"
        if word.startswith("madeupword"):  # what fills up RoBERTa's table
            return "unused"
        if len(self.plain(word)) <= 1:
            return "character"
        return "word" if word.startswith(BLANK) else "continuation"

    def plain(self, word: str) -> str:
        """The letters of a word, without the blank before them."""
        if not all(letter in ALPHABET for letter in word):
            return word
        return bytes(map(ALPHABET.__getitem__, word)).decode("utf-8", "replace").removeprefix(" ")

    def continues(self, _word: str, text: str, start: int) -> bool:
        """Whether a token that starts there goes on inside a word."""
        return inside_word(text, start)

    def engine(self) -> Engine:
        """Build the engine."""
        with panics_caught():
            return _engine(self)


def _engine(settings: BytePairs) -> Engine:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocabulary = settings.vocabulary
    hidden = vocabulary.hidden
    words = {vocabulary.key(word): position for position, word in enumerate(vocabulary.words)}
    # A merge that makes a special token out of letters would make it out of a text.
    merges = [
        (left, right) for left, right in settings.merges if hidden.isdisjoint((left, right, left + right))
    ]
    library = Tokenizer(models.BPE(vocab=words, merges=merges, fuse_unk=False))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=settings.blank_first, use_regex=True)
    add_words(library, vocabulary, None)
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)

    @lru_cache(maxsize=4096)
    def sort(character: str) -> Literal["letter", "digit", "mark", "blank"]:
        # The library's own tables decide: Python's know other versions of Unicode.
        if len(split.pre_tokenize_str(f"a{character}")) == 1:
            return "letter"
        if len(split.pre_tokenize_str(f"1{character}")) == 1:
            return "digit"
        return "mark" if len(split.pre_tokenize_str(f"+{character}")) == 1 else "blank"

    def cuts(last: str, following: str) -> bool:
        before = sort(last)
        if settings.blank_first:  # only what begins with a space gets none before it
            return following == " " and before != "blank"
        after = sort(following)
        if after == "blank" or vocabulary.added:
            return after == "blank" != before
        # A mark ends nothing: it may begin a contraction.
        return before in ("letter", "digit") and before != after

    spaces = {
        position: blanks
        for position, word in enumerate(vocabulary.words)
        if word not in vocabulary.special and any(blanks := _blanks(word))
    }

    def trim(token: int, start: int, end: int) -> Offset:
        # The blank before a word is part of its token but not of the word.
        if token in spaces:
            leading, trailing = spaces[token]
            if not (start == 0 and settings.blank_first):  # where it may be one that is not in the text
                start = min(start + leading, end)
            end = max(end - trailing, start)
        return start, end

    return Engine(
        library,
        decoders.ByteLevel(),
        vocabulary,
        cuts=cuts if can_be_cut_at_blanks(vocabulary) else None,
        trim=trim,
    )


def _blanks(word: str) -> Offset:
    """How many blanks a word begins and ends with."""
    blank = [letter == BLANK or letter.isspace() for letter in word]
    leading = blank.index(False) if False in blank else len(blank)
    trailing = blank[::-1].index(False) if False in blank else len(blank)
    return leading, trailing
