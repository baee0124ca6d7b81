"""`pipeline("token-classification")`, also called "ner", as transformers has it.

One thing differs: a text that is longer than the model reads at once is not cut, but read in windows that overlap.

Shapes: T tokens of a text, L labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError, check_count
from pocketbert.runtime.documents import Document
from pocketbert.runtime.inputs import AHEAD, is_list, text_of
from pocketbert.runtime.pipelines.aggregation import Piece, grouped, one_by_one, without_overlaps
from pocketbert.runtime.pipelines.arguments import answered, made_of
from pocketbert.runtime.tags import Tagger
from pocketbert.runtime.whole_texts import room_of
from pocketbert.text.label_config import shares
from pocketbert.text.tokenizer import Tokenizer

TASK = "token-classification"
Strategy = Literal["none", "simple", "first", "average", "max"]
Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Arguments:
    """What the pipeline can be told with each call."""

    aggregation_strategy: Strategy = "none"
    """Tokens by themselves, or joined: "simple" by their own tags, the others after all tokens of a word agreed on the
    tag of its first, of the mean of its scores, or of the token that is the surest."""
    ignore_labels: Sequence[str] | None = None
    """Tags, or labels of groups, that are left out; None: "O"."""
    stride: int | None = None
    """Tokens that neighbouring windows share; entities are then joined in each window, of which the longest stay."""
    is_split_into_words: bool = False
    """Whether inputs are lists of words."""
    delimiter: str | None = None
    """What stands between the words in the text that places refer to; None is a blank."""
    batch_size: int = 1
    """Without effect: batches are made by length here."""

    def __post_init__(self) -> None:
        name = self.aggregation_strategy
        if not isinstance(name, str) or name.lower() not in get_args(Strategy):
            allowed = ", ".join(map(repr, get_args(Strategy)))
            raise InputError(f"aggregation_strategy is {name!r}; allowed are {allowed}")
        if self.ignore_labels is not None and not is_list(self.ignore_labels):
            raise InputError(f"ignore_labels is {self.ignore_labels!r}; it must be a list of labels")
        if self.stride is not None:
            check_count("stride", self.stride, least=0)
            if self.strategy == "none":
                raise InputError(
                    "stride joins entities of windows; give an aggregation_strategy, such as 'simple'"
                )
        if not isinstance(self.is_split_into_words, bool):
            raise InputError(f"is_split_into_words is {self.is_split_into_words!r}; it must be True or False")
        if self.delimiter is not None and not isinstance(self.delimiter, str):
            raise InputError(f"delimiter is {self.delimiter!r}; it must be a text")
        check_count("batch_size", self.batch_size)

    @property
    def strategy(self) -> str:
        return self.aggregation_strategy.lower()


class TokenClassificationPipeline:
    """Call it with a text or a list of texts.

    A text gives a list of {"entity", "score", "index", "word", "start", "end"}, one for each token whose tag is not O;
    joined ones are {"entity_group", "score", "word", "start", "end"}. The scores are the model's bare softmax, equal to
    those of transformers; `Tagger` has calibrated ones.
    """

    task = TASK

    def __init__(self, tagger: Tagger, **defaults: Any) -> None:
        self.tagger = tagger
        self._defaults = defaults
        made_of(Arguments, defaults)

    def __call__(self, inputs: Any, **arguments: Any) -> Any:
        """Tag; a generator of inputs is answered by a generator."""
        chosen = made_of(Arguments, self._defaults | arguments)
        if chosen.is_split_into_words and is_list(inputs) and not all(is_list(entry) for entry in inputs):
            inputs = [inputs]
        return answered(inputs, lambda stream: self._tagged(stream, chosen))

    def _tagged(self, stream: Iterator[Any], chosen: Arguments) -> Iterator[Rows]:
        while documents := [self._document(entry, chosen) for entry in islice(stream, AHEAD)]:
            if chosen.stride is not None:
                yield from (self._in_windows(document, chosen) for document in documents)
                continue
            window = self.tagger.positions or max(len(document) for document in documents) + 16
            room, step = room_of(self.tagger.tokenizer, window, None, positions=self.tagger.positions)
            logits = self.tagger.logits(documents, room=room, step=step)
            for document, rows in zip(documents, logits, strict=True):
                yield self._entities(document, rows, chosen)

    def _document(self, entry: object, chosen: Arguments) -> Document:
        tokenizer = self.tagger.tokenizer
        if not chosen.is_split_into_words:
            return Document.of(text_of(entry), tokenizer)
        if not is_list(entry) or not entry:
            raise InputError(
                "is_split_into_words is given, so every input must be a list of at least one word"
            )
        words = [text_of(word, "a word") for word in entry]
        return _joined(words, " " if chosen.delimiter is None else chosen.delimiter, tokenizer)

    def _in_windows(self, document: Document, chosen: Arguments) -> Rows:
        """Entities of each window, and of those that overlap the longest, then the surest."""
        tokenizer, stride = self.tagger.tokenizer, chosen.stride or 0
        room = (self.tagger.positions or len(document) + 16) - tokenizer.layout.special_tokens(1)
        if stride >= room:
            raise InputError(
                f"stride is {stride}; it must be less than the {room} tokens that fit into a window"
            )
        found: Rows = []
        starts = list(range(0, max(len(document) - stride, 1), room - stride))
        for start in starts:
            part = slice(start, start + room)
            piece = Document(
                document.text, document.ids[part], document.starts[part], document.ends[part], tokenizer
            )
            (rows,) = self.tagger.logits([piece], room=room, step=room)
            found += self._entities(piece, rows, chosen)
        return without_overlaps(found) if len(starts) > 1 else found

    def _entities(self, document: Document, logits: NDArray[np.float32], chosen: Arguments) -> Rows:
        tokenizer, labels = self.tagger.tokenizer, self.tagger.labels
        pieces = _pieces(document, shares(logits) if len(logits) else logits, tokenizer)
        if chosen.strategy == "none":
            rows = one_by_one(pieces, labels)
        else:
            rows = grouped(pieces, labels, chosen.strategy, tokenizer.join)
        ignored = ["O"] if chosen.ignore_labels is None else list(chosen.ignore_labels)
        return [row for row in rows if row.get("entity", row.get("entity_group")) not in ignored]


def _pieces(document: Document, scores: NDArray[np.floating], tokenizer: Tokenizer) -> list[Piece]:
    first = len(tokenizer.layout.before)
    found = []
    for number, (token, start, end) in enumerate(
        zip(document.ids.tolist(), document.starts.tolist(), document.ends.tolist(), strict=True)
    ):
        word, written = tokenizer.token(token), document.text[start:end]
        if tokenizer.prefix:
            inside = len(word) != len(written)  # "##ing" is longer than what it stands for
        else:
            inside = start > 0 and " " not in document.text[start - 1 : start + 1]
        if token == tokenizer.unk_id:
            word, inside = written, False
        found.append(Piece(word, scores[number], start, end, first + number, inside))
    return found


def _joined(words: Sequence[str], delimiter: str, tokenizer: Tokenizer) -> Document:
    """Words that were told apart already: each is cut into tokens by itself."""
    columns: list[tuple[int, int, int]] = []
    begin = 0
    for word in words:
        columns += [(token, begin + start, begin + end) for token, (start, end) in tokenizer.stream(word)]
        begin += len(word) + len(delimiter)
    ids, starts, ends = np.array(columns, dtype=np.int32).reshape(-1, 3).T
    return Document(delimiter.join(words), ids, starts, ends, tokenizer)
