"""What the linear layers of a model read: measured on texts, because weights alone do not tell how large inputs get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

SAMPLE = 256
"""Rows of each input that are kept, spread over all texts."""


@dataclass
class Inputs:
    """The inputs of one linear layer: the range of each channel, their second moments, and some rows as they were."""

    least: Tensor  # (K,)
    most: Tensor  # (K,)
    moments: Tensor  # (K, K): the mean of x xᵀ
    sample: Tensor  # (rows, K)
    peaks: Tensor  # (texts, K): the largest size of each channel in each text

    @property
    def reach(self) -> Tensor:
        """The largest size of each channel."""
        return torch.maximum(self.most, -self.least)


def measure(model: nn.Module, batches: Iterable[Mapping[str, Tensor]]) -> dict[str, Inputs]:
    """Run texts through a model and note what each linear layer reads, by the layer's name.

    Texts should come one by one, or without padding: what stands at padding is nobody's business.
    """
    gatherers = {
        name: _Gatherer(part.in_features)
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear)
    }
    hooks = [
        model.get_submodule(name).register_forward_pre_hook(gather) for name, gather in gatherers.items()
    ]
    try:
        with torch.no_grad():
            for batch in batches:
                model(**batch)
    finally:
        for hook in hooks:
            hook.remove()
    return {name: gatherer.result() for name, gatherer in gatherers.items() if gatherer.rows}


class _Gatherer:
    def __init__(self, width: int) -> None:
        self.rows = 0
        self.least = torch.full((width,), torch.inf)
        self.most = torch.full((width,), -torch.inf)
        self.moments = torch.zeros(width, width, dtype=torch.float64)
        self.kept: list[Tensor] = []
        self.peaks: list[Tensor] = []

    def __call__(self, _layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        x = inputs[0].detach().flatten(0, -2).float()  # (rows, K)
        self.rows += len(x)
        self.least = torch.minimum(self.least, x.amin(0))
        self.most = torch.maximum(self.most, x.amax(0))
        # In place: large matrices that come and go between the small rows that stay would leave gaps too small for the
        # next one, and an encoder of 23 million parameters take 20 GB.
        wide = x.double()
        self.moments.addmm_(wide.T, wide)
        self.kept.append(x[:: max(1, len(x) // 16)].clone())
        self.peaks.append(x.abs().amax(0))

    def result(self) -> Inputs:
        rows = torch.cat(self.kept)
        sample = rows[:: max(1, len(rows) // SAMPLE)]
        return Inputs(self.least, self.most, self.moments / self.rows, sample, torch.stack(self.peaks))
