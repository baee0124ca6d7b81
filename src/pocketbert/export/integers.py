"""An ONNX model whose matrices are replaced, one by one, by integers and their scales.

Under a matrix's name lie its integers, the way round in which the matrix lay; under the name with `_rows` the scales of
its outputs and with `_columns` those of its inputs, where there are any.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from pocketbert.export.rounding import Rounded


class IntegerGraph:
    """A graph in the making; `finish` gives the model."""

    def __init__(self, proto: onnx.ModelProto) -> None:
        self.proto = proto
        self._weights = {weight.name: weight for weight in proto.graph.initializer}
        self.readers: dict[str, list[Any]] = {name: [] for name in self._weights}
        for node in proto.graph.node:
            for name in set(node.input) & self._weights.keys():
                self.readers[name].append(node)
        self._makers = {output: node for node in proto.graph.node for output in node.output}
        self._uses = Counter(name for node in proto.graph.node for name in node.input)
        self._uses.update(output.name for output in proto.graph.output)
        self._matrices = {node.name: name for name, nodes in self.readers.items() for node in nodes}
        self._first: list[Any] = []
        self._before: dict[str, list[Any]] = {}  # the name of a node -> nodes that must run before it

    def is_multiplied(self, name: str) -> bool:
        """Whether a matrix is only multiplied with; then it lies transposed, inputs by outputs."""
        return all(node.op_type == "MatMul" and node.input[1] == name for node in self.readers[name])

    def store(self, name: str, rounded: Rounded) -> None:
        """Keep a matrix as integers that become numbers when the model is opened, or, looked up, in each run."""
        transposed = self.is_multiplied(name)
        integers = rounded.integers.T if transposed else rounded.integers
        self._put(name, integers.contiguous().numpy())
        rows = self._put(
            f"{name}_rows", _float(rounded.rows)[None, :] if transposed else _float(rounded.rows)[:, None]
        )
        columns = None
        if bool((rounded.columns != 1).any()):
            factors = _float(rounded.columns)
            columns = self._put(f"{name}_columns", factors[:, None] if transposed else factors)
        whole = f"{name}_numbers"
        for node in self.readers[name]:
            if node.op_type == "Gather" and node.input[0] == name:
                self._look_up(node, rows, columns)
            else:
                _rewire(node, name, whole)
        if any(whole in node.input for node in self.readers[name]):
            self._first += _numbers(name, rows, columns, whole)

    def multiply(self, name: str, rounded: Rounded, step: float, zero: int) -> None:
        """Let a product run on integers: its input is rounded to a grid, in the form that engines know to fuse."""
        self._put(name, rounded.integers.T.contiguous().numpy())
        rows = self._put(f"{name}_rows", _float(rounded.rows))
        origin = self._put(f"{name}_zeros", np.zeros(len(rounded.rows), dtype=np.int8))
        grid = [
            self._put(f"{name}_step", np.asarray(step, dtype=np.float32)),
            self._put(f"{name}_zero", np.asarray(zero, dtype=np.uint8)),
        ]
        columns = None
        if bool((rounded.columns != 1).any()) and not self._give_away(name, _float(rounded.columns)):
            columns = self._put(f"{name}_columns", _float(rounded.columns))
        for node in self.readers[name]:
            given = node.input[0]
            before = self._before.setdefault(node.name, [])
            if columns is not None:
                before.append(_node("Mul", [given, columns], f"{node.name}_even"))
                given = f"{node.name}_even"
            before.append(_node("QuantizeLinear", [given, *grid], f"{node.name}_rounded"))
            before.append(_node("DequantizeLinear", [f"{node.name}_rounded", *grid], f"{node.name}_input"))
            before.append(_node("DequantizeLinear", [name, rows, origin], f"{node.name}_matrix", axis=1))
            node.input[:] = [f"{node.name}_input", f"{node.name}_matrix"]

    def finish(self) -> onnx.ModelProto:
        """The model with all that was replaced."""
        nodes = list(self._first)
        for node in self.proto.graph.node:
            nodes += [*self._before.get(node.name, []), node]
        made = onnx.ModelProto()
        made.CopyFrom(self.proto)
        del made.graph.node[:], made.graph.initializer[:]
        made.graph.node.extend(nodes)
        made.graph.initializer.extend(self._weights.values())
        return made

    def _give_away(self, name: str, columns: NDArray[np.float32]) -> bool:
        """Let the layer below scale the channels, if a ReLU is all that lies between: its rows and biases are scaled
        already, and a positive factor passes a ReLU. Says whether it could be done.
        """
        if len(self.readers[name]) != 1:
            return False
        relu = self._maker(self.readers[name][0].input[0], "Relu")
        add = relu and self._maker(relu.input[0], "Add")
        product = add and self._maker(add.input[0], "MatMul")
        if add is None or product is None:
            return False
        below, bias = self._matrices.get(product.name), add.input[1]
        if f"{below}_rows" not in self._weights or bias not in self._weights or self._uses[bias] != 1:
            return False
        for factor in (f"{below}_rows", bias):
            self._put(factor, numpy_helper.to_array(self._weights[factor]) * columns)
        return True

    def _maker(self, name: str, kind: str) -> Any | None:
        """The node that makes a tensor, if it is of a kind and nobody else reads the tensor."""
        node = self._makers.get(name)
        return node if node is not None and node.op_type == kind and self._uses[name] == 1 else None

    def _put(self, name: str, value: NDArray[Any]) -> str:
        self._weights[name] = numpy_helper.from_array(value, name)
        return name

    def _look_up(self, node: Any, rows: str, columns: str | None) -> None:
        """Turn `node`, which looks rows up in a table, into one that looks integers up and makes them numbers."""
        ids, result = node.input[1], node.output[0]
        found, scale = f"{node.name}_integers", f"{node.name}_scale"
        node.output[0] = found
        after = [_node("Gather", [rows, ids], scale), *_numbers(found, scale, columns, result)]
        place = list(self.proto.graph.node).index(node)
        following = self.proto.graph.node[place + 1]
        self._before.setdefault(following.name, [])[:0] = after


def _numbers(integers: str, rows: str, columns: str | None, result: str) -> list[Any]:
    """Nodes that turn integers into numbers."""
    nodes = [_node("Cast", [integers], f"{result}_cast", to=TensorProto.FLOAT)]
    last = result if columns is None else f"{result}_even"
    nodes.append(_node("Mul", [f"{result}_cast", rows], last))
    if columns is not None:
        nodes.append(_node("Mul", [last, columns], result))
    return nodes


def _node(kind: str, inputs: list[str], output: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs, [output], name=f"{kind}_{output}", **attributes)


def _rewire(node: Any, old: str, new: str) -> None:
    node.input[:] = [new if name == old else name for name in node.input]


def _float(values: Any) -> NDArray[np.float32]:
    array: NDArray[np.float32] = values.float().numpy()
    return array
