"""Torch to ONNX: what the lab hands to the runtime."""

from __future__ import annotations

from pocketbert.export.fold import fold
from pocketbert.export.onnx import export_onnx

__all__ = ["export_onnx", "fold"]
