"""What a tokenizer returns: one text as an `Encoding`, many as a padded `Batch`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketbert.errors import InputError
from pocketbert.text.layout import BERT, Layout

if TYPE_CHECKING:  # numpy takes longer to import than all of this package
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Encoding:
    """One text, or a pair of texts, as tokens; every field but the last has one entry per token.

    >>> encoding = Tokenizer.load().encode("Ünlü!")
    >>> encoding.tokens, encoding.offsets
    (('[CLS]', 'un', '##lu', '!', '[SEP]'), ((0, 0), (0, 2), (2, 4), (4, 5), (0, 0)))
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    type_ids: tuple[int, ...]
    """0 in the first text and its special tokens, 1 in the second; RoBERTa has only 0, XLNet 2 at the end."""
    attention_mask: tuple[int, ...]
    """All ones: padding is the batch's business."""
    offsets: tuple[tuple[int, int], ...]
    """Start and end in the original text of that sequence, in code points; (0, 0) for special tokens."""
    sequence_ids: tuple[int | None, ...]
    """Which text a token is from, 0 or 1; None for special tokens."""
    word_ids: tuple[int | None, ...]
    """Which word of its text a token is from; None for special tokens."""
    truncated: int = 0
    """How many tokens were cut to keep to the maximum length; 0 says that all of the text is here."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Batch:
    """Encodings padded to one length, as the int64 arrays that models take.

    >>> batch = Tokenizer.load().encode_batch(["short", "a little longer"])
    >>> batch.input_ids.tolist()
    [[101, 2460, 102, 0, 0], [101, 1037, 2210, 2936, 102]]
    """

    input_ids: NDArray[np.int64]  # (B, S)
    attention_mask: NDArray[np.int64]  # (B, S)
    token_type_ids: NDArray[np.int64]  # (B, S)
    encodings: tuple[Encoding, ...] = ()

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def truncated(self) -> int:
        """How many tokens were cut in the whole batch."""
        return sum(encoding.truncated for encoding in self.encodings)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """The three arrays under the names that models and ONNX files give their inputs."""
        return {
            "input_ids": self.input_ids,
            "attention_mask": self.attention_mask,
            "token_type_ids": self.token_type_ids,
        }


def pad(
    ids: Sequence[Sequence[int]],
    type_ids: Sequence[Sequence[int]],
    *,
    pad_id: int,
    pad_to: int | None = None,
    layout: Layout = BERT,
    encodings: Sequence[Encoding] = (),
) -> Batch:
    """Pad rows on the side that the layout says, to the longest of them or to `pad_to`."""
    import numpy as np

    longest = max(map(len, ids), default=0)
    width = longest if pad_to is None else pad_to
    if width < longest:
        raise InputError(
            f"pad_to is {pad_to}, but the longest row has {longest} tokens; "
            f"give at least {longest}, or a max_length of {pad_to}"
        )
    shape = (len(ids), width)
    batch = Batch(
        input_ids=np.full(shape, pad_id, dtype=np.int64),
        attention_mask=np.zeros(shape, dtype=np.int64),
        token_type_ids=np.full(shape, layout.padding_type, dtype=np.int64),
        encodings=tuple(encodings),
    )
    for row, (row_ids, row_type_ids) in enumerate(zip(ids, type_ids, strict=True)):
        place = layout.place(len(row_ids), width)
        batch.input_ids[row, place] = row_ids
        batch.attention_mask[row, place] = 1
        batch.token_type_ids[row, place] = row_type_ids
    return batch
