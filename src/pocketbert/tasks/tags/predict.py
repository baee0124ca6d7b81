"""Run a tagger over features: logits for every word that a window tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.tasks.predict import Runner, batches, padded, reading
from pocketbert.tasks.tags.features import IGNORED, Feature

Logits = list[NDArray[np.float32]]


def collate(features: Sequence[Feature], *, pad_id: int = 0) -> dict[str, Tensor]:
    """Features as one padded batch, with `labels` (B, S) where they have tags."""
    tensors, places = padded(features, pad_id=pad_id)
    labels = torch.full_like(tensors["input_ids"], IGNORED)
    known = False
    for row, (feature, place) in enumerate(zip(features, places, strict=True)):
        if feature.tags is not None:
            known = True
            positions = torch.from_numpy(feature.positions.astype(np.int64)) + place.start
            labels[row, positions] = torch.from_numpy(feature.tags.astype(np.int64))
    return tensors | ({"labels": labels} if known else {})


def predict(
    model: nn.Module | Runner,
    features: Sequence[Feature],
    *,
    pad_id: int = 0,
    batch_tokens: int = 4096,
    progress: Callable[[int], object] | None = None,
) -> Logits:
    """The logits (W, labels) of the words of every window, in the order of the features."""
    kept: Logits = [np.empty(0, dtype=np.float32)] * len(features)
    with reading(model, ("logits",)) as read:
        for rows in batches([len(feature) for feature in features], batch_tokens):
            batch, places = padded([features[row] for row in rows], pad_id=pad_id)
            (logits,) = read(batch)
            for number, (row, place) in enumerate(zip(rows, places, strict=True)):
                kept[row] = logits[number, place.start + features[row].positions].copy()
            if progress is not None:
                progress(len(rows))
    return kept
