"""An ONNX graph in the making: nodes, constants and weights under the names that the model gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
IR_VERSION = 10  # the newest that onnxruntime 1.20 reads

ELEMENT_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.bool_): TensorProto.BOOL,
}


class Graph:
    """Nodes are added in the order in which they run; a value is known by its name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, NDArray[Any]] = {}
        self.producers: dict[str, Any] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; returns the output's name."""
        return self.nodes_outputs(kind, *inputs, count=1, **attributes)[0]

    def nodes_outputs(self, kind: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """Add a node with several outputs; returns their names."""
        number = len(self.nodes)
        suffixes = [""] if count == 1 else [f"_{place}" for place in range(count)]
        outputs = [f"{kind.lower()}_{number}{suffix}" for suffix in suffixes]
        made = helper.make_node(kind, inputs, outputs, name=f"{kind}_{number}", **attributes)
        self.nodes.append(made)
        self.producers.update(dict.fromkeys(outputs, made))
        return outputs

    def constant(self, value: Any, kind: Any = None) -> str:
        """A small constant; equal ones are held once."""
        array = np.asarray(value, dtype=kind)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            self._constants[key] = name
            self.weights[name] = array
        return self._constants[key]

    def integers(self, values: Sequence[int]) -> str:
        return self.constant(list(values), np.int64)

    def weight(self, name: str, value: NDArray[Any]) -> str:
        """A weight of the model under its own name."""
        self.weights[name] = value
        return name

    def finish(
        self,
        inputs: dict[str, Sequence[str | int]],
        outputs: dict[str, Sequence[str | int]],
        renamed: dict[str, str],
    ) -> onnx.ModelProto:
        """The model, without the nodes and weights that no output needs; `renamed` gives outputs their names."""
        for node in self.nodes:
            node.output[:] = [renamed.get(name, name) for name in node.output]
            node.input[:] = [renamed.get(name, name) for name in node.input]
        needed, kept = set(outputs), []
        for node in reversed(self.nodes):
            if needed & set(node.output):
                kept.append(node)
                needed |= set(node.input)
        graph = helper.make_graph(
            kept[::-1],
            "pocketbert",
            [_value(name, TensorProto.INT64, shape) for name, shape in inputs.items() if name in needed],
            [_value(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
            [numpy_helper.from_array(value, name) for name, value in self.weights.items() if name in needed],
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(
            graph, producer_name="pocketbert", opset_imports=[opset], ir_version=IR_VERSION
        )


def _value(name: str, kind: int, shape: Sequence[str | int]) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)
