"""Unigram, the tokenizer of ALBERT and XLNet: its settings, and the engine built from them.

A text is split at blanks, and every word is cut into those pieces of the vocabulary whose scores, logarithms of
probabilities, have the largest sum. "▁" stands for the blank before a word, so "▁cat" is the word " cat".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pocketbert.errors import TokenizerError
from pocketbert.text.engine import Engine, add_words, can_be_cut_at_blanks, panics_caught
from pocketbert.text.layout import BERT, Layout
from pocketbert.text.vocabulary import Kind, Role, Vocabulary
from pocketbert.text.words import inside_word

BLANK = "▁"
QUOTES = ("``", "''")
COULD_BE_LOST = (
    *range(0x3000),
    *range(0xFE00, 0x10000),
    *range(0xE0000, 0xE01F0),
)  # all but scripts of the East


def albert_roles() -> dict[Role, str]:
    """What ALBERT calls its special tokens."""
    return {"unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "pad": "<pad>", "mask": "[MASK]"}


def xlnet_roles() -> dict[Role, str]:
    """What XLNet calls its special tokens."""
    return {"unk": "<unk>", "cls": "<cls>", "sep": "<sep>", "pad": "<pad>", "mask": "<mask>"}


@dataclass(frozen=True)
class Unigram:
    """All there is to know about one Unigram tokenizer."""

    vocabulary: Vocabulary
    scores: tuple[float, ...]
    """One for each word, but for new ones at the end of the vocabulary."""
    lowercase: bool = True
    keep_accents: bool = False
    characters: bytes = b""
    """sentencepiece's own table of characters that become others."""
    layout: Layout = BERT

    def __post_init__(self) -> None:
        words = len(self.vocabulary.words)
        rest = self.vocabulary.words[len(self.scores) :]
        if len(self.scores) > words or not set(rest) <= self.vocabulary.hidden:
            raise TokenizerError(f"{words} words have {len(self.scores)} scores; each needs one")
        for word, score in zip(self.vocabulary.words, self.scores, strict=False):
            if not math.isfinite(score):
                raise TokenizerError(f"the word {word!r} has the score {score}; a finite number was expected")
        if self.vocabulary.ids[self.vocabulary.roles["unk"]] >= len(self.scores):
            raise TokenizerError(
                f"{self.vocabulary.roles['unk']} has no score; it must be a word of the model"
            )

    def kind(self, word: str) -> Kind:
        """What sort of entry a word of the vocabulary is."""
        if word in self.vocabulary.special:
            return "special"
        if len(self.plain(word)) <= 1:
            return "character"
        return "word" if word.startswith(BLANK) else "continuation"

    def plain(self, word: str) -> str:
        """The letters of a word, without the blank before them."""
        return word.removeprefix(BLANK)

    def continues(self, _word: str, text: str, start: int) -> bool:
        """Whether a token that starts there goes on inside a word."""
        return inside_word(text, start)

    def engine(self) -> Engine:
        """Build the engine."""
        with panics_caught():
            return _engine(self)


def _engine(settings: Unigram) -> Engine:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    vocabulary = settings.vocabulary
    # Words that were added have no score. They are hidden, so that any will do that is not the least.
    scores = (*settings.scores, *(max(settings.scores),) * (len(vocabulary.words) - len(settings.scores)))
    library = Tokenizer(
        models.Unigram(
            [(vocabulary.key(word), score) for word, score in zip(vocabulary.words, scores, strict=True)],
            unk_id=vocabulary.ids[vocabulary.roles["unk"]],
            byte_fallback=False,
        )
    )
    steps: list[normalizers.Normalizer] = [normalizers.Replace(quote, '"') for quote in QUOTES]
    if not settings.keep_accents:
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if settings.lowercase:
        steps.append(normalizers.Lowercase())
    if settings.characters:
        table = normalizers.Precompiled(settings.characters)
        lost = [character for character in map(chr, COULD_BE_LOST) if not table.normalize_str(character)]
        if lost:
            # The table itself moves all offsets when it drops what a text begins with.
            pattern = "".join(f"\\x{{{ord(character):x}}}" for character in lost)
            steps.append(normalizers.Replace(Regex(f"[{pattern}]"), ""))
        steps.append(table)
    normalizer = normalizers.Sequence(steps)
    library.normalizer = normalizer
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(replacement=BLANK, prepend_scheme="always"),
        ]
    )
    add_words(library, vocabulary, normalizer)

    return Engine(
        library,
        decoders.Metaspace(replacement=BLANK, prepend_scheme="always"),
        vocabulary,
        cuts=_before_a_space if can_be_cut_at_blanks(vocabulary) else None,
    )


def _before_a_space(_last: str, following: str) -> bool:
    return following == " "
