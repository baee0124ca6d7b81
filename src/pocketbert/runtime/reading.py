"""The loop that reads: windows of one or many inquiries, in batches of like length, until done or out of time."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pocketbert.errors import InputError
from pocketbert.runtime.batches import batches
from pocketbert.runtime.inquiry import Inquiry
from pocketbert.runtime.options import Progress
from pocketbert.runtime.session import Session
from pocketbert.text.tokenizer import Tokenizer
from pocketbert.text.windows import pad_windows

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
        for rows in batches([inquiry.plan.length(number) for inquiry, number in pool]):
            _read_batch([pool[row] for row in rows], session, tokenizer)
            if progress is not None:
                progress(sum(inquiry.windows_read for inquiry in inquiries), total)
            if until is not None and time.monotonic() >= until:
                return
        active = [inquiry for inquiry in active if not inquiry.done]


def _read_batch(rows: Sequence[tuple[Inquiry, int]], session: Session, tokenizer: Tokenizer) -> None:
    windows = [inquiry.plan.window(number) for inquiry, number in rows]
    output = session.run(**pad_windows(windows, tokenizer).arrays())
    starts, ends = output["start_logits"], output["end_logits"]  # (B, S)
    if starts.shape != ends.shape or starts.shape != (len(windows), max(map(len, windows))):
        raise InputError(
            f"{session.path} gave start logits of {starts.shape} and end logits of {ends.shape} for {len(windows)} "
            f"windows of {max(map(len, windows))} tokens; a reader gives one of each per token"
        )
    for row, ((inquiry, number), window) in enumerate(zip(rows, windows, strict=True)):
        place = tokenizer.layout.place(len(window), starts.shape[1])
        inquiry.hear(number, window, starts[row, place], ends[row, place])
