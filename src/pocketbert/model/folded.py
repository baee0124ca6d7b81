"""A folded model's weights back under the names of its architecture.

Folding joins projections that read the same input, moves the scale of attention into its queries, and leaves of a
NoNorm nothing, or a factor. Cut apart again, with norms that do nothing where none is left, these are weights of the
same architecture: not the ones that were folded, but a model that gives the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from pocketbert.errors import CheckpointError
from pocketbert.model import mobilebert
from pocketbert.model.block import Block
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import NoNorm, SelfAttention


def unfolded(encoder: Encoder, folded: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights for `encoder`, which says what is wanted, from those of its folded form; both without prefix."""
    left = dict(folded)
    found: dict[str, Tensor] = {}
    for number, block in enumerate(encoder.blocks):
        prefix = f"blocks.{number}."
        own = {name.removeprefix(prefix): left.pop(name) for name in list(left) if name.startswith(prefix)}
        parts = _mobilebert(block, own) if isinstance(block, mobilebert.Block) else _bert(block, own)
        found |= {prefix + name: value for name, value in parts.items()}
    found |= left
    norms = {name for name, part in encoder.named_modules() if isinstance(part, NoNorm)}
    for name, value in encoder.named_parameters():  # which names shared weights once
        layer, _, kind = name.rpartition(".")
        # No exported graph guesses words, so XLNet's query, with which guesses start, is in none.
        lost = kind == "bias" or layer in norms or name == "embeddings.query"
        if name not in found and lost and not name.startswith("pooler."):
            found[name] = torch.ones_like(value) if kind == "weight" else torch.zeros_like(value)
    return found


def _mobilebert(block: mobilebert.Block, own: dict[str, Tensor]) -> dict[str, Tensor]:
    first, second = ["bottleneck.linear"], ["attention.query", "attention.key"]
    if block.attention_input == "shared":
        first += ["attention_bottleneck.linear", "attention.value"]
    elif block.attention_input == "block":
        first, second = [*first, *second, "attention.value"], []
    else:
        second.append("attention.value")
    found = _cut(block, own, "read", first)
    if second:
        found |= _cut(block, own, "attend", second)
    renamed = {
        "context": "attention.output",
        "bottleneck_norm": "bottleneck.norm",
        "query_norm": "attention_bottleneck.norm",
    }
    for name, value in own.items():
        layer, _, kind = name.rpartition(".")
        found[f"{renamed.get(layer, layer)}.{kind}"] = value
    _join_norms(found)
    _undo_scale(block.attention, found, "attention.")
    return found


def _bert(block: nn.Module, own: dict[str, Tensor]) -> dict[str, Tensor]:
    if not isinstance(block, Block) or "attention.read.weight" not in own:
        return own
    found = _cut(block, own, "attention.read", [f"attention.{name}" for name in ("query", "key", "value")])
    found |= own
    _undo_scale(block.attention, found, "attention.")
    return found


def _cut(block: nn.Module, own: dict[str, Tensor], joined: str, parts: list[str]) -> dict[str, Tensor]:
    """The rows of a joined layer, as the layers that they were."""
    sizes = [block.get_parameter(f"{part}.weight").shape[0] for part in parts]
    found = {}
    for kind in ("weight", "bias"):
        whole = own.pop(f"{joined}.{kind}", None)
        if whole is None or len(whole) != sum(sizes):
            raise CheckpointError(
                f"the exported {joined}.{kind} has {0 if whole is None else len(whole)} rows where the config asks for "
                f"{sum(sizes)}; config.json and the ONNX file are not of the same model"
            )
        for part, rows in zip(parts, torch.split(whole, sizes), strict=True):
            found[f"{part}.{kind}"] = rows.clone()
    return found


def _join_norms(found: dict[str, Tensor]) -> None:
    """A factor that was left and the norm at the end, `output_norm.0` and `output_norm.1`, as one norm."""
    factor = found.pop("output_norm.0.weight", None)
    weight, bias = found.pop("output_norm.1.weight", None), found.pop("output_norm.1.bias", None)
    if weight is not None and bias is not None:
        found["output_norm.weight"] = weight if factor is None else factor * weight
        found["output_norm.bias"] = bias


def _undo_scale(attention: SelfAttention, found: dict[str, Tensor], prefix: str) -> None:
    for kind in ("weight", "bias"):
        found[f"{prefix}query.{kind}"] *= math.sqrt(attention.head_size)
