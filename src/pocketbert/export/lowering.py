"""What each operation of torch is in ONNX: one small function an operation.

torch has an exporter of its own. It took minutes for MobileBERT where this takes seconds, needs another package, and
hides the weights under numbers; here they keep their names, which is what folding and quantising go by. A new
architecture that uses an operation which is not here needs one more function.

Shapes: B batch, H heads, S sequence, D head size.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from pocketbert.errors import InputError
from pocketbert.export.graph import ELEMENT_TYPES, Graph

Lowering = Callable[..., Any]
aten = torch.ops.aten
_END = 2**62  # slices that go on to the end carry the largest integer


def lower(graph: Graph, node: Node, values: dict[Node, Any]) -> Any:
    """Add what an operation does to the graph; returns the name of its value, or a tuple of names."""
    lowering = TABLE.get(node.target)
    if lowering is None:
        raise InputError(
            f"this model uses the operation {node.target}, for which there is no ONNX form here; "
            "add one to TABLE in pocketbert/export/lowering.py"
        )
    return lowering(Scope(graph, node, values), *node.args, **node.kwargs)


class Scope:
    """One operation's view of the graph: its arguments as ONNX values."""

    def __init__(self, graph: Graph, node: Node, values: dict[Node, Any]) -> None:
        self.graph = graph
        self.target = node
        self.values = values

    def __call__(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        return self.graph.node(kind, *(self.name(value) for value in inputs), **attributes)

    def name(self, value: Any) -> str:
        """The ONNX value of an argument; a number becomes a constant of the operation's own type."""
        if isinstance(value, Node):
            name: str = self.values[value]
            return name
        if isinstance(value, bool | int | float):
            result = self.target.meta["val"]
            if isinstance(result, torch.SymInt):
                return self.graph.integers([int(value)])
            return self.graph.constant(value, _numpy_type(result.dtype))
        return str(value)

    def shape(self, sizes: Sequence[Any], like: Node | None = None) -> str:
        """A shape as an ONNX value: constant where it can be, with 0 for "as in the input" (`like`)."""
        known = list(like.meta["val"].shape) if like is not None else []
        plain: list[Any] = []
        for place, size in enumerate(sizes):
            same = isinstance(size, Node) and place < len(known) and size.meta["val"] is not None
            plain.append(0 if same and _same(size.meta["val"], known[place]) else size)
        free = [place for place, size in enumerate(plain) if isinstance(size, Node)]
        if like is not None and len(free) == 1 and -1 not in plain:
            plain[free[0]] = -1
            free = []
        if not free:
            return self.graph.integers(plain)
        parts = [
            self.values[size] if isinstance(size, Node) else self.graph.integers([size]) for size in plain
        ]
        return self("Concat", *parts, axis=0)


def only_multiplied(weight: Node) -> bool:
    """Whether all that is done with a weight is linear layers, so that it can lie transposed."""
    return all(user.target is aten.linear.default and user.args[1] is weight for user in weight.users)


def _same(left: Any, right: Any) -> bool:
    return str(left) == str(right)


def _numpy_type(kind: torch.dtype) -> np.dtype[Any]:
    return torch.empty(0, dtype=kind).numpy().dtype


def _first(_scope: Scope, value: Node, *_rest: Any, **_options: Any) -> Any:
    return _scope.values[value]


def _plain(kind: str) -> Lowering:
    def lowering(scope: Scope, *inputs: Any) -> str:
        return scope(kind, *inputs)

    return lowering


def _size(scope: Scope, value: Node, axis: int) -> str:
    rank = value.meta["val"].dim()
    return scope("Shape", value, start=axis % rank, end=axis % rank + 1)


def _cast(scope: Scope, value: Node, kind: torch.dtype, *_rest: Any) -> Any:
    if value.meta["val"].dtype == kind:
        return scope.values[value]
    return scope("Cast", value, to=ELEMENT_TYPES[_numpy_type(kind)])


def _full(value: float) -> Lowering:
    def lowering(scope: Scope, *arguments: Any, **_options: Any) -> str:
        filler = scope.name(value)
        return scope("Expand", filler, scope.shape(arguments[-1]))

    return lowering


def _masked_fill(scope: Scope, value: Node, mask: Node, filler: float) -> str:
    # Zeros of a shape that the mask has anyway need no memory.
    source = 0.0 if value.target is aten.zeros.default else value
    return scope("Where", mask, filler, source)


def _compare(kind: str) -> Lowering:
    def lowering(scope: Scope, value: Node, other: Any) -> str:
        if not isinstance(other, Node):
            other = scope.graph.constant(other, _numpy_type(value.meta["val"].dtype))
        return scope(kind, value, other)

    return lowering


def _slice(
    scope: Scope, value: Node, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    start = 0 if start is None else start
    whole = end is None or (isinstance(end, int) and end > _END)
    if start == 0 and whole and step == 1:
        return scope.values[value]
    if whole:
        end = np.iinfo(np.int64).max
    bounds = [
        scope.values[part] if isinstance(part, Node) else scope.graph.integers([part])
        for part in (start, end)
    ]
    return scope("Slice", value, *bounds, scope.graph.integers([axis]), scope.graph.integers([step]))


def _select(scope: Scope, value: Node, axis: int, index: int) -> str:
    return scope("Gather", value, scope.graph.constant(index, np.int64), axis=axis)


def _unbind(scope: Scope, value: Node, axis: int = 0) -> tuple[str, ...]:
    size = value.meta["val"].shape[axis]
    return tuple(_select(scope, value, axis, index) for index in range(size))


def _split(scope: Scope, value: Node, sizes: list[int], axis: int = 0) -> tuple[str, ...]:
    pieces = scope.graph.nodes_outputs(
        "Split", scope.name(value), scope.graph.integers(sizes), count=len(sizes), axis=axis
    )
    return tuple(pieces)


def _cat(scope: Scope, values: Sequence[Node], axis: int = 0) -> str:
    return scope("Concat", *values, axis=axis)


def _unsqueeze(scope: Scope, value: Node, axis: int) -> str:
    return scope("Unsqueeze", value, scope.graph.integers([axis]))


def _view(scope: Scope, value: Node, sizes: Sequence[Any]) -> str:
    return scope("Reshape", value, scope.shape(sizes, like=value))


def _flatten(scope: Scope, value: Node, start: int = 0, end: int = -1) -> str:
    rank = value.meta["val"].dim()
    shape = scope.graph.integers([0] * (start % rank) + [-1])
    if end % rank < rank - 1:
        shape = scope("Concat", shape, scope("Shape", value, start=end % rank + 1), axis=0)
    return scope("Reshape", value, shape)


def _expand(scope: Scope, value: Node, sizes: Sequence[Any]) -> str:
    return scope("Expand", value, scope.shape([1 if size == -1 else size for size in sizes]))


def _transpose(scope: Scope, value: Node, left: int, right: int) -> str:
    order = list(range(value.meta["val"].dim()))
    order[left], order[right] = order[right], order[left]
    return permuted(scope.graph, scope.name(value), order)


def permuted(graph: Graph, name: str, order: Sequence[int]) -> str:
    """A value with its axes in another order; two reorderings in a row are one."""
    source = graph.producers.get(name)
    if source is not None and source.op_type == "Transpose":
        before = list(source.attribute[0].ints)
        name, order = source.input[0], [before[axis] for axis in order]
    return graph.node("Transpose", name, perm=list(order))


def _linear(scope: Scope, value: Node, weight: Node, bias: Node | None = None) -> str:
    turned = scope.name(weight)
    if not only_multiplied(weight):  # the word table, which is looked up as well
        turned = scope("Transpose", weight, perm=[1, 0])
    product = scope("MatMul", value, turned)
    return product if bias is None else scope("Add", product, bias)


def _addcmul(scope: Scope, bias: Node, left: Node, right: Node) -> str:
    return scope("Add", scope("Mul", left, right), bias)


def _attention(
    scope: Scope,
    query: Node,
    key: Node,
    value: Node,
    bias: Node | None = None,
    _dropout: float = 0.0,
    _causal: bool = False,
    *,
    scale: float | None = None,
) -> str:
    size = query.meta["val"].shape[-1]
    factor = 1 / math.sqrt(size) if scale is None else scale
    scaled = scope.name(query) if factor == 1 else scope("Mul", query, factor)  # smaller than the scores
    turned = permuted(scope.graph, scope.name(key), [0, 1, 3, 2])  # (B, H, D, S)
    scores = scope("MatMul", scaled, turned)  # (B, H, S, S)
    if bias is not None:
        scores = scope("Add", scores, bias)
    return scope("MatMul", scope("Softmax", scores, axis=-1), value)


def _layer_norm(
    scope: Scope, value: Node, _shape: Any, weight: Node, bias: Node, eps: float = 1e-5, *_rest: Any
) -> str:
    return scope("LayerNormalization", value, weight, bias, axis=-1, epsilon=eps)


def _gelu(scope: Scope, value: Node, *, approximate: str = "none") -> str:
    return scope("Gelu", value, approximate=approximate)


def _silu(scope: Scope, value: Node) -> str:
    return scope("Mul", value, scope("Sigmoid", value))


def _clamp(scope: Scope, value: Node, least: float | None = None, most: float | None = None) -> str:
    bounds = ["" if bound is None else scope.name(bound) for bound in (least, most)]
    return scope("Clip", value, *bounds)


def _softmax(scope: Scope, value: Node, axis: int, *_rest: Any) -> str:
    return scope("Softmax", value, axis=axis)


def _reduce(kind: str) -> Lowering:
    def lowering(scope: Scope, value: Node, axes: Sequence[int], keep: bool = False, **_options: Any) -> str:
        return scope(kind, value, scope.graph.integers(axes), keepdims=int(keep))

    return lowering


def _cumulative_sum(scope: Scope, value: Node, axis: int) -> str:
    return scope("CumSum", value, scope.graph.constant(axis, np.int64))


def _differs(scope: Scope, value: Node, other: Any) -> str:
    return scope("Not", _compare("Equal")(scope, value, other))


def _range(scope: Scope, *bounds: Any, **_options: Any) -> str:
    """Whole numbers from a start, or 0, up to an end that is left out, in steps, or one by one."""
    start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if not any(isinstance(bound, Node) for bound in bounds):
        return scope.graph.constant(np.arange(start, end, step), np.int64)
    scalars = [
        scope("Reshape", bound, scope.graph.integers([]))  # a size is a list of one
        if isinstance(bound, Node)
        else scope.graph.constant(bound, np.int64)
        for bound in (start, end, step)
    ]
    return scope("Range", *scalars)


def _permute(scope: Scope, value: Node, order: Sequence[int]) -> str:
    return permuted(scope.graph, scope.name(value), order)


def _gather(scope: Scope, value: Node, axis: int, index: Node) -> str:
    return scope("GatherElements", value, index, axis=axis)


def _squeeze(scope: Scope, value: Node, axis: int) -> str:
    return scope("Squeeze", value, scope.graph.integers([axis]))


def _item(scope: Scope, values: Node, index: int) -> Any:
    return scope.values[values][index]


def _embedding(scope: Scope, table: Node, ids: Node, *_rest: Any) -> str:
    return scope("Gather", table, ids)


TABLE: dict[Any, Lowering] = {
    operator.getitem: _item,
    operator.mul: _plain("Mul"),  # of sizes
    operator.neg: _plain("Neg"),
    aten._assert_tensor_metadata.default: lambda *_arguments, **_options: "",
    aten.add.Tensor: _plain("Add"),
    aten.addcmul.default: _addcmul,
    aten.alias.default: _first,
    aten.amax.default: _reduce("ReduceMax"),
    aten.arange.default: _range,
    aten.arange.start_step: _range,
    aten.cat.default: _cat,
    aten.clamp.default: _clamp,
    aten.contiguous.default: _first,
    aten.cos.default: _plain("Cos"),
    aten.cumsum.default: _cumulative_sum,
    aten.div.Tensor: _plain("Div"),
    aten.dropout.default: _first,
    aten.embedding.default: _embedding,
    aten.eq.Scalar: _compare("Equal"),
    aten.expand.default: _expand,
    aten.flatten.using_ints: _flatten,
    aten.gather.default: _gather,
    aten.gelu.default: _gelu,
    aten.hardtanh.default: _clamp,
    aten.layer_norm.default: _layer_norm,
    aten.linear.default: _linear,
    aten.masked_fill.Scalar: _masked_fill,
    aten.matmul.default: _plain("MatMul"),
    aten.mul.Tensor: _plain("Mul"),
    aten.ne.Scalar: _differs,
    aten.ne.Tensor: _differs,
    aten.new_zeros.default: _full(0.0),
    aten.permute.default: _permute,
    aten.pow.Scalar: _plain("Pow"),
    aten.reciprocal.default: _plain("Reciprocal"),
    aten.relu.default: _plain("Relu"),
    aten.relu6.default: lambda scope, value: _clamp(scope, value, 0.0, 6.0),
    aten.reshape.default: _view,
    aten.scaled_dot_product_attention.default: _attention,
    aten.select.int: _select,
    aten.silu.default: _silu,
    aten.sin.default: _plain("Sin"),
    aten.slice.Tensor: _slice,
    aten.softmax.int: _softmax,
    aten.split_with_sizes.default: _split,
    aten.sqrt.default: _plain("Sqrt"),
    aten.squeeze.dim: _squeeze,
    aten.sub.Tensor: _plain("Sub"),
    aten.sum.dim_IntList: _reduce("ReduceSum"),
    aten.sym_size.int: _size,
    aten.tanh.default: _plain("Tanh"),
    aten.to.dtype: _cast,
    aten.transpose.int: _transpose,
    aten.unbind.int: _unbind,
    aten.unsqueeze.default: _unsqueeze,
    aten.view.default: _view,
    aten.where.self: _plain("Where"),
    aten.zeros.default: _full(0.0),
}
