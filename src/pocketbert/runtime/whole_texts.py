"""What a model says of every token of texts of any length: read in windows that overlap, put together again.

What is kept of a token is from the window that gives it the most context on its poorer side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError, check_count
from pocketbert.runtime.documents import Document, stretches
from pocketbert.runtime.rows import Row, per_token
from pocketbert.runtime.session import Session
from pocketbert.text.tokenizer import Tokenizer

Progress = Callable[[int, int], object]
"""Called with the windows read so far and the windows there are."""

LEAST_ROOM = 8  # tokens of the text in a window; with fewer there is nothing to understand


def room_of(
    tokenizer: Tokenizer, window: int, overlap: int | None, *, positions: int | None
) -> tuple[int, int]:
    """Room and step of windows of so many tokens, special ones included, of which neighbours share `overlap`.

    None is a quarter of the room. More than half of it cannot be shared, so that no token is read more than twice.

    >>> room_of(Tokenizer.load(), 128, None, positions=512)
    (126, 95)
    """
    check_count("window", window)
    if positions is not None and window > positions:
        raise InputError(f"window is {window}; this model reads at most {positions} tokens at once")
    special = tokenizer.layout.special_tokens(1)
    room = window - special
    if room < LEAST_ROOM:
        raise InputError(f"window is {window}; it must be {LEAST_ROOM + special} tokens or more")
    if overlap is None:
        overlap = room // 4
    check_count("overlap", overlap, least=0)
    if overlap > room // 2:
        raise InputError(
            f"overlap is {overlap}; allowed are 0 to {room // 2}, half of the {room} tokens in a window"
        )
    return room, room - overlap


def read_tokens(
    documents: Sequence[Document],
    session: Session,
    tokenizer: Tokenizer,
    output: str,
    *,
    room: int,
    step: int,
    progress: Progress | None = None,
) -> list[NDArray[np.float32]]:
    """An output of the model for each token of each text, (T, W); W is 0 for a text without tokens."""
    plan = [
        part
        for number, document in enumerate(documents)
        if len(document)
        for part in stretches(len(document), room, step, document=number)
    ]
    rows = [Row.of(documents[part.document].ids[part.first : part.last].tolist(), tokenizer) for part in plan]
    before = len(tokenizer.layout.before)
    found: dict[int, NDArray[np.float32]] = {}
    for count, (number, values) in enumerate(per_token(rows, session, tokenizer, output), start=1):
        part = plan[number]
        size = (len(documents[part.document]), values.shape[1])
        held = found.setdefault(part.document, np.zeros(size, dtype=np.float32))
        best = np.flatnonzero(part.best)
        held[part.first + best] = values[before + best]
        if progress is not None:
            progress(count, len(plan))
    nothing = np.zeros((0, 0), dtype=np.float32)
    return [found.get(number, nothing) for number in range(len(documents))]
