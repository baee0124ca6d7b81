"""Weights into a folder: one safetensors file or shards, the same bytes for the same tensors.

The safetensors library could write them, but shuffles the metadata from run to run and leaves files that only
their owner can read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

import torch

from pocketbert.checkpoint.files import PARTIAL, dump_object, replacing, shown
from pocketbert.checkpoint.header import DTYPES, HEADER_LIMIT, METADATA
from pocketbert.checkpoint.reading import INDEX, WEIGHTS
from pocketbert.errors import CheckpointError, InputError

CODES = {dtype: code for code, dtype in DTYPES.items()}
SHARD = re.compile(r"model(\.\d+)?-\d{5}-of-\d{5}\.safetensors")
TRANSFORMERS_METADATA = {"format": "pt"}  # without it transformers refuses the file


def write_tensors(
    folder: Path | str,
    tensors: Mapping[str, torch.Tensor],
    *,
    metadata: Mapping[str, str] = TRANSFORMERS_METADATA,
    max_shard_bytes: int = 5 * 10**9,
) -> None:
    """Write tensors as `model.safetensors`, or as shards with an index when they exceed `max_shard_bytes`.

    A reader sees the earlier weights until all of the new ones are there; then the earlier ones are removed.
    """
    if max_shard_bytes < 1:
        raise InputError(f"max_shard_bytes must be at least 1, not {max_shard_bytes}")
    folder = Path(folder)
    for name, tensor in tensors.items():
        _check_tensor(name, tensor)
    _check_apart(tensors)
    parts = _split(tensors, max_shard_bytes)
    names = [WEIGHTS] if len(parts) == 1 else _free_shard_names(folder, len(parts))
    with replacing(folder) as stage:
        for name, part in zip(names, parts, strict=True):
            with stage(name) as file:
                _write_file(file, part, metadata)
        if len(parts) > 1:
            index = {
                "metadata": {"total_size": sum(tensor.nbytes for tensor in tensors.values())},
                "weight_map": {
                    tensor: name for name, part in zip(names, parts, strict=True) for tensor in part
                },
            }
            with stage(INDEX) as file:
                file.write(dump_object(index, INDEX))
    _remove_earlier(folder, {*names, INDEX} if len(parts) > 1 else {*names})


def _check_tensor(name: str, tensor: torch.Tensor) -> None:
    if name == METADATA:
        raise CheckpointError(f"a tensor cannot be called {METADATA}: the format keeps that name for itself")
    if tensor.dtype not in CODES:
        raise CheckpointError(
            f"tensor {shown(name)} is {tensor.dtype}; allowed are {', '.join(map(str, CODES))}"
        )
    if tensor.layout != torch.strided or tensor.is_meta:
        raise CheckpointError(f"tensor {shown(name)} has no plain data: it is sparse or on the meta device")


def _check_apart(tensors: Mapping[str, torch.Tensor]) -> None:
    """Refuse tensors that share memory: saved twice, they would come back untied without a word."""
    # Slices of one matrix may interleave without sharing an element, so a view counts as its first element.
    spans = sorted(
        (
            str(tensor.device),
            begin,
            begin + (tensor.nbytes if tensor.is_contiguous() else tensor.itemsize),
            name,
        )
        for name, tensor in tensors.items()
        if tensor.nbytes and (begin := tensor.data_ptr())
    )
    last_device, last_end, last_name = "", 0, ""
    for device, begin, end, name in spans:
        if device == last_device and begin < last_end:
            raise CheckpointError(
                f"tensors {shown(last_name)} and {shown(name)} share memory (tied weights?); "
                "save one of them and tie the other to it after loading"
            )
        last_device, last_end, last_name = device, end, name


def _split(tensors: Mapping[str, torch.Tensor], limit: int) -> list[dict[str, torch.Tensor]]:
    """Parts of at most `limit` bytes in the given order; a larger tensor has a part of its own."""
    parts: list[dict[str, torch.Tensor]] = [{}]
    used = 0
    for name, tensor in tensors.items():
        if parts[-1] and used + tensor.nbytes > limit:
            parts.append({})
            used = 0
        parts[-1][name] = tensor
        used += tensor.nbytes
    return parts


def _free_shard_names(folder: Path, total: int) -> list[str]:
    """Names that no earlier save took: its shards must stay whole until the new index replaces the old."""
    stems = ("model" if generation == 0 else f"model.{generation}" for generation in count())
    series = (
        [f"{stem}-{number:05d}-of-{total:05d}.safetensors" for number in range(1, total + 1)]
        for stem in stems
    )
    return next(names for names in series if not any((folder / name).exists() for name in names))


def _write_file(file: BinaryIO, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
    # Wide elements first keeps every tensor aligned in the mapped file.
    ordered = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header: dict[str, object] = {METADATA: dict(metadata)} if metadata else {}
    position = 0
    for name in ordered:
        tensor = tensors[name]
        end = position + tensor.nbytes
        header[name] = {
            "dtype": CODES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [position, end],
        }
        position = end
    content = json.dumps(header, separators=(",", ":")).encode()
    content += b" " * (-len(content) % 8)
    if len(content) > HEADER_LIMIT:
        raise CheckpointError(
            f"{len(tensors):,} tensors need a header of {len(content):,} bytes; "
            f"at most {HEADER_LIMIT:,} are read again: save in smaller shards"
        )
    file.write(len(content).to_bytes(8, "little") + content)
    for name in ordered:
        flat = tensors[name].detach().cpu().contiguous().reshape(-1)
        file.write(flat.view(torch.uint8).numpy().data)


def _remove_earlier(folder: Path, current: set[str]) -> None:
    """Remove what an earlier save left. The single file goes first, because readers prefer it to an index."""
    try:
        for name in (WEIGHTS, INDEX):
            if name not in current:
                (folder / name).unlink(missing_ok=True)
        for path in list(folder.iterdir()):
            if SHARD.fullmatch(path.name) and path.name not in current:
                path.unlink(missing_ok=True)
            elif path.name.startswith(".model") and path.name.endswith(PARTIAL):  # of a save that was killed
                with suppress(OSError):
                    path.unlink()
    except OSError as error:
        raise CheckpointError(
            f"the weights are saved, but earlier ones in {folder} cannot go: {error.strerror or error}"
        ) from error
