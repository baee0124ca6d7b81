"""The engine of every tokenizer: the `tokenizers` library behind one narrow door.

No file is ever handed to the library: a crafted tokenizer.json can make it panic. `wordpiece_files`, `bytepairs_files`
and `unigram_files` read and check the files; `wordpiece`, `bytepairs` and `unigram` put an engine together from the
checked parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from pocketbert.errors import PocketbertError, TokenizerError
from pocketbert.text.vocabulary import Vocabulary

if TYPE_CHECKING:  # imported when an engine is built, so that `import pocketbert.text` stays cheap
    from tokenizers import Tokenizer as Library
    from tokenizers.decoders import Decoder
    from tokenizers.models import Model
    from tokenizers.normalizers import Normalizer

CHUNK = 1 << 14  # code points given to the library at once: it takes up to 700 bytes for each while it works
SURROGATE = re.compile("[\ud800-\udfff]")

Offset = tuple[int, int]
Piece = tuple[int, Offset, int]  # id, (start, end) in the text, number of the word


class Engine:
    """Text in, pieces with offsets out."""

    def __init__(
        self,
        library: Library,
        decoder: Decoder,
        vocabulary: Vocabulary,
        *,
        cuts: Callable[[str, str], bool] | None,
        trim: Callable[[int, int, int], Offset] | None = None,
    ) -> None:
        """Put the parts together.

        `cuts` says of two neighbouring characters whether a word ends between them whatever stands around;
        None leaves texts whole. `trim` moves the start and the end of a token with an id.
        """
        self._library = library
        self._decoder = decoder
        self._size = len(vocabulary.words)
        self._added_ids = [vocabulary.ids[word.text] for word in vocabulary.new_words]
        self._cuts = cuts
        self._trim = trim

    def pieces(self, text: str, *, chunk: int = CHUNK) -> Iterator[Piece]:
        """Every piece of a text, in order, in memory that does not grow with the text.

        The text goes to the library in chunks, cut only where a word ends whatever stands around, so that the
        pieces are those of the whole. A word longer than a chunk is not cut.
        """
        # The library refuses halves of surrogate pairs. This stands for what cannot be read, and no offset moves.
        text = SURROGATE.sub("\ufffd", text)
        start = first_word = 0
        while start < len(text):
            end = self._end(text, start, chunk)
            with panics_caught():
                found = self._library.encode(text[start:end], add_special_tokens=False)
            words = cast(list[int], found.word_ids)  # None is for special tokens, and there are none
            for known, (left, right), word in zip(self._known(found.ids), found.offsets, words, strict=True):
                place = start + left, start + right
                yield known, self._trim(known, *place) if self._trim else place, first_word + word
            first_word += words[-1] + 1 if words else 0
            start = end

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text. Short ones go to the library together, which then keeps no offsets: 4 times as fast."""
        together = [place for place, text in enumerate(texts) if len(text) <= CHUNK]
        with panics_caught():
            encodings = self._library.encode_batch_fast(
                [SURROGATE.sub("\ufffd", texts[place]) for place in together], add_special_tokens=False
            )
        found: list[list[int]] = [[] for _ in texts]
        for place, encoding in zip(together, encodings, strict=True):
            found[place] = self._known(encoding.ids) if self._added_ids else encoding.ids
        for place, text in enumerate(texts):
            if len(text) > CHUNK:
                found[place] = [token for token, _, _ in self.pieces(text)]
        return found

    def join(self, tokens: list[str]) -> str:
        """The text of some tokens."""
        with panics_caught():
            return self._decoder.decode(tokens)

    def untrained(self, model: Model) -> Library:
        """A library that prepares texts in the same way, with a model that is yet to be trained."""
        from tokenizers import Tokenizer as Library

        library = Library(model)
        library.normalizer = self._library.normalizer
        library.pre_tokenizer = self._library.pre_tokenizer
        return library

    def _known(self, ids: list[int]) -> list[int]:
        """The library's ids as the vocabulary has them."""
        return [token if token < self._size else self._added_ids[token - self._size] for token in ids]

    def _end(self, text: str, start: int, chunk: int) -> int:
        limit = start + chunk
        if limit >= len(text) or self._cuts is None:
            return len(text)
        for position in range(limit, start, -1):
            if self._cuts(text[position - 1], text[position]):
                return position
        for position in range(limit + 1, len(text)):
            if self._cuts(text[position - 1], text[position]):
                return position
        return len(text)


@contextmanager
def panics_caught() -> Iterator[None]:
    """Turn whatever the library throws into a `TokenizerError`; its panics are not even an `Exception`."""
    try:
        yield
    except PocketbertError:
        raise
    except Exception as error:
        raise TokenizerError(f"the tokenizer failed: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise TokenizerError(f"the tokenizer failed: {error}") from error


def add_words(library: Library, vocabulary: Vocabulary, normalizer: Normalizer | None) -> None:
    """Make the library look for the added words before it does anything else with a text."""
    from tokenizers import AddedToken

    for word in vocabulary.added:
        normal = normalizer.normalize_str(word.text) if normalizer and word.normalized else word.text
        if not normal.strip():
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
            for word in vocabulary.added
        ]
    )
    for position, word in enumerate(vocabulary.new_words, start=len(vocabulary.words)):
        # Numbered from the size of the vocabulary on: that is how `Engine.pieces` knows and translates them.
        if library.token_to_id(word.text) != position:
            raise TokenizerError(f"the added word {word.text!r} clashes with the vocabulary; rename it")


def can_be_cut_at_blanks(vocabulary: Vocabulary) -> bool:
    """Whether no added word holds a blank or takes in the one behind it."""
    return not any(word.rstrip or any(map(str.isspace, word.text)) for word in vocabulary.added)
