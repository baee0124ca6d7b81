"""WordPiece, the tokenizer of BERT and MobileBERT: its settings, and the engine built from them.

The engine is the `tokenizers` library, but no file is ever handed to it: a crafted tokenizer.json can make it
panic. `wordpiece_files` reads and checks the files; here the engine is put together from the checked parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, cast, get_args

from pocketbert.errors import TokenizerError

if TYPE_CHECKING:  # imported when an engine is built, so that `import pocketbert.text` stays cheap
    from tokenizers import Tokenizer as Library

PREFIX = "##"
LONGEST_WORD = 200  # characters; the time for a word grows with their square, so a file may not ask for more
CHUNK = 1 << 14  # code points given to the library at once: it takes up to 700 bytes for each while it works

Role = Literal["unk", "cls", "sep", "pad", "mask"]
Kind = Literal["word", "continuation", "character", "unused", "special"]
SURROGATE = re.compile("[\ud800-\udfff]")
Piece = tuple[int, tuple[int, int], int]  # id, (start, end) in the text, number of the word


@dataclass(frozen=True)
class AddedWord:
    """A word that was added to a finished vocabulary; it is found in a text before anything else is done."""

    text: str
    in_vocabulary: bool = False
    """Whether WordPiece may find it too, where this search does not."""
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True


@dataclass(frozen=True)
class WordPiece:
    """All there is to know about one WordPiece tokenizer; the position of a word is its id."""

    words: tuple[str, ...]
    lowercase: bool = True
    strip_accents: bool | None = None
    """None does as BERT does: accents go when letters are lowered."""
    clean: bool = True
    split_chinese: bool = True
    longest_word: int = 100
    roles: dict[Role, str] = field(default_factory=lambda: default_roles())
    further_special: frozenset[str] = frozenset()
    added: tuple[AddedWord, ...] = ()

    def __post_init__(self) -> None:
        _check_words(self.words)
        if not 1 <= self.longest_word <= LONGEST_WORD:
            raise TokenizerError(
                f"the longest word may have {self.longest_word} characters; allowed are 1 to {LONGEST_WORD}"
            )
        needed = [self.roles[role] for role in ("unk", "cls", "sep")]
        missing = sorted(set(needed) - set(self.words))
        if missing:
            raise TokenizerError(
                f"the vocabulary has no {', '.join(missing)}; WordPiece needs {', '.join(needed)}"
            )
        if len(set(self.roles.values())) < len(self.roles):
            raise TokenizerError(f"special tokens share a name: {self.roles}; each needs its own")

    @cached_property
    def special(self) -> frozenset[str]:
        """The special tokens of the vocabulary."""
        return (frozenset(self.roles.values()) | self.further_special) & set(self.words)

    @property
    def new_words(self) -> tuple[AddedWord, ...]:
        """The added words that WordPiece itself must not find."""
        return tuple(word for word in self.added if not word.in_vocabulary)

    def kind(self, word: str) -> Kind:
        """What sort of entry a word of the vocabulary is."""
        if word in self.special:
            return "special"
        if word.startswith("[unused") and word.endswith("]"):
            return "unused"
        if word.startswith(PREFIX) and word != PREFIX:
            return "continuation"
        return "character" if len(word) == 1 else "word"


def default_roles() -> dict[Role, str]:
    """What BERT calls its special tokens: "[UNK]", "[CLS]" …."""
    return {role: f"[{role.upper()}]" for role in get_args(Role)}


class Engine:
    """The `tokenizers` library behind one narrow door: text in, pieces with offsets out."""

    def __init__(self, settings: WordPiece) -> None:
        from tokenizers import decoders

        with panics_caught():
            self._library = _library(settings)
            self._decoder = decoders.WordPiece(prefix=PREFIX, cleanup=True)
        self._size = len(settings.words)
        self._added_ids = [settings.words.index(word.text) for word in settings.new_words]
        self._added = bool(settings.added)
        self._separates = lru_cache(maxsize=4096)(self._ask_whether_it_separates)

    def pieces(self, text: str, *, chunk: int = CHUNK) -> Iterator[Piece]:
        """Every piece of a text, in order, in memory that does not grow with the text.

        The text goes to the library in chunks, cut only where a new word starts whatever stands before, so
        that the pieces are those of the whole. A word longer than a chunk is not cut; nor is a text if words
        were added to the vocabulary, which may hold spaces.
        """
        # The library refuses halves of surrogate pairs. BERT drops U+FFFD, and no offset moves.
        text = SURROGATE.sub("\ufffd", text)
        start = first_word = 0
        while start < len(text):
            end = len(text) if self._added else self._cut(text, start, chunk)
            with panics_caught():
                found = self._library.encode(text[start:end], add_special_tokens=False)
            words = cast(list[int], found.word_ids)  # None is for special tokens, and there are none
            for token, (left, right), word in zip(found.ids, found.offsets, words, strict=True):
                known = token if token < self._size else self._added_ids[token - self._size]
                yield known, (start + left, start + right), first_word + word
            first_word += words[-1] + 1 if words else 0
            start = end

    def join(self, tokens: list[str]) -> str:
        """The text of some tokens: continuations glued on, no blank before punctuation."""
        with panics_caught():
            return self._decoder.decode(tokens)

    def _cut(self, text: str, start: int, chunk: int) -> int:
        limit = start + chunk
        if limit >= len(text):
            return len(text)
        for position in range(limit, start, -1):
            if self._separates(text[position]):
                return position
        for position in range(limit + 1, len(text)):
            if self._separates(text[position]):
                return position
        return len(text)

    def _ask_whether_it_separates(self, character: str) -> bool:
        # The library's own tables decide: Python's know other versions of Unicode.
        words = self._library.encode(f"a{character}a", add_special_tokens=False).word_ids
        return words[-1] != words[0]


@contextmanager
def panics_caught() -> Iterator[None]:
    """Turn whatever the library throws into a `TokenizerError`; its panics are not even an `Exception`."""
    try:
        yield
    except TokenizerError:
        raise
    except Exception as error:
        raise TokenizerError(f"the tokenizer failed: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise TokenizerError(f"the tokenizer failed: {error}") from error


def _library(settings: WordPiece) -> Library:
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

    hidden = settings.special | {word.text for word in settings.new_words}

    def key(word: str) -> str:
        # No text can hold a word with a space in it, as texts are split there first. That is how a special
        # token written out in a text stays text, under every name and without being looked for.
        return f" {word}" if word in hidden or word.startswith(" ") else word

    library = Tokenizer(
        models.WordPiece(
            vocab={key(word): position for position, word in enumerate(settings.words)},
            unk_token=key(settings.roles["unk"]),
            max_input_chars_per_word=settings.longest_word,
            continuing_subword_prefix=PREFIX,
        )
    )
    normalizer = normalizers.BertNormalizer(
        clean_text=settings.clean,
        handle_chinese_chars=settings.split_chinese,
        strip_accents=settings.strip_accents,
        lowercase=settings.lowercase,
    )
    library.normalizer = normalizer
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    for word in settings.added:
        if not (normalizer.normalize_str(word.text) if word.normalized else word.text).strip():
            raise TokenizerError(f"the added word {word.text!r} is empty; remove it from added_tokens")
    library.add_tokens(
        [
            AddedToken(
                word.text,
                single_word=word.single_word,
                lstrip=word.lstrip,
                rstrip=word.rstrip,
                normalized=word.normalized,
                special=False,
            )
            for word in settings.added
        ]
    )
    for position, word in enumerate(settings.new_words, start=len(settings.words)):
        # Numbered from the size of the vocabulary on: that is how `Engine.pieces` knows and translates them.
        if library.token_to_id(word.text) != position:
            raise TokenizerError(f"the added word {word.text!r} clashes with the vocabulary; rename it")
    return library


def _check_words(words: tuple[str, ...]) -> None:
    if not words:
        raise TokenizerError("the vocabulary is empty; it needs at least [UNK], [CLS] and [SEP]")
    for position, word in enumerate(words):
        if not isinstance(word, str) or not word or "\n" in word or "\r" in word:
            raise TokenizerError(
                f"word {position} of the vocabulary is {word!r}; a word is a string of one line and not empty"
            )
    if len(set(words)) < len(words):
        first: dict[str, int] = {}
        for position, word in enumerate(words):
            if first.setdefault(word, position) != position:
                raise TokenizerError(
                    f"the word {word!r} stands in the vocabulary twice, as {first[word]} and {position}; "
                    "every word has one id"
                )
    try:
        "".join(words).encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(f"the vocabulary holds half a character: {error.reason}") from error
