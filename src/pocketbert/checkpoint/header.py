"""What a safetensors file says of itself, believed only after it has been checked against the file.

The format: eight bytes with the length of the header, a JSON header (name -> dtype, shape, range of bytes),
the bytes. The safetensors library checks ranges and shapes too, but lets a name stand twice, and its errors
name no file. Nothing here allocates what a header asks for before it is known to be there.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TypeGuard

import torch

from pocketbert.checkpoint.files import JSON_LIMIT, parse_object, shown
from pocketbert.errors import CheckpointError

HEADER_LIMIT = JSON_LIMIT  # room for some thirty thousand tensors
METADATA = "__metadata__"

DTYPES: dict[str, torch.dtype] = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
}
MAX_DIMENSIONS = 64  # torch's own limit
MAX_ELEMENTS = 2**63 - 1


def read_header(path: Path) -> list[str]:
    """The names of the tensors in a safetensors file whose header is sound."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        if start == b"version ":  # so begins "version https://git-lfs.github.com/spec/v1"
            raise CheckpointError(
                f"{path} is a Git LFS pointer, not the weights; fetch them with: git lfs pull"
            )
        if len(start) < 8:
            raise CheckpointError(f"{path} is only {len(start)} bytes long; a safetensors file has a header")
        length = int.from_bytes(start, "little")
        room = size - 8
        if length > room:
            raise CheckpointError(
                f"{path} announces a header of {length:,} bytes, but {room:,} bytes follow: "
                "it was cut off or is not a safetensors file; fetch it again"
            )
        if length > HEADER_LIMIT:
            raise CheckpointError(
                f"{path} has a header of {length:,} bytes; at most {HEADER_LIMIT:,} are allowed"
            )
        header = parse_object(file.read(length), f"the header of {path}")
    _check_metadata(path, header.pop(METADATA, {}))
    ranges = sorted((*_checked_range(path, name, entry), name) for name, entry in header.items())
    _check_cover(path, ranges, room - length)
    return list(header)


def _check_metadata(path: Path, metadata: object) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise CheckpointError(f"{path}: {METADATA} must map text to text")


def _checked_range(path: Path, name: str, entry: object) -> tuple[int, int]:
    """Where the bytes of one tensor begin and end, when its dtype, shape and range agree."""
    where = f"{path}, tensor {shown(name)}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"{where}: must have a dtype, a shape and data_offsets, and nothing else")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise CheckpointError(f"{where}: the dtype {shown(str(dtype))} is not one of {', '.join(DTYPES)}")
    if not _are_counts(shape) or len(shape) > MAX_DIMENSIONS:
        raise CheckpointError(
            f"{where}: the shape must be a list of at most {MAX_DIMENSIONS} sizes, none negative"
        )
    # A size of nought hides an overflow from the plain product, not from the strides.
    if (
        any(count > MAX_ELEMENTS for count in shape)
        or math.prod(max(count, 1) for count in shape) > MAX_ELEMENTS
    ):
        raise CheckpointError(f"{where}: the shape overflows")
    if not _are_counts(offsets) or len(offsets) != 2:
        raise CheckpointError(f"{where}: data_offsets must be two byte positions, none negative")
    begin, end = offsets
    needed = math.prod(shape) * DTYPES[dtype].itemsize
    if end - begin != needed:
        raise CheckpointError(
            f"{where}: {dtype} of shape {tuple(shape)} takes {needed:,} bytes, "
            f"but data_offsets span {end - begin:,}"
        )
    return begin, end


def _are_counts(values: object) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _check_cover(path: Path, ranges: list[tuple[int, int, str]], size: int) -> None:
    """The tensors must cover the rest of the file exactly: no hole, no overlap, nothing outside."""
    position = 0
    for begin, end, name in ranges:
        where = f"{path}, tensor {shown(name)}"
        if end > size:
            raise CheckpointError(f"{where}: its bytes end at {end:,}, but the file holds {size:,}")
        if begin < position:
            raise CheckpointError(f"{where}: its bytes begin at {begin:,}, inside the tensor before it")
        if begin > position:
            raise CheckpointError(f"{where}: {begin - position:,} bytes before it belong to no tensor")
        position = end
    if position < size:
        raise CheckpointError(f"{path}: the last {size - position:,} bytes belong to no tensor")
