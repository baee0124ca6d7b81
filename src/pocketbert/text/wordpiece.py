"""WordPiece, the tokenizer of BERT, MobileBERT, DistilBERT and TinyBERT: its settings, and the engine made of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, get_args

from pocketbert.errors import TokenizerError
from pocketbert.text.engine import Engine, add_words, panics_caught
from pocketbert.text.layout import BERT, Layout
from pocketbert.text.vocabulary import Kind, Role, Vocabulary

PREFIX = "##"
LONGEST_WORD = 200  # characters; the time for a word grows with their square, so a file may not ask for more


def default_roles() -> dict[Role, str]:
    """What BERT calls its special tokens: "[UNK]", "[CLS]" …."""
    return {role: f"[{role.upper()}]" for role in get_args(Role)}


@dataclass(frozen=True)
class WordPiece:
    """All there is to know about one WordPiece tokenizer."""

    layout: ClassVar[Layout] = BERT
    vocabulary: Vocabulary
    lowercase: bool = True
    strip_accents: bool | None = None
    """None does as BERT does: accents go when letters are lowered."""
    clean: bool = True
    split_chinese: bool = True
    longest_word: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.longest_word <= LONGEST_WORD:
            raise TokenizerError(
                f"the longest word may have {self.longest_word} characters; allowed are 1 to {LONGEST_WORD}"
            )

    def kind(self, word: str) -> Kind:
        """What sort of entry a word of the vocabulary is."""
        if word in self.vocabulary.special:
            return "special"
        if word.startswith("[unused") and word.endswith("]"):
            return "unused"
        if word.startswith(PREFIX) and word != PREFIX:
            return "continuation"
        return "character" if len(word) == 1 else "word"

    def plain(self, word: str) -> str:
        """The letters of a word; continuations keep their mark, as they are none by themselves."""
        return word

    def continues(self, word: str, _text: str, _start: int) -> bool:
        """Whether a token goes on inside a word, as its mark says."""
        return self.kind(word) == "continuation"

    def engine(self) -> Engine:
        """Build the engine."""
        with panics_caught():
            return _engine(self)


def _engine(settings: WordPiece) -> Engine:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    vocabulary = settings.vocabulary
    library = Tokenizer(
        models.WordPiece(
            vocab={vocabulary.key(word): position for position, word in enumerate(vocabulary.words)},
            unk_token=vocabulary.key(vocabulary.roles["unk"]),
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
    add_words(library, vocabulary, normalizer)

    @lru_cache(maxsize=4096)
    def separates(character: str) -> bool:
        # The library's own tables decide: Python's know other versions of Unicode.
        words = library.encode(f"a{character}a", add_special_tokens=False).word_ids
        return words[-1] != words[0]

    return Engine(
        library,
        decoders.WordPiece(prefix=PREFIX, cleanup=True),
        vocabulary,
        # Added words may hold spaces and punctuation, so texts stay whole for them.
        cuts=None if vocabulary.added else lambda _, following: separates(following),
    )
