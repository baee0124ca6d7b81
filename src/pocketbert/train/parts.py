"""Which part of a model a weight belongs to: embeddings, a block, the head, or a projection; for rates and freezing."""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from pocketbert.errors import InputError
from pocketbert.train.settings import LoopSettings

_BLOCK = re.compile(r"(?:^|\.)encoder\.blocks\.(\d+)\.")
_PROJECTION = re.compile(r"^projection\.")
_EMBEDDINGS = re.compile(r"(?:^|\.)encoder\.embeddings\.")


def part_of(name: str) -> str:
    """`embeddings`, `block.N`, `head` for all that lies above the blocks, or `projection` for what a lesson adds."""
    block = _BLOCK.search(name)
    if block:
        return f"block.{block.group(1)}"
    if _PROJECTION.search(name):
        return "projection"
    return "embeddings" if _EMBEDDINGS.search(name) else "head"


def count_blocks(model: nn.Module) -> int:
    """How many blocks the encoder has; 0 for a model without one."""
    found = (_BLOCK.search(name) for name, _ in model.named_parameters())
    return max((int(match.group(1)) + 1 for match in found if match), default=0)


def layer_factor(part: str, *, decay: float, blocks: int) -> float:
    """The layer-wise factor on the rate: 1 for the head, `decay` for the top block, and so on downwards."""
    if part in ("head", "projection"):
        return 1.0
    if part == "embeddings":
        return float(decay ** (blocks + 1))
    return float(decay ** (blocks - int(part.removeprefix("block."))))


def freeze(model: nn.Module, settings: LoopSettings) -> None:
    """Stop the gradients of what the settings freeze."""
    blocks = count_blocks(model)
    if settings.freeze_layers > blocks:
        raise InputError(f"freeze_layers = {settings.freeze_layers}, but the encoder has {blocks} blocks")
    frozen_parts = {f"block.{block}" for block in range(settings.freeze_layers)}
    if settings.freeze_embeddings:
        frozen_parts.add("embeddings")
    frozen = [
        weight
        for name, weight in model.named_parameters()
        if weight.requires_grad and part_of(name) in frozen_parts
    ]
    if settings.freeze_embeddings and not any(
        part_of(name) == "embeddings" for name, _ in model.named_parameters()
    ):
        raise InputError("freeze_embeddings: the model has no encoder.embeddings")
    for weight in frozen:
        weight.requires_grad_(False)


def groups(model: nn.Module, settings: LoopSettings, *, by_part: bool) -> list[dict[str, Any]]:
    """Parameter groups of an optimiser: one for decayed, one for other weights, per part where rates differ.

    Decay (and LAMB's trust ratio) is for matrices. Biases, norms and NoNorms are vectors: they have none.
    """
    by_part = by_part or settings.layer_rate_decay != 1.0
    blocks = count_blocks(model)
    found: dict[tuple[str, bool], dict[str, Any]] = {}
    for name, weight in model.named_parameters():
        if not weight.requires_grad:
            continue
        part = part_of(name) if by_part else "head"
        decayed = weight.ndim >= 2
        group = found.setdefault(
            (part, decayed),
            {
                "params": [],
                "part": part,
                "layer_factor": layer_factor(part, decay=settings.layer_rate_decay, blocks=blocks),
                "weight_decay": settings.weight_decay if decayed else 0.0,
                "trust": decayed,
            },
        )
        group["params"].append(weight)
    if not found:
        raise InputError("nothing to train: every weight is frozen")
    return list(found.values())
