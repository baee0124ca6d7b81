"""Windows over one text without a question: how many of its tokens are in one, and how far apart they begin."""

from __future__ import annotations

from pocketbert.errors import InputError
from pocketbert.runtime.inputs import check_count
from pocketbert.text.tokenizer import Tokenizer

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
