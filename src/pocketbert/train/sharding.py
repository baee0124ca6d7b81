"""Models that are cut into shards over the processes of a run: torch's FSDP, block by block.

Each process keeps a part of every weight, gradient and moment, and gathers a block's weights while it runs. Checkpoints
hold whole tensors all the same, so a run may go on with another way of sharing.
"""

from __future__ import annotations

import copy
import re

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

_BLOCK = re.compile(r"(?:^|\.)encoder\.blocks\.\d+$")


def sharded(model: nn.Module, device: torch.device) -> nn.Module:
    """A copy of a model, cut into shards; the model itself stays whole, to be evaluated and kept."""
    copied = copy.deepcopy(model).to(device)
    for name, part in copied.named_modules():
        if _BLOCK.search(name):
            fully_shard(part)
    fully_shard(copied)
    return copied


def whole(tensor: Tensor) -> Tensor:
    """The whole of a tensor, gathered from all processes; every process must ask."""
    gathered: Tensor = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return gathered


def like(tensor: Tensor, pattern: Tensor) -> Tensor:
    """A whole tensor, cut as another one is; every process has the whole and keeps its part."""
    if not isinstance(pattern, DTensor) or not tensor.ndim:
        return tensor
    cut: Tensor = distribute_tensor(tensor.to(pattern.device), pattern.device_mesh, pattern.placements)
    return cut
