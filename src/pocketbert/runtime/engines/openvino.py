"""OpenVINO, an optional second engine: Intel's, with its own kernels for the same ONNX files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import CheckpointError, InputError, require


def open_engine(path: Path, threads: int | None) -> OpenVino:
    """Open an ONNX file on the CPU."""
    openvino = require("openvino", extra="openvino")
    settings: dict[str, object] = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    if threads is not None:
        settings["INFERENCE_NUM_THREADS"] = threads
    try:
        return OpenVino(openvino.Core().compile_model(str(path), "CPU", settings))
    except Exception as error:
        raise CheckpointError(
            f"{path} cannot be opened by OpenVINO ({str(error).strip()[:300]}); get it again, or export the model again"
        ) from error


class OpenVino:
    """A graph in OpenVINO."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self.inputs = tuple(node.get_any_name() for node in compiled.inputs)
        self.outputs = tuple(node.get_any_name() for node in compiled.outputs)

    def run(self, feed: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        # A request of one's own for each run: a compiled model is shared between threads, a request is not.
        request = self._compiled.create_infer_request()
        try:
            results = request.infer(feed)
        except Exception as error:
            shapes = ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in feed.items())
            raise InputError(f"OpenVINO failed on {shapes}: {str(error).strip()[:300]}") from error
        return [np.array(results[node]) for node in self._compiled.outputs]
