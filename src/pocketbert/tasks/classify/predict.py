"""Run a classifier over features: a row of logits for every text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.tasks.classify.features import Feature
from pocketbert.tasks.predict import Runner, batches, padded, reading


def collate(features: Sequence[Feature], *, pad_id: int = 0) -> dict[str, Tensor]:
    """Features as one padded batch, with `labels` where they have them."""
    tensors, _ = padded(features, pad_id=pad_id)
    labels = [feature.label for feature in features if feature.label is not None]
    if labels:
        tensors["labels"] = torch.from_numpy(np.stack(labels))
    return tensors


def predict(
    model: nn.Module | Runner,
    features: Sequence[Feature],
    *,
    pad_id: int = 0,
    batch_tokens: int = 4096,
    progress: Callable[[int], object] | None = None,
) -> NDArray[np.float32]:
    """The logits of every text (N, labels), in the order of the features."""
    rows: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(features)
    with reading(model, ("logits",)) as read:
        for numbers in batches([len(feature) for feature in features], batch_tokens):
            batch, _ = padded([features[number] for number in numbers], pad_id=pad_id)
            for number, logits in zip(numbers, read(batch)[0], strict=True):
                rows[number] = logits.copy()
            if progress is not None:
                progress(len(numbers))
    return np.stack(rows)
