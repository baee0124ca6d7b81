"""The loop that reads: windows of one or many inquiries, in batches of like length, until done or out of time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pocketbert.errors import InputError
from pocketbert.runtime.batches import TOKENS, batches
from pocketbert.runtime.inquiry import Inquiry
from pocketbert.runtime.lanes import side_by_side
from pocketbert.runtime.options import Progress
from pocketbert.runtime.session import Session
from pocketbert.text.tokenizer import Tokenizer
from pocketbert.text.windows import Window, pad_windows

if TYPE_CHECKING:
    from pocketbert.runtime.session import Arrays

Row: TypeAlias = tuple[Inquiry, int, Window]  # an inquiry, the number of one of its windows, and the window

POOL = 128  # windows at once, out of which batches are put together


def read(
    inquiries: Sequence[Inquiry],
    session: Session,
    tokenizer: Tokenizer,
    *,
    until: float | None = None,
    progress: Progress | None = None,
) -> None:
    """Read until every inquiry is done, or until the time `until` of `time.monotonic`; one batch is always read."""
    total = sum(len(inquiry.plan) for inquiry in inquiries)
    active = [inquiry for inquiry in inquiries if not inquiry.done]
    while active:
        share = max(1, POOL // len(active))
        pool = [(inquiry, number) for inquiry in active[:POOL] for number in inquiry.take(share)]
        for rows, output in _outputs(pool, session, tokenizer):
            _hear(rows, output, session, tokenizer)
            if progress is not None:
                progress(sum(inquiry.windows_read for inquiry in inquiries), total)
            if until is not None and time.monotonic() >= until:
                return
        active = [inquiry for inquiry in active if not inquiry.done]


def _outputs(
    pool: Sequence[tuple[Inquiry, int]], session: Session, tokenizer: Tokenizer
) -> Iterator[tuple[list[Row], Arrays]]:
    """Batches of rows and what the model makes of them, in order; as many at once as the session has lanes."""
    lengths = [inquiry.plan.length(number) for inquiry, number in pool]
    tokens = min(TOKENS, -(-sum(lengths) // session.lanes))  # no lane stays empty
    parts = ([_row(*pool[place]) for place in places] for places in batches(lengths, tokens=tokens))
    lanes = 1 if len(pool) == 1 else session.lanes
    return side_by_side(parts, lambda rows: _run(rows, session, tokenizer), lanes)


def _row(inquiry: Inquiry, number: int) -> Row:
    return inquiry, number, inquiry.plan.window(number)


def _run(rows: Sequence[Row], session: Session, tokenizer: Tokenizer) -> Arrays:
    return session.run(**pad_windows([window for _, _, window in rows], tokenizer).arrays())


def _hear(rows: Sequence[Row], output: Arrays, session: Session, tokenizer: Tokenizer) -> None:
    starts, ends = output["start_logits"], output["end_logits"]  # (B, S)
    longest = max(len(window) for _, _, window in rows)
    if starts.shape != ends.shape or starts.shape != (len(rows), longest):
        raise InputError(
            f"{session.path} gave start logits of {starts.shape} and end logits of {ends.shape} for {len(rows)} "
            f"windows of {longest} tokens; a reader gives one of each per token"
        )
    for place, (inquiry, number, window) in enumerate(rows):
        part = tokenizer.layout.place(len(window), longest)
        inquiry.hear(number, window, starts[place, part], ends[place, part])
