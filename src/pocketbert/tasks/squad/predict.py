"""Run a reader over features: logits for every window, in batches of like length.

Shapes: B windows in a batch, S positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.tasks.squad.features import Feature

Logits = list[NDArray[np.float32]]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def collate(features: Sequence[Feature], *, pad_id: int = 0) -> dict[str, Tensor]:
    """Features as one padded batch, with the gold positions that they carry."""
    length = max(map(len, features))
    ids = torch.full((len(features), length), pad_id)
    mask = torch.zeros(len(features), length, dtype=torch.long)
    segments = torch.zeros(len(features), length, dtype=torch.long)
    pairs = [(feature, feature.layout.place(len(feature), length)) for feature in features]
    for row, (feature, place) in enumerate(pairs):
        ids[row, place] = torch.from_numpy(feature.input_ids.astype(np.int64))
        mask[row, place] = 1
        segments[row] = feature.layout.padding_type
        segments[row, place] = torch.from_numpy(feature.token_type_ids)
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": segments,
        "start_positions": torch.tensor([place.start + feature.start for feature, place in pairs]),
        "end_positions": torch.tensor([place.start + feature.end for feature, place in pairs]),
    }


class Runner(Protocol):
    """An exported model, such as a `Session`: arrays in, arrays out by name."""

    def run(
        self, input_ids: NDArray[Any], attention_mask: NDArray[Any], token_type_ids: NDArray[Any]
    ) -> Mapping[str, NDArray[Any]]:
        """All outputs for one padded batch."""


def predict(
    model: nn.Module | Runner,
    features: Sequence[Feature],
    *,
    pad_id: int = 0,
    batch_tokens: int = 4096,
    progress: Callable[[int], object] | None = None,
) -> tuple[Logits, Logits]:
    """Start and end logits of every window, without padding and in the order of the features.

    `model` is one of torch, or an exported one. `progress` is called with the number of windows that were just read.
    """
    starts: Logits = [np.empty(0, dtype=np.float32)] * len(features)
    ends: Logits = list(starts)
    with _reading(model) as read:
        for rows in _batches([len(feature) for feature in features], batch_tokens):
            for logits, kept in zip(
                read(collate([features[row] for row in rows], pad_id=pad_id)), (starts, ends), strict=True
            ):
                for place, row in enumerate(rows):
                    feature = features[row]
                    kept[row] = logits[place, feature.layout.place(len(feature), logits.shape[1])].copy()
            if progress is not None:
                progress(len(rows))
    return starts, ends


Read = Callable[[Mapping[str, Tensor]], tuple[NDArray[np.float32], NDArray[np.float32]]]


@contextmanager
def _reading(model: nn.Module | Runner) -> Iterator[Read]:
    """How a model reads a batch: start and end logits (B, S)."""
    if not isinstance(model, nn.Module):
        runner = model

        def run(batch: Mapping[str, Tensor]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            output = runner.run(*(batch[name].numpy() for name in INPUTS))
            return output["start_logits"], output["end_logits"]

        yield run
        return
    device = next(model.parameters()).device

    def forward(batch: Mapping[str, Tensor]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        output = model(*(batch[name].to(device) for name in INPUTS))
        return output.start_logits.float().cpu().numpy(), output.end_logits.float().cpu().numpy()

    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield forward
    finally:
        model.train(training)


def _batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Longest first, each batch as many windows as fit into the budget, padding included."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    batches: list[list[int]] = []
    for row in order:
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= batch_tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches
