"""Words to rows of tokens: the first piece of a word has its tag, its other pieces have none.

A sentence that is longer than the model reads becomes several windows that overlap. Every word is tagged in exactly one
of them, where its first piece has the most context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tasks.tags.sentences import Sentence
from pocketbert.text import Tokenizer
from pocketbert.text.layout import BERT, Layout
from pocketbert.text.windows import most_context

Integers: TypeAlias = NDArray[np.int32]
IGNORED = -100
LEAST_ROOM = 8


@dataclass(frozen=True, eq=False, slots=True)
class Feature:
    """A window over a sentence. S positions, W words that are tagged here."""

    sentence_index: int
    input_ids: Integers  # (S,)
    words: Integers  # (W,) which words of the sentence
    positions: Integers  # (W,) of their first pieces
    tags: Integers | None = None  # (W,) what is true of them
    layout: Layout = BERT

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def token_type_ids(self) -> NDArray[np.int64]:
        return np.array(self.layout.types(len(self) - self.layout.special_tokens(1)), dtype=np.int64)


def featurise(
    sentences: Sequence[Sentence],
    tokenizer: Tokenizer,
    numbers: Mapping[str, int] | None = None,
    *,
    max_length: int = 128,
) -> list[Feature]:
    """All windows of all sentences; with `numbers`, the numbers of tags, each word's own is among them."""
    room = max_length - tokenizer.layout.special_tokens(1)
    if room < LEAST_ROOM:
        raise InputError(
            f"a window of {max_length} tokens leaves {room} for words; at least {LEAST_ROOM} are needed"
        )
    return [
        feature
        for index, sentence in enumerate(sentences)
        for feature in _windows(index, sentence, tokenizer, numbers, room)
    ]


def first_pieces(words: Sequence[str], tokenizer: Tokenizer) -> tuple[Integers, Integers]:
    """The pieces of words with blanks between them, and where each word's first is; -1 for a word without any.

    Words are read together because byte pairs are not the same at the start of a text as behind a blank. A word of
    control characters has no pieces.
    """
    encoding = tokenizer.encode(" ".join(words), special=False)
    # Where words begin: an offset belongs to the last word that begins at or before it.
    begins = np.cumsum([0, *(len(word) + 1 for word in words)])
    places = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    # The last character of a piece, because a mark of a blank in front may belong to the piece.
    owners = np.searchsorted(begins, np.maximum(places[:, 1] - 1, places[:, 0]), side="right") - 1
    first = np.full(len(words), -1, dtype=np.int32)
    for position, owner in reversed(list(enumerate(owners.tolist()))):
        first[owner] = position
    return np.array(encoding.ids, dtype=np.int32), first


def gather(
    sentences: Sequence[Sentence], features: Sequence[Feature], said: Sequence[Integers], *, none: int
) -> list[list[int]]:
    """The tag number of every word from what was said in its sentence's windows; `none` for a word without pieces."""
    found = [[none] * len(sentence) for sentence in sentences]
    for feature, tags in zip(features, said, strict=True):
        for word, tag in zip(feature.words.tolist(), tags.tolist(), strict=True):
            found[feature.sentence_index][word] = tag
    return found


def _windows(
    index: int, sentence: Sentence, tokenizer: Tokenizer, numbers: Mapping[str, int] | None, room: int
) -> Iterator[Feature]:
    pieces, first = first_pieces(sentence.words, tokenizer)
    layout = tokenizer.layout
    before, after = tokenizer.marks(layout.before), tokenizer.marks(layout.after_one)
    with_pieces = np.flatnonzero(first >= 0)
    tags = None
    if numbers is not None:
        tags = np.array([numbers[tag] for tag in sentence.tags], dtype=np.int32)
    for start, best in _stretches(len(pieces), room):
        end = start + len(best)
        inside = with_pieces[(first[with_pieces] >= start) & (first[with_pieces] < end)]
        own = inside[best[first[inside] - start]].astype(np.int32)
        yield Feature(
            index,
            np.array([*before, *pieces[start:end].tolist(), *after], dtype=np.int32),
            own,
            (first[own] - start + len(before)).astype(np.int32),
            None if tags is None else tags[own],
            layout,
        )


def _stretches(total: int, room: int) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Where windows over so many pieces begin, and which pieces no other window gives more context."""
    step = room - room // 4
    start = 0
    while True:
        length = min(room, total - start)
        following = min(total - start - step, room) if total - start > room else 0
        yield start, np.array(most_context(length, following, room, step, start > 0), dtype=bool)
        if not following:
            return
        start += step
