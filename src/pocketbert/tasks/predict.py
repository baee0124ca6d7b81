"""Run a model over rows of tokens, in batches of like length: what every task shares. The tasks know the rows.

Shapes: B rows in a batch, S positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.text.layout import Layout

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
Read = Callable[[Mapping[str, Tensor]], tuple[NDArray[np.float32], ...]]


class TokenRow(Protocol):
    """A row of tokens as a task's features hold it."""

    @property
    def input_ids(self) -> NDArray[np.int32]:
        """The tokens."""

    @property
    def token_type_ids(self) -> NDArray[Any]:
        """Their segments."""

    @property
    def layout(self) -> Layout:
        """How rows are padded."""

    def __len__(self) -> int: ...


class Runner(Protocol):
    """An exported model, such as a `Session`: arrays in, arrays out by name."""

    def run(
        self, input_ids: NDArray[Any], attention_mask: NDArray[Any], token_type_ids: NDArray[Any]
    ) -> Mapping[str, NDArray[Any]]:
        """All outputs for one padded batch."""


def padded(rows: Sequence[TokenRow], *, pad_id: int = 0) -> tuple[dict[str, Tensor], list[slice]]:
    """Rows as one padded batch, and where each of them stands in it."""
    length = max(map(len, rows))
    ids = torch.full((len(rows), length), pad_id)
    mask = torch.zeros(len(rows), length, dtype=torch.long)
    segments = torch.zeros(len(rows), length, dtype=torch.long)
    places = [row.layout.place(len(row), length) for row in rows]
    for number, (row, place) in enumerate(zip(rows, places, strict=True)):
        ids[number, place] = torch.from_numpy(row.input_ids.astype(np.int64))
        mask[number, place] = 1
        segments[number] = row.layout.padding_type
        segments[number, place] = torch.from_numpy(row.token_type_ids.astype(np.int64))
    return dict(zip(INPUTS, (ids, mask, segments), strict=True)), places


@contextmanager
def reading(model: nn.Module | Runner, outputs: Sequence[str]) -> Iterator[Read]:
    """How a model of torch, or an exported one, reads a batch: its outputs of these names."""
    if not isinstance(model, nn.Module):
        runner = model

        def run(batch: Mapping[str, Tensor]) -> tuple[NDArray[np.float32], ...]:
            found = runner.run(*(batch[name].numpy() for name in INPUTS))
            return tuple(found[name] for name in outputs)

        yield run
        return
    device = next(model.parameters()).device

    def forward(batch: Mapping[str, Tensor]) -> tuple[NDArray[np.float32], ...]:
        found = model(*(batch[name].to(device) for name in INPUTS))
        return tuple(getattr(found, name).float().cpu().numpy() for name in outputs)

    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield forward
    finally:
        model.train(training)


def batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Longest first, each batch as many rows as fit into the budget, padding included."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    found: list[list[int]] = []
    for row in order:
        if found and lengths[found[-1][0]] * (len(found[-1]) + 1) <= batch_tokens:
            found[-1].append(row)
        else:
            found.append([row])
    return found
