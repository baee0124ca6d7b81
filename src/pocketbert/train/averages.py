"""Averages of the weights along a run, which often score better than its last step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from pocketbert.train.state import Checkpoint, discard, read_folder, write_folder


class MovingAverage:
    """An exponential moving average of the trained weights."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Begin with the weights as they are."""
        self.decay = decay
        self._live = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.weights = {name: weight.detach().clone() for name, weight in self._live.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step; the first steps count more, so the start is soon forgotten."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.weights.values()), list(self._live.values()), 1 - decay)

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Continue from saved weights."""
        for name, weight in self.weights.items():
            weight.copy_(weights[name])

    def swap(self) -> None:
        """Exchange the model's weights and the averaged ones; a second time undoes it."""
        for name, weight in self._live.items():
            self.weights[name], weight.data = weight.data, self.weights[name]


class Snapshots:
    """The weights of the last few marks of a run, on disk, and their mean."""

    def __init__(self, folder: Path, keep: int) -> None:
        """Keep `keep` snapshots in the folder."""
        self.folder, self.keep = folder, keep

    def take(self, step: int, weights: Mapping[str, Tensor]) -> None:
        """Add the weights of a step and drop the oldest."""
        write_folder(self.folder / f"step-{step}", Checkpoint({"model": weights}, {"step": step}))
        for _, path in self._found()[: -self.keep]:
            discard(path)

    def rewind(self, step: int) -> None:
        """Forget what a run did after the step it resumes at."""
        for taken, path in self._found():
            if taken > step:
                discard(path)

    def mean(self) -> dict[str, Tensor]:
        """The mean of the snapshots; empty if there are fewer than two."""
        found = self._found()
        if len(found) < 2:
            return {}
        total: dict[str, Tensor] = {}
        for _, path in found:
            for name, weight in read_folder(path).tensors["model"].items():
                total[name] = total[name] + weight.double() if name in total else weight.double()
        first = read_folder(found[-1][1]).tensors["model"]
        return {
            name: (total[name] / len(found)).to(weight.dtype) if weight.is_floating_point() else weight
            for name, weight in first.items()
        }

    def _found(self) -> list[tuple[int, Path]]:
        found = [(int(path.name.removeprefix("step-")), path) for path in self.folder.glob("step-*")]
        return sorted(found)
