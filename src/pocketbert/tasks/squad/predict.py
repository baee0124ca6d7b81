"""Run a reader over features: logits for every window, in batches of like length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.tasks.predict import Runner, batches, padded, reading
from pocketbert.tasks.squad.features import Feature

Logits = list[NDArray[np.float32]]


def collate(features: Sequence[Feature], *, pad_id: int = 0) -> dict[str, Tensor]:
    """Features as one padded batch, with the gold positions that they carry."""
    tensors, places = padded(features, pad_id=pad_id)
    pairs = list(zip(features, places, strict=True))
    return tensors | {
        "start_positions": torch.tensor([place.start + feature.start for feature, place in pairs]),
        "end_positions": torch.tensor([place.start + feature.end for feature, place in pairs]),
    }


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
    with reading(model, ("start_logits", "end_logits")) as read:
        for rows in batches([len(feature) for feature in features], batch_tokens):
            batch, places = padded([features[row] for row in rows], pad_id=pad_id)
            for logits, kept in zip(read(batch), (starts, ends), strict=True):
                for number, (row, place) in enumerate(zip(rows, places, strict=True)):
                    kept[row] = logits[number, place].copy()
            if progress is not None:
                progress(len(rows))
    return starts, ends
