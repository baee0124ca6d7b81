"""Tensors into a module: everything fits, or nothing is touched and all that does not fit is listed."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from pocketbert.checkpoint.files import shown
from pocketbert.errors import CheckpointError

MOST_LISTED = 20


def fill(module: nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
    """Copy tensors into a module's parameters and buffers by name, strictly.

    Floats are cast to the module's own dtype. Of tied parameters one name is enough; where several are given
    they must agree.
    """
    targets: dict[str, torch.Tensor] = module.state_dict(keep_vars=True)
    problems = _missing(targets, tensors)
    problems += [f"unexpected: {shown(name)}" for name in tensors if name not in targets]
    shared = [(name, tensor) for name, tensor in tensors.items() if name in targets]
    problems += [problem for name, tensor in shared if (problem := _misfit(name, targets[name], tensor))]
    problems += _disagreeing(targets, tensors)
    if problems:
        listed = "\n  ".join(problems[:MOST_LISTED])
        more = f"\n  and {len(problems) - MOST_LISTED} more" if len(problems) > MOST_LISTED else ""
        raise CheckpointError(f"the weights do not fit {type(module).__name__}:\n  {listed}{more}")
    with torch.no_grad():
        for name, tensor in shared:
            targets[name].copy_(tensor)


def _missing(targets: Mapping[str, torch.Tensor], tensors: Mapping[str, torch.Tensor]) -> list[str]:
    given = {id(target) for name, target in targets.items() if name in tensors}
    return [
        f"missing: {name!r} {tuple(target.shape)}"
        for name, target in targets.items()
        if id(target) not in given
    ]


def _misfit(name: str, target: torch.Tensor, tensor: torch.Tensor) -> str | None:
    if target.shape != tensor.shape:
        return f"wrong shape: {name!r} is {tuple(tensor.shape)}, expected {tuple(target.shape)}"
    if target.dtype != tensor.dtype and not (target.is_floating_point() and tensor.is_floating_point()):
        return f"wrong dtype: {name!r} is {tensor.dtype}, expected {target.dtype}"
    if target.is_meta or tensor.is_meta:
        return f"no memory: {name!r} is on the meta device; call module.to_empty(device=...) first"
    return None


def _disagreeing(targets: Mapping[str, torch.Tensor], tensors: Mapping[str, torch.Tensor]) -> list[str]:
    first: dict[int, str] = {}
    problems = []
    for name in targets:
        if name in tensors:
            other = first.setdefault(id(targets[name]), name)
            if other != name and not torch.equal(tensors[other], tensors[name]):
                problems.append(f"tied but different: {other!r} and {name!r}")
    return problems
