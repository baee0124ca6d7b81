"""Run a reader over features: logits for every window, in batches of like length.

Shapes: B windows in a batch, S positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.tasks.squad.features import Feature

Logits = list[NDArray[np.float32]]


def collate(features: Sequence[Feature], *, pad_id: int = 0) -> dict[str, Tensor]:
    """Features as one padded batch, with the gold positions that they carry."""
    length = max(map(len, features))
    ids = torch.full((len(features), length), pad_id)
    mask = torch.zeros(len(features), length, dtype=torch.long)
    segments = torch.zeros(len(features), length, dtype=torch.long)
    for row, feature in enumerate(features):
        size = len(feature)
        ids[row, :size] = torch.from_numpy(feature.input_ids.astype(np.int64))
        mask[row, :size] = 1
        segments[row, feature.document_start : size] = 1
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": segments,
        "start_positions": torch.tensor([feature.start for feature in features]),
        "end_positions": torch.tensor([feature.end for feature in features]),
    }


def predict(
    model: nn.Module,
    features: Sequence[Feature],
    *,
    pad_id: int = 0,
    batch_tokens: int = 4096,
    progress: Callable[[int], object] | None = None,
) -> tuple[Logits, Logits]:
    """Start and end logits of every window, without padding and in the order of the features.

    `progress` is called with the number of windows that were just read.
    """
    device = next(model.parameters()).device
    starts: Logits = [np.empty(0, dtype=np.float32)] * len(features)
    ends: Logits = list(starts)
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            for rows in _batches([len(feature) for feature in features], batch_tokens):
                batch = collate([features[row] for row in rows], pad_id=pad_id)
                output = model(
                    batch["input_ids"].to(device),
                    batch["attention_mask"].to(device),
                    batch["token_type_ids"].to(device),
                )
                for logits, kept in ((output.start_logits, starts), (output.end_logits, ends)):
                    values = logits.float().cpu().numpy()  # (B, S)
                    for place, row in enumerate(rows):
                        kept[row] = values[place, : len(features[row])].copy()
                if progress is not None:
                    progress(len(rows))
    finally:
        model.train(training)
    return starts, ends


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
