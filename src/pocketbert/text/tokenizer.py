"""One tokenizer for every model: text to ids and back, with offsets that slice the original text exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from pocketbert.errors import InputError, TokenizerError
from pocketbert.text.encoding import Batch, Encoding, pad
from pocketbert.text.engine import Piece
from pocketbert.text.layout import Layout, Mark
from pocketbert.text.loading import EMBEDDED, Settings, naming, read_settings, write_settings
from pocketbert.text.vocabulary import Kind, Role, Vocabulary
from pocketbert.text.wordpiece import PREFIX, WordPiece, default_roles


class Tokenizer:
    """Cuts texts into the tokens that a model was trained on, and puts tokens together again.

    >>> tokenizer = Tokenizer.load()
    >>> encoding = tokenizer.encode("Hello, café!")
    >>> encoding.tokens
    ('[CLS]', 'hello', ',', 'cafe', '!', '[SEP]')
    >>> start, end = encoding.offsets[3]
    >>> "Hello, café!"[start:end]
    'café'
    >>> tokenizer.decode(encoding.ids)
    'hello, cafe!'

    Special tokens written out in a text are text: "[SEP]" in a page ends nothing.

    All kinds of tokenizers keep the same promises: WordPiece (BERT, MobileBERT, DistilBERT), byte-level BPE
    (RoBERTa) and Unigram (ALBERT, XLNet).
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine = settings.engine()
        self._words = settings.vocabulary.words
        self._ids = settings.vocabulary.ids
        self._cls = self._role("cls")
        self._sep = self._role("sep")

    @classmethod
    def load(cls, path: str | Path | None = None) -> Tokenizer:
        """The tokenizer of a model folder, or of a tokenizer.json, vocab.txt, vocab.json or spiece.model.

        In a folder the first of these counts; a vocab.json has a merges.txt beside it. A tokenizer_config.json
        is heeded too. Without a path: the vocabulary that comes with the package, BERT's uncased English one.

        >>> Tokenizer.load().size
        30522
        """
        place = EMBEDDED if path is None else Path(path)
        settings = read_settings(place)
        with naming(place):
            return cls(settings)

    @classmethod
    def from_vocabulary(cls, words: Sequence[str], lowercase: bool = True) -> Tokenizer:
        """A WordPiece tokenizer from its words in the order of their ids.

        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "run", "##ning"]
        >>> Tokenizer.from_vocabulary(words).encode("Running").ids
        (2, 5, 6, 3)
        """
        if isinstance(words, str):
            raise InputError("the vocabulary is one string; give a list of words")
        return cls(WordPiece(Vocabulary(tuple(words), default_roles()), lowercase=lowercase))

    def save(self, folder: str | Path, *, model_max_length: int | None = None) -> None:
        """Write tokenizer.json and tokenizer_config.json, as transformers reads them too.

        WordPiece gets a vocab.txt besides, byte-level BPE a vocab.json and a merges.txt.
        """
        write_settings(self._settings, Path(folder), model_max_length=model_max_length)

    def encode(
        self, text: str, pair: str | None = None, *, max_length: int | None = None, special: bool = True
    ) -> Encoding:
        """One text, or two as `[CLS] text [SEP] pair [SEP]` or whatever the model's layout is.

        Without the frame of special tokens if `special` is false.

        A text with more than `max_length` tokens, special ones included, is cut at its end, and
        `Encoding.truncated` says by how much. Of a pair the longer text is cut until both are equally long.

        >>> encoding = Tokenizer.load().encode("one two three", "four", max_length=6)
        >>> encoding.tokens, encoding.truncated
        (('[CLS]', 'one', 'two', '[SEP]', 'four', '[SEP]'), 1)
        """
        texts = [text] if pair is None else [text, pair]
        sequences = [list(self._engine.pieces(_checked(each))) for each in texts]
        lengths = [len(sequence) for sequence in sequences]
        layout = self.layout
        frame = layout.special_tokens(len(texts)) if special else 0
        kept = lengths if max_length is None else _fit(lengths, max_length, frame=frame)
        before, between, after = (
            (layout.before, layout.between, layout.after_two) if special else ((), (), ())
        )
        if special and pair is None:
            after = layout.after_one
        columns = _Columns()
        self._mark(columns, before)
        columns.extend(sequences[0][: kept[0]], 0, 0)
        if pair is not None:
            self._mark(columns, between)
            columns.extend(sequences[1][: kept[1]], 1, layout.second)
        self._mark(columns, after)
        return Encoding(
            ids=tuple(columns.ids),
            tokens=tuple(map(self._words.__getitem__, columns.ids)),
            type_ids=tuple(columns.type_ids),
            attention_mask=(1,) * len(columns.ids),
            offsets=tuple(columns.offsets),
            sequence_ids=tuple(columns.sequence_ids),
            word_ids=tuple(columns.word_ids),
            truncated=sum(lengths) - sum(kept),
        )

    def encode_batch(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        special: bool = True,
        pad_to: int | None = None,
    ) -> Batch:
        """Many texts, or pairs of them, padded to the longest or to `pad_to`, on the right or as the layout says.

        >>> Tokenizer.load().encode_batch(["short", "a little longer"], pad_to=8).attention_mask.tolist()
        [[1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0]]
        """
        for given in (texts, pairs):
            if isinstance(given, str):
                raise InputError("encode_batch got one string; give a list of texts, or call encode")
        if pairs is not None and len(pairs) != len(texts):
            raise InputError(f"{len(texts)} texts came with {len(pairs)} second texts; give one for each")
        encodings = [
            self.encode(text, pair, max_length=max_length, special=special)
            for text, pair in zip(texts, [None] * len(texts) if pairs is None else pairs, strict=True)
        ]
        return pad(
            [encoding.ids for encoding in encodings],
            [encoding.type_ids for encoding in encodings],
            pad_id=self.pad_id,
            pad_to=pad_to,
            layout=self.layout,
            encodings=encodings,
        )

    def stream(self, text: str) -> Iterator[tuple[int, tuple[int, int]]]:
        """Id and offsets of one token of a text after the other, in memory that does not grow with the text.

        >>> list(Tokenizer.load().stream("a book"))
        [(1037, (0, 1)), (2338, (2, 6))]
        """
        return ((token, offset) for token, offset, _ in self._engine.pieces(_checked(text)))

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, without special tokens and offsets, several times as fast as one by one.

        >>> Tokenizer.load().ids(["a book", ""])
        [[1037, 2338], []]
        """
        return self._engine.ids([_checked(text) for text in texts])

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        """The text of some ids, as far as it is known: case, accents and blanks may be lost.

        >>> Tokenizer.load().decode([101, 2339, 2025, 1029, 102])
        'why not?'
        """
        tokens = [self.token(each) for each in ids]
        special = self._settings.vocabulary.special if skip_special else ()
        return self._engine.join([token for token in tokens if token not in special])

    def join(self, tokens: Sequence[str]) -> str:
        """The text of some tokens by their names; one that is no word of the vocabulary stands for itself.

        >>> Tokenizer.load().join(["read", "##ing", "Zoë"])
        'reading Zoë'
        """
        return self._engine.join(list(tokens))

    @property
    def prefix(self) -> str:
        """What marks a token that goes on with a word, "##" in WordPiece; empty where blanks are part of words."""
        return PREFIX if isinstance(self._settings, WordPiece) else ""

    @property
    def size(self) -> int:
        """How many words the vocabulary has."""
        return len(self._words)

    @property
    def layout(self) -> Layout:
        """Which special tokens stand where around texts, and how rows are padded."""
        return self._settings.layout

    @property
    def lowercase(self) -> bool:
        """Whether texts are read in lower case ("uncased")."""
        return self._settings.lowercase

    def vocabulary(self) -> dict[str, int]:
        """Every word with its id, in the order of the ids."""
        return dict(self._ids)

    def token(self, id: int) -> str:  # noqa: A002 - the word everybody uses
        """The word with an id.

        >>> Tokenizer.load().token(103)
        '[MASK]'
        """
        if not 0 <= id < self.size:
            raise InputError(f"there is no token {id}; the ids of this vocabulary are 0 to {self.size - 1}")
        return self._words[id]

    def id(self, token: str) -> int:
        """The id of a word of the vocabulary; `encode` is for texts.

        >>> Tokenizer.load().id("##ing")
        2075
        """
        if token not in self._ids:
            raise InputError(
                f"{token!r} is not a word of this vocabulary; use encode() to cut a text into words that are"
            )
        return self._ids[token]

    def kind(self, id: int) -> Kind:  # noqa: A002
        """What sort of word an id is: "word", "continuation", "character", "unused" or "special".

        Where blanks are part of words, as in byte-level BPE and Unigram, a continuation is what has none before it.

        >>> Tokenizer.load().kind(2075)
        'continuation'
        """
        return self._settings.kind(self.token(id))

    def plain(self, id: int) -> str:  # noqa: A002
        """The word with an id as people write it, without the mark for a blank before it.

        >>> Tokenizer.load().plain(2338)
        'book'
        """
        return self._settings.plain(self.token(id))

    def continues(self, id: int, text: str, start: int) -> bool:  # noqa: A002
        """Whether a token that starts there in a text goes on inside a word.

        >>> Tokenizer.load().continues(2075, "reading", 4)
        True
        """
        return self._settings.continues(self.token(id), text, start)

    def joins(self, before: int, id: int) -> bool:  # noqa: A002
        """Whether a token goes on with the word that the token before it belongs to, as far as the two tell.

        >>> tokenizer = Tokenizer.load()
        >>> tokenizer.joins(tokenizer.id("read"), tokenizer.id("##ing"))
        True
        """
        special = self._settings.vocabulary.special
        left, right = self.token(before), self.token(id)
        return left not in special and right not in special and self._settings.joins(left, right)

    def frame(self, ids: Iterable[int]) -> list[int]:
        """The ids of one text with the special tokens around them.

        >>> Tokenizer.load().frame([2338])
        [101, 2338, 102]
        """
        layout = self.layout
        return [*self.marks(layout.before), *ids, *self.marks(layout.after_one)]

    def marks(self, marks: Iterable[Mark]) -> list[int]:
        """The ids of some special tokens of the layout.

        >>> tokenizer = Tokenizer.load()
        >>> tokenizer.marks(tokenizer.layout.before)
        [101]
        """
        return [self._cls if role == "cls" else self._sep for role, _ in marks]

    @property
    def cls_id(self) -> int:
        """The token that stands for all of a text: before it, or behind it in XLNet."""
        return self._cls

    @property
    def sep_id(self) -> int:
        """The token after each text."""
        return self._sep

    @property
    def pad_id(self) -> int:
        """The token that fills up a batch."""
        return self._role("pad")

    @property
    def mask_id(self) -> int:
        """The token that stands for a hidden word."""
        return self._role("mask")

    @property
    def unk_id(self) -> int:
        """The token of every word that the vocabulary cannot spell."""
        return self._role("unk")

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of all special tokens."""
        return frozenset(self._ids[word] for word in self._settings.vocabulary.special)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that decides how texts are cut and what the tokens are called: equal ones cut alike."""
        with TemporaryDirectory() as folder:
            self.save(folder)
            return sha256((Path(folder) / "tokenizer.json").read_bytes()).hexdigest()

    def __repr__(self) -> str:
        return f"<Tokenizer of {self.size} words, {'uncased' if self.lowercase else 'cased'}>"

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[Settings]]:
        # Copies and worker processes build their own engine.
        return Tokenizer, (self._settings,)

    def _role(self, role: Role) -> int:
        word = self._settings.vocabulary.roles[role]
        if word not in self._ids:
            raise TokenizerError(f"the vocabulary has no {word}; add that word to it to use it")
        return self._ids[word]

    def _mark(self, columns: _Columns, marks: tuple[Mark, ...]) -> None:
        for token, (_, kind) in zip(self.marks(marks), marks, strict=True):
            columns.mark(token, kind)


class _Columns:
    """The fields of an `Encoding` while it grows."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.type_ids: list[int] = []
        self.offsets: list[tuple[int, int]] = []
        self.sequence_ids: list[int | None] = []
        self.word_ids: list[int | None] = []

    def extend(self, pieces: list[Piece], index: int, kind: int) -> None:
        self.ids += [token for token, _, _ in pieces]
        self.type_ids += [kind] * len(pieces)
        self.offsets += [offset for _, offset, _ in pieces]
        self.sequence_ids += [index] * len(pieces)
        self.word_ids += [word for _, _, word in pieces]

    def mark(self, token: int, kind: int) -> None:
        self.ids.append(token)
        self.type_ids.append(kind)
        self.offsets.append((0, 0))
        self.sequence_ids.append(None)
        self.word_ids.append(None)


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise InputError(f"a text is {type(text).__name__}, not str; decode bytes and read files first")
    return text


def _fit(lengths: list[int], max_length: int, *, frame: int) -> list[int]:
    """How much of each text stays: the longest is cut first, as transformers does it to the token."""
    room = max_length - frame
    if room < len(lengths):
        raise InputError(
            f"max_length is {max_length}, which leaves {max(room, 0)} tokens for {len(lengths)} text(s) "
            f"beside {frame} special tokens; give at least {frame + len(lengths)}"
        )
    if sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    shorter = min(*lengths, room // 2)
    return [shorter, room - shorter] if lengths[0] <= lengths[1] else [room - shorter, shorter]
