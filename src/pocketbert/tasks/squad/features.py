"""Questions to windows of tokens with their gold positions, compact enough to keep a whole training set in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tasks.squad.questions import Question
from pocketbert.text import Tokenizer, Window, windows_from_encodings
from pocketbert.text.layout import BERT, Layout
from pocketbert.text.windows import LEAST_ROOM

Integers: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Feature:
    """`[CLS] question [SEP] stretch of the context [SEP]`, or as the layout has it, a tenth of the size of a `Window`.

    N tokens of the context are in the window; S positions in all.
    """

    question_index: int
    """Which of the questions that were given this window belongs to."""
    input_ids: Integers  # (S,)
    document_start: int
    """The position of the first token of the context."""
    characters: Integers  # (N, 2)
    """Start and end of each token in the context; a view that all windows of a context share."""
    owned: NDArray[np.bool_]  # (N,)
    """Whether no other window gives the token more context."""
    golds: tuple[tuple[int, int], ...] = ()
    """First and last position of every distinct gold answer that is all in this window, in the order of the file."""
    layout: Layout = BERT

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def start(self) -> int:
        """Position of the first gold answer's first token; the null if this window holds no answer."""
        return self.golds[0][0] if self.golds else self.null

    @property
    def end(self) -> int:
        """Position of the first gold answer's last token; the null if this window holds no answer."""
        return self.golds[0][1] if self.golds else self.null

    @property
    def null(self) -> int:
        """As in a `Window`: the position of `[CLS]`, which stands for "no answer in this window"."""
        return self.layout.null(len(self))

    @property
    def attention_mask(self) -> NDArray[np.int64]:
        return np.ones(len(self), dtype=np.int64)

    @property
    def token_type_ids(self) -> NDArray[np.int64]:
        context = len(self.characters)
        question = len(self) - context - self.layout.special_tokens(2)
        first, second = (question, context) if self.layout.document == "second" else (context, question)
        return np.array(self.layout.types(first, second), dtype=np.int64)

    @property
    def offsets(self) -> list[tuple[int, int] | None]:
        """As in a `Window`: start and end of each token in the context, None for what is not of the context."""
        places: list[tuple[int, int] | None] = [None] * len(self)
        places[self.document_start : self._document_end] = map(tuple, self.characters.tolist())
        return places

    @property
    def best(self) -> list[bool]:
        """As in a `Window`: whether no other window gives the token more context."""
        after = len(self) - self._document_end
        return [*[False] * self.document_start, *self.owned.tolist(), *[False] * after]

    @property
    def _document_end(self) -> int:
        return self.document_start + len(self.characters)

    def characters_of(self, first: int, last: int) -> tuple[int, int]:
        """Where the tokens from position `first` to `last` stand in the context."""
        start = self.characters[first - self.document_start, 0]
        end = self.characters[last - self.document_start, 1]
        return int(start), int(end)


def featurise(
    questions: Sequence[Question],
    tokenizer: Tokenizer,
    *,
    max_length: int = 384,
    overlap: int | None = None,
    train: bool = False,
    on_long: Literal["error", "skip"] = "error",
) -> list[Feature]:
    """All windows of all questions, question by question; each distinct context is tokenised once.

    Neighbouring windows share `overlap` tokens (128 if not given), or half of the room that the question leaves where
    that is less. A question too long for `max_length` is an error that names it; with `on_long="skip"` it gets no
    feature.

    With `train` each window gets the positions of the gold answers that it holds in full. An answer takes every token
    that shares a character with it, so one that begins in the middle of a token takes that token whole.
    """
    by_context: dict[str, list[int]] = {}
    for index, question in enumerate(questions):
        by_context.setdefault(question.context, []).append(index)
    features: list[list[Feature]] = [[] for _ in questions]
    for context, indices in by_context.items():
        document = tokenizer.encode(context, special=False)
        characters = np.array(document.offsets, dtype=np.int32).reshape(-1, 2)
        for index in indices:
            question = questions[index]
            asked = tokenizer.encode(question.question, special=False)
            room = max_length - len(asked) - tokenizer.layout.special_tokens(2)
            if on_long == "skip" and room < LEAST_ROOM:
                continue
            shared = None if overlap is None else min(overlap, max(room, 0) // 2)
            try:
                windows = windows_from_encodings(
                    asked, document, tokenizer, max_length=max_length, overlap=shared
                )
            except InputError as error:
                raise InputError(f"question {question.id!r}: {error}") from error
            golds = list(_token_spans(question, characters)) if train else []
            features[index] = [
                _compact(index, window, characters, golds, tokenizer.layout) for window in windows
            ]
    return [feature for group in features for feature in group]


def _token_spans(question: Question, characters: Integers) -> Iterator[tuple[int, int]]:
    """First and last token, counted in the context, of each distinct gold answer that has tokens."""
    starts, ends = characters[:, 0], characters[:, 1]
    seen = set()
    for answer in question.answers:
        # From the first token that ends after the answer begins to the last that begins before it ends.
        first = int(np.searchsorted(ends, answer.start, side="right"))
        last = int(np.searchsorted(starts, answer.end, side="left")) - 1
        if first <= last and (first, last) not in seen:
            seen.add((first, last))
            yield first, last


def _compact(
    index: int, window: Window, characters: Integers, golds: list[tuple[int, int]], layout: Layout
) -> Feature:
    shift = window.document_start - window.first_token
    inside = [
        (first, last) for first, last in golds if window.first_token <= first and last <= window.last_token
    ]
    tokens = characters[window.first_token : window.last_token + 1]
    return Feature(
        question_index=index,
        input_ids=np.array(window.input_ids, dtype=np.int32),
        document_start=window.document_start,
        characters=tokens,
        owned=np.array(window.best[window.document_start :][: len(tokens)], dtype=bool),
        golds=tuple((first + shift, last + shift) for first, last in inside),
        layout=layout,
    )
