"""A document as a reader holds it: tokenised once, a few bytes per token, and cut into windows on demand.

Windows are read out of order and by the thousand, so none is kept: a stretch says where one is, and `window` makes it
when its turn comes. A book of 500,000 words takes some 10 MB.

Shapes: T tokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pocketbert.text.tokenizer import Tokenizer
from pocketbert.text.windows import Frame, Window, most_context, room_and_step

Integers: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Document:
    """A text and its tokens, for any number of questions; `QuestionAnswerer.document` makes one."""

    text: str
    ids: Integers  # (T,)
    starts: Integers  # (T,)
    ends: Integers  # (T,)
    tokenizer: Tokenizer

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer) -> Document:
        """Tokenise a text."""
        # Flat and through a generator, so that no Python number outlives its turn.
        flat = chain.from_iterable((token, *place) for token, place in tokenizer.stream(text))
        columns = np.fromiter(flat, dtype=np.int32).reshape(-1, 3)
        ids, starts, ends = (np.ascontiguousarray(column) for column in columns.T)
        return cls(text, ids, starts, ends, tokenizer)

    def __len__(self) -> int:
        return len(self.ids)

    def characters(self, first: int, last: int, *, whole_words: bool) -> tuple[int, int]:
        """Where the tokens `first` to `last` stand in the text, with the words at both ends whole if asked for.

        The end takes in the combining marks that follow: an uncased tokenizer drops them, and "é" may be two
        characters.
        """
        if whole_words:
            while first > 0 and self._continues(first):
                first -= 1
            while last + 1 < len(self) and self._continues(last + 1):
                last += 1
        start, end = int(self.starts[first]), int(self.ends[last])
        while end < len(self.text) and unicodedata.category(self.text[end]).startswith("M"):
            end += 1
        return start, end

    def _continues(self, token: int) -> bool:
        start = int(self.starts[token])
        # Tokens that share a character, as "▁" and the first letter may, cannot be told apart in the text.
        shared = start < self.ends[token - 1]
        return bool(shared) or self.tokenizer.continues(int(self.ids[token]), self.text, start)


@dataclass(frozen=True)
class Stretch:
    """Where one window is: its tokens, and for which of them no other window gives more context."""

    document: int
    first: int
    last: int
    """One past the last token."""
    best: tuple[bool, ...]


@dataclass(frozen=True)
class Plan:
    """A question and all windows over the documents it is asked of; no window holds tokens of two documents."""

    question_ids: tuple[int, ...]
    documents: Sequence[Document]
    stretches: tuple[Stretch, ...]

    @classmethod
    def of(
        cls,
        question_ids: tuple[int, ...],
        documents: Sequence[Document],
        *,
        max_length: int,
        overlap: int | None,
    ) -> Plan:
        """Lay out windows of at most `max_length` tokens; an overlap above half of the room is half of it."""
        special = _special_tokens(documents)
        room, _ = room_and_step(len(question_ids), max_length=max_length, special=special)
        shared = None if overlap is None else min(overlap, room // 2)
        room, step = room_and_step(len(question_ids), max_length=max_length, overlap=shared, special=special)
        found = [
            stretch
            for number, document in enumerate(documents)
            for stretch in stretches(len(document), room, step, document=number)
        ]
        return cls(question_ids, documents, tuple(found))

    def __len__(self) -> int:
        return len(self.stretches)

    def length(self, number: int) -> int:
        """How many tokens a window has, question and special ones included."""
        stretch = self.stretches[number]
        return len(self.question_ids) + _special_tokens(self.documents) + stretch.last - stretch.first

    def window(self, number: int) -> Window:
        """Make one window."""
        stretch = self.stretches[number]
        document = self.documents[stretch.document]
        part = slice(stretch.first, stretch.last)
        places = zip(document.starts[part].tolist(), document.ends[part].tolist(), strict=True)
        return self._frame.window(stretch.first, document.ids[part].tolist(), places, stretch.best)

    @cached_property
    def _frame(self) -> Frame:
        return Frame.of(self.question_ids, self.documents[0].tokenizer)

    @property
    def tokens(self) -> int:
        """How many tokens the documents have."""
        return sum(map(len, self.documents))

    def tokens_of(self, numbers: Sequence[int]) -> int:
        """How many tokens of the documents some windows hold, those in two of them counted once."""
        seen = total = 0
        document = -1
        for number in sorted(numbers):  # stretches are in the order of the text
            stretch = self.stretches[number]
            if stretch.document != document:
                document, seen = stretch.document, 0
            total += stretch.last - max(seen, stretch.first)
            seen = stretch.last
        return total


def stretches(tokens: int, room: int, step: int, *, document: int = 0) -> list[Stretch]:
    """All windows over so many tokens, `room` of them in each; every token is the best somewhere, once."""
    found = []
    first = 0
    while True:
        last = min(first + room, tokens)
        following = min(tokens - first - step, room) if tokens - first > room else 0
        best = most_context(last - first, following, room, step, first > 0)
        found.append(Stretch(document, first, last, best))
        if not following:
            return found
        first += step


def _special_tokens(documents: Sequence[Document]) -> int:
    """How many special tokens a window has; without a document there is none."""
    return documents[0].tokenizer.layout.special_tokens(2) if documents else 0
