"""A tokenizer learnt from texts: for another language, or for a domain whose words BERT's vocabulary cuts to pieces.

The trainers are those of the `tokenizers` library; texts are prepared as the finished tokenizer will prepare them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args

from pocketbert.errors import InputError, check_count
from pocketbert.text import bytepairs, unigram, wordpiece
from pocketbert.text.bytepairs import ALPHABET, BytePairs
from pocketbert.text.engine import SURROGATE, panics_caught
from pocketbert.text.layout import BERT, XLNET
from pocketbert.text.loading import Settings
from pocketbert.text.tokenizer import Tokenizer
from pocketbert.text.unigram import Unigram
from pocketbert.text.vocabulary import Vocabulary
from pocketbert.text.wordpiece import PREFIX, WordPiece

TokenizerKind = Literal["wordpiece", "bpe", "unigram", "unigram-xlnet"]
"""As BERT's, RoBERTa's, ALBERT's and XLNet's."""

# The first ids of a vocabulary, in the order that each family has.
_SPECIAL: dict[TokenizerKind, tuple[str, ...]] = {
    "wordpiece": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    "bpe": ("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
    "unigram": ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
    "unigram-xlnet": ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"),
}


def learn_tokenizer(
    texts: Iterable[str],
    *,
    kind: TokenizerKind = "wordpiece",
    size: int = 30_522,
    lowercase: bool = True,
    keep_accents: bool = False,
    alphabet: int = 1000,
) -> Tokenizer:
    """A tokenizer of at most `size` words, special tokens included, that spells the texts with few tokens.

    Letters are lowered, and accents dropped with them unless they are to be kept; a cased WordPiece keeps both.
    Byte-level BPE always does. Of single characters WordPiece learns the `alphabet` most frequent.

    WordPiece and BPE come out the same on every run; Unigram's scores differ in their third digit. Texts are gone
    through more than once, so an iterator is kept in memory; give something that can be gone through again.

    >>> tokenizer = learn_tokenizer(["low lower lowest newer newest"] * 5, size=40)
    >>> tokenizer.encode("lowest").tokens
    ('[CLS]', 'lowest', '[SEP]')
    """
    if kind not in _SPECIAL:
        raise InputError(
            f"there is no tokenizer of the kind {kind!r}; there are {', '.join(get_args(TokenizerKind))}"
        )
    check_count("alphabet", alphabet)
    _check_size(kind, size, len(_SPECIAL[kind]) + (len(ALPHABET) if kind == "bpe" else 1))
    given = _Texts(texts if iter(texts) is not texts else list(texts))
    if not any(text.strip() for text in given):
        raise InputError("there is no text to learn a tokenizer from")
    with panics_caught():
        if kind == "wordpiece":
            return Tokenizer(_wordpiece(given, size, lowercase, keep_accents, alphabet))
        if kind == "bpe":
            return Tokenizer(_bytepairs(given, size))
        return Tokenizer(_unigram(given, kind, size, lowercase, keep_accents))


def _wordpiece(
    texts: Iterable[str], size: int, lowercase: bool, keep_accents: bool, alphabet: int
) -> Settings:
    from tokenizers import models, trainers

    special = _SPECIAL["wordpiece"]
    roles = wordpiece.default_roles()
    accents = False if keep_accents else None
    bare = WordPiece(Vocabulary(special, roles), lowercase=lowercase, strip_accents=accents)
    library = bare.engine().untrained(models.WordPiece(unk_token=roles["unk"]))
    library.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(
            vocab_size=size,
            # The trainer numbers continuations as its hash table has them, and equal counts are decided by number.
            special_tokens=[*special, *_continuations(texts, library.normalizer, alphabet)],
            limit_alphabet=alphabet,
            continuing_subword_prefix=PREFIX,
            show_progress=False,
        ),
    )
    words = library.get_vocab()
    # The trainer keeps all single characters, however small the vocabulary is to be: they are the least.
    _check_size("wordpiece", size, len(words))
    ordered = tuple(sorted(words, key=words.__getitem__))
    return WordPiece(Vocabulary(ordered, roles), lowercase=lowercase, strip_accents=accents)


def _bytepairs(texts: Iterable[str], size: int) -> Settings:
    from tokenizers import models, trainers

    *special, mask = _SPECIAL["bpe"]
    roles = bytepairs.default_roles()
    bare = BytePairs(Vocabulary((*special, *ALPHABET, mask), roles), merges=())
    library = bare.engine().untrained(models.BPE())
    library.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size - 1,
            special_tokens=special,
            initial_alphabet=sorted(ALPHABET),
            show_progress=False,
        ),
    )
    model = _model(library)
    ordered = sorted(model["vocab"], key=model["vocab"].__getitem__)
    # <mask> comes last, as in RoBERTa's own vocabulary.
    vocabulary = Vocabulary((*ordered, mask), roles)
    return BytePairs(vocabulary, merges=tuple((left, right) for left, right in model["merges"]))


def _unigram(
    texts: Iterable[str], kind: TokenizerKind, size: int, lowercase: bool, keep_accents: bool
) -> Settings:
    from tokenizers import models, trainers

    special = _SPECIAL[kind]
    roles = unigram.albert_roles() if kind == "unigram" else unigram.xlnet_roles()
    further = frozenset(special) - frozenset(roles.values())
    layout = BERT if kind == "unigram" else XLNET

    def settings(words: tuple[str, ...], scores: tuple[float, ...]) -> Unigram:
        return Unigram(
            Vocabulary(words, roles, further),
            scores,
            lowercase=lowercase,
            keep_accents=keep_accents,
            layout=layout,
        )

    bare = settings(special, (0.0,) * len(special))
    library = bare.engine().untrained(models.Unigram())
    # The trainer keeps all characters, and counts only while it adds pieces: there must be room for one.
    _check_size(kind, size, len(special) + len(_characters(texts, library)) + 1)
    library.train_from_iterator(
        texts,
        trainers.UnigramTrainer(
            vocab_size=size, special_tokens=list(special), unk_token=roles["unk"], show_progress=False
        ),
    )
    pieces = _model(library)["vocab"]
    return settings(tuple(word for word, _ in pieces), tuple(float(score) for _, score in pieces))


def _check_size(kind: TokenizerKind, size: int, least: int) -> None:
    if size < least:
        raise InputError(f"a vocabulary of {size} words is too small; {kind} needs {least} at least")


def _model(library: Any) -> dict[str, Any]:
    return dict(json.loads(library.to_str())["model"])


def _continuations(texts: Iterable[str], normalizer: Any, alphabet: int) -> list[str]:
    """The frequent characters that go on inside words, marked and in order."""
    counts: Counter[str] = Counter()
    inside: set[str] = set()
    for text in texts:
        normal = normalizer.normalize_str(text)
        counts.update(normal)
        for word in normal.split():
            inside.update(word[1:])
    frequent = sorted(counts, key=lambda letter: (-counts[letter], letter))[:alphabet]
    return [f"{PREFIX}{letter}" for letter in sorted(inside.intersection(frequent)) if letter.isalnum()]


def _characters(texts: Iterable[str], library: Any) -> set[str]:
    """The characters of all words, as the library prepares them."""
    words = {word for text in texts for word in text.split(" ")}
    normal = library.normalizer.normalize_str(" ".join(words))
    return {letter for word, _ in library.pre_tokenizer.pre_tokenize_str(normal) for letter in word}


class _Texts:
    """Texts as the library takes them, to be gone through again and again."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        return (SURROGATE.sub("\ufffd", text) for text in self._texts)
