"""onnxruntime, the engine of the base install."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from pocketbert.errors import CheckpointError, InputError


def open_engine(path: Path, threads: int | None) -> OnnxRuntime:
    """Open an ONNX file on the CPU."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads = threads or 0  # 0: one per core
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors, which are raised anyway
    # A memory plan for each shape of batch would be kept for ever. Planning which tensors share memory takes 1.3 s for
    # a MobileBERT, seven eighths of the time to open it; the arena, without a plan, needs neither more memory nor time.
    options.enable_mem_pattern = False
    options.enable_mem_reuse = False
    # Between two operations a thread waits for less than it takes to wake it up: it spins, a tenth of a millisecond at
    # most, so that it takes the processor from nobody when a run is over.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    options.add_session_config_entry("session.intra_op.spin_duration_us", "100")
    try:
        return OnnxRuntime(ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]))
    except Exception as error:  # its errors share no parent but Exception
        raise CheckpointError(
            f"{path} cannot be opened by onnxruntime ({_first_line(error)}); get it again, or export the model again"
        ) from error


class OnnxRuntime:
    """A graph in onnxruntime."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.inputs = tuple(node.name for node in session.get_inputs())
        self.outputs = tuple(node.name for node in session.get_outputs())

    def run(self, feed: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        try:
            outputs: list[NDArray[np.float32]] = self._session.run(None, feed)
        except Exception as error:
            shapes = ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in feed.items())
            raise InputError(f"onnxruntime failed on {shapes}: {_first_line(error)}") from error
        return outputs


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
