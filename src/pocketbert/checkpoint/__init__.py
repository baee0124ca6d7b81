"""Safetensors <-> modules through an architecture's name table, strict both ways.

Nothing here unpickles, and nothing trusts a file: every length, name and offset is checked before it is
used, every failure is a `CheckpointError` that names the file and the tensor, and what is written replaces
what was there in one step or not at all.
"""

from __future__ import annotations

from pocketbert.checkpoint.files import read_json, write_json
from pocketbert.checkpoint.filling import fill
from pocketbert.checkpoint.names import NameTable
from pocketbert.checkpoint.onnx_file import exported_file, read_onnx
from pocketbert.checkpoint.reading import has_tensors, read_tensors
from pocketbert.checkpoint.writing import write_tensors

__all__ = [
    "NameTable",
    "exported_file",
    "fill",
    "has_tensors",
    "read_json",
    "read_onnx",
    "read_tensors",
    "write_json",
    "write_tensors",
]
