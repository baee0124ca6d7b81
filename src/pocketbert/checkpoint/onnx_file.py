"""Weights back out of an ONNX file that Pocketbert wrote: floats as they are, integers times their scales."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pocketbert.errors import CheckpointError, require

FILES = (
    "onnx/model.onnx",
    "onnx/model_fp16.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_quantized_fast.onnx",
)
"""Where to look, the most exact first."""
_PASSED = ("Cast", "Mul", "DequantizeLinear")


def exported_file(folder: Path) -> Path | None:
    """The ONNX file of a model folder from which weights can be read."""
    return next((folder / name for name in FILES if (folder / name).is_file()), None)


def read_onnx(path: Path) -> dict[str, torch.Tensor]:
    """The weights of an exported model under the names that they had in torch, in fp32."""
    onnx = require("onnx", extra="lab")
    try:
        proto = onnx.load(path)
        weights = {item.name: onnx.numpy_helper.to_array(item) for item in proto.graph.initializer}
    except Exception as error:  # protobuf's errors share no parent with onnx's
        raise CheckpointError(f"{path} cannot be read as ONNX: {error}") from error
    if proto.producer_name != "pocketbert":
        raise CheckpointError(
            f"{path} was written by {proto.producer_name or 'somebody else'}, who names weights otherwise; "
            "load the model from the safetensors that it was exported from"
        )
    readers: dict[str, list[Any]] = {}
    for node in proto.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    found = {}
    for name in weights:
        if "." in name and not name.endswith(("_rows", "_columns", "_zeros", "_step", "_zero")):
            value = _value(name, weights)
            found[name] = torch.from_numpy(np.array(value.T if _is_multiplied(name, readers) else value))
    return found


def _value(name: str, weights: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
    """The weight as it lies in the file."""
    value: NDArray[np.float32] = weights[name].astype(np.float32)
    rows, columns = weights.get(f"{name}_rows"), weights.get(f"{name}_columns")
    if rows is None:
        return value
    value *= rows
    if columns is None:
        return value
    # For a product on integers the scales of the inputs lie in a row, although inputs run downwards.
    value *= columns[:, None] if rows.ndim == 1 else columns
    return value


def _is_multiplied(name: str, readers: dict[str, list[Any]]) -> bool:
    """Whether a value, or what is made of it, is the right side of a product: then it lies transposed."""
    for node in readers.get(name, []):
        if node.op_type == "MatMul" and node.input[1] == name:
            return True
        if node.op_type in _PASSED and node.input[0] == name and _is_multiplied(node.output[0], readers):
            return True
    return False
