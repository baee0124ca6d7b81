"""Windows: a document longer than a model can read, as overlapping stretches behind the same question.

Every token of the document is in a window, and in exactly one window it is `best`: there it has the most
context on its poorer side, so that a reader counts an answer once and where it was read best.

BERT's `doc_stride` is a step; `overlap` is what neighbours share, the room less the step. It is at most half of
the room, so that no token is read more than twice. BERT's step of 128 in a window of 384 reads most tokens three
times: 1000 tokens behind a question of 2 make 6 windows there, 5 with the largest overlap here, 4 by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from pocketbert.errors import InputError
from pocketbert.text.encoding import Batch, Encoding, pad
from pocketbert.text.layout import BERT
from pocketbert.text.tokenizer import Tokenizer

LEAST_ROOM = 32  # tokens of the document in a window; with fewer there is nothing to understand
DEFAULT_OVERLAP = 128

Token = tuple[int, tuple[int, int]]  # id, (start, end) in the document


@dataclass(frozen=True)
class Window:
    """`[CLS] question [SEP] stretch of the document [SEP]`, or as the model's layout has it.

    Every tuple has one entry per position.
    """

    input_ids: tuple[int, ...]
    attention_mask: tuple[int, ...]
    token_type_ids: tuple[int, ...]
    offsets: tuple[tuple[int, int] | None, ...]
    """Start and end in the document; None in the question and for special tokens."""
    best: tuple[bool, ...]
    """Whether this is the window in which that token of the document has the most context."""
    first_token: int
    """The number, in the document, of the first token of the stretch."""
    last_token: int
    """The number of the last token, itself in the stretch; one less than the first if there is none."""
    document_start: int
    """The position in `input_ids` of the first token of the document."""
    null: int = 0
    """The position of `[CLS]`: what a reader points to when there is no answer in this window."""

    def __len__(self) -> int:
        return len(self.input_ids)


def windows(
    question: str, document: str, tokenizer: Tokenizer, *, max_length: int = 384, overlap: int | None = None
) -> list[Window]:
    """All windows over a document.

    The overlap is 128 tokens if not given, or half of the room that the question leaves if that is less.

    >>> document = "one two three four " * 200
    >>> [(window.first_token, window.last_token) for window in windows("Who?", document, Tokenizer.load())]
    [(0, 378), (251, 629), (502, 799)]
    """
    return list(iter_windows(question, document, tokenizer, max_length=max_length, overlap=overlap))


def iter_windows(
    question: str, document: str, tokenizer: Tokenizer, *, max_length: int = 384, overlap: int | None = None
) -> Iterator[Window]:
    """The same one by one, in memory that does not grow with the document.

    >>> sum(1 for window in iter_windows("Who?", "word " * 10_000, Tokenizer.load()))
    40
    """
    question_ids = [token for token, _ in tokenizer.stream(question)]
    return _slide(question_ids, tokenizer.stream(document), tokenizer, max_length, overlap)


def windows_from_encodings(
    question: Encoding,
    document: Encoding,
    tokenizer: Tokenizer,
    *,
    max_length: int = 384,
    overlap: int | None = None,
) -> list[Window]:
    """The same from texts that are tokenised already, with or without special tokens.

    >>> tokenizer = Tokenizer.load()
    >>> question, document = tokenizer.encode("Who?"), tokenizer.encode("Ada Lovelace")
    >>> windows_from_encodings(question, document, tokenizer) == windows("Who?", "Ada Lovelace", tokenizer)
    True
    """
    for name, encoding in (("question", question), ("document", document)):
        if encoding.truncated:
            raise InputError(
                f"the {name} was cut by {encoding.truncated} tokens; encode it without a max_length"
            )
        if 1 in encoding.sequence_ids:
            raise InputError(
                f"the {name} is a pair of texts; encode the question and the document on their own"
            )
    question_ids = [token for token, _ in _document_tokens(question)]
    return list(_slide(question_ids, _document_tokens(document), tokenizer, max_length, overlap))


def room_and_step(
    question: int,
    *,
    max_length: int = 384,
    overlap: int | None = None,
    special: int = BERT.special_tokens(2),
) -> tuple[int, int]:
    """How many tokens of a document fit beside a question of so many, and how far apart windows begin.

    `special` is the number of special tokens in a window.

    >>> room_and_step(2, max_length=384)
    (379, 251)
    """
    room = max_length - question - special
    if room < LEAST_ROOM:
        raise InputError(
            f"a question of {question} tokens leaves {max(room, 0)} of {max_length} for the "
            f"document; at least {LEAST_ROOM} are needed: shorten the question, or give a larger max_length"
        )
    if overlap is None:
        overlap = min(DEFAULT_OVERLAP, room // 2)
    if not 0 <= overlap <= room // 2:
        raise InputError(
            f"the overlap is {overlap}; allowed are 0 to {room // 2}, half of the {room} tokens that a "
            f"question of {question} leaves"
        )
    return room, room - overlap


def pad_windows(windows: Sequence[Window], tokenizer: Tokenizer, *, pad_to: int | None = None) -> Batch:
    """Windows as the arrays that models take, padded to the longest or to `pad_to`.

    >>> tokenizer = Tokenizer.load()
    >>> pad_windows(windows("Who?", "Ada Lovelace", tokenizer), tokenizer, pad_to=16).input_ids.shape
    (1, 16)
    """
    return pad(
        [window.input_ids for window in windows],
        [window.token_type_ids for window in windows],
        pad_id=tokenizer.pad_id,
        pad_to=pad_to,
        layout=tokenizer.layout,
    )


@dataclass(frozen=True)
class Frame:
    """What stands around every stretch of a document: the question and the special tokens."""

    head: tuple[int, ...]
    tail: tuple[int, ...]
    head_types: tuple[int, ...]
    tail_types: tuple[int, ...]
    document_type: int
    null_is_last: bool

    @classmethod
    def of(cls, question_ids: Sequence[int], tokenizer: Tokenizer) -> Frame:
        """Put the layout of a tokenizer round a question."""
        layout = tokenizer.layout
        before, between, after = map(tokenizer.marks, (layout.before, layout.between, layout.after_two))
        if layout.document == "second":
            head, tail = (*before, *question_ids, *between), tuple(after)
            types = layout.types(len(question_ids), 0)
        else:
            head, tail = tuple(before), (*between, *question_ids, *after)
            types = layout.types(0, len(question_ids))
        return cls(
            head,
            tail,
            head_types=tuple(types[: len(head)]),
            tail_types=tuple(types[len(head) :]),
            document_type=layout.second if layout.document == "second" else 0,
            null_is_last=layout.null(2) > 0,
        )

    def window(
        self, first: int, ids: Sequence[int], offsets: Iterable[tuple[int, int]], best: Iterable[bool]
    ) -> Window:
        """The window over the tokens of a document from number `first` on."""
        before, after = len(self.head), len(self.tail)
        length = before + len(ids) + after
        return Window(
            input_ids=(*self.head, *ids, *self.tail),
            attention_mask=(1,) * length,
            token_type_ids=(*self.head_types, *(self.document_type,) * len(ids), *self.tail_types),
            offsets=(*(None,) * before, *offsets, *(None,) * after),
            best=(*(False,) * before, *best, *(False,) * after),
            first_token=first,
            last_token=first + len(ids) - 1,
            document_start=before,
            null=length - 1 if self.null_is_last else 0,
        )


def _slide(
    question_ids: list[int],
    document: Iterable[Token],
    tokenizer: Tokenizer,
    max_length: int,
    overlap: int | None,
) -> Iterator[Window]:
    special = tokenizer.layout.special_tokens(2)
    room, step = room_and_step(len(question_ids), max_length=max_length, overlap=overlap, special=special)
    # Checked when called; the rest runs when the first window is asked for.
    return _generate(Frame.of(question_ids, tokenizer), iter(document), room, step)


def _generate(frame: Frame, document: Iterator[Token], room: int, step: int) -> Iterator[Window]:
    start = 0
    ahead = list(islice(document, room + step))  # this window and the next
    while True:
        stretch = ahead[:room]
        following = min(len(ahead) - step, room) if len(ahead) > room else 0
        yield frame.window(
            start,
            [token for token, _ in stretch],
            (offset for _, offset in stretch),
            most_context(len(stretch), following, room, step, start > 0),
        )
        if not following:
            return
        start += step
        ahead = ahead[step:]
        ahead += islice(document, step)


@lru_cache(maxsize=64)
def most_context(length: int, following: int, room: int, step: int, has_previous: bool) -> tuple[bool, ...]:
    """BERT's max-context rule for one window; ties go to the earlier window.

    With an overlap of at most half of the room only one neighbour holds a token too: the previous window, which
    is full, or the following one, which may be short.
    """

    def context(position: int, length: int) -> float:
        return min(position, length - 1 - position) + 0.01 * length

    return tuple(
        not (has_previous and place + step < room and context(place + step, room) >= context(place, length))
        and not (following and place >= step and context(place - step, following) > context(place, length))
        for place in range(length)
    )


def _document_tokens(encoding: Encoding) -> Iterator[Token]:
    rows = zip(encoding.ids, encoding.offsets, encoding.sequence_ids, strict=True)
    return ((token, offset) for token, offset, sequence in rows if sequence is not None)
