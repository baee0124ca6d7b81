"""A graph that a browser opens faster: what the engine would do to it on every visit is done once, here."""

from __future__ import annotations

from pathlib import Path

from pocketbert.errors import ExportError
from pocketbert.runtime.session import Precision

OPTIMISED: tuple[Precision, ...] = ("int8-fast",)
"""Precisions that gain by it.

`int8` is left as it is: its weights become numbers when it is opened, which would make the file three times as large
if it were done here and every window slower if it were done nowhere. Files in floating point may go to a graphics
processor, which wants to fuse operations in its own way.
"""
# Numbers made from eight bits stay what they are in the file, or it would grow by a third: making them again for each
# batch takes no time that can be measured.
KEPT = ["ConstantFolding", "ConstantFoldingDQ"]


def optimise(source: Path, path: Path) -> None:
    """Write the ONNX file `source` to `path`, with its operations fused as any processor can run them."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    options.enable_mem_reuse = False  # which takes most of the time, and is for runs
    options.log_severity_level = 3
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        ort.InferenceSession(source, options, providers=["CPUExecutionProvider"], disabled_optimizers=KEPT)
    except Exception as error:  # its errors share no parent but Exception
        raise ExportError(
            f"{source} cannot be optimised by onnxruntime ({error}); export it again"
        ) from error
