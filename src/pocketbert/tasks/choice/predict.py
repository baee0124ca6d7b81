"""Run a model over choices: a score for every candidate. B choices, C candidates each, S positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.tasks.choice.examples import Feature
from pocketbert.tasks.predict import Runner, batches, padded, reading


def collate(features: Sequence[Feature], *, pad_id: int = 0) -> dict[str, Tensor]:
    """Features as one padded batch (B, C, S), with `labels` (B)."""
    tensors, _ = padded([row for feature in features for row in feature.rows], pad_id=pad_id)
    batch = {name: value.view(len(features), -1, value.shape[1]) for name, value in tensors.items()}
    return batch | {"labels": torch.tensor([feature.label for feature in features])}


def predict(
    model: nn.Module | Runner,
    features: Sequence[Feature],
    *,
    pad_id: int = 0,
    batch_tokens: int = 4096,
    progress: Callable[[int], object] | None = None,
) -> NDArray[np.float32]:
    """The logits of every candidate (N, C), in the order of the features."""
    kept: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(features)
    with reading(model, ("logits",)) as read:
        for numbers in batches([len(feature) for feature in features], batch_tokens):
            batch = collate([features[number] for number in numbers], pad_id=pad_id)
            for number, logits in zip(numbers, read(batch)[0], strict=True):
                kept[number] = logits.copy()
            if progress is not None:
                progress(len(numbers))
    return np.stack(kept)
