"""A model of the house as an ONNX file, with a free batch size and length.

Inputs are `input_ids`, `attention_mask` and `token_type_ids` (int64); outputs `start_logits` and `end_logits`,
`logits`, `sentence_embedding` or `last_hidden_state`, after what the head gives. Weights keep the names they have in
torch; those of linear layers lie transposed, as ONNX multiplies them.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from pocketbert.export.graph import Graph
from pocketbert.export.lowering import lower, only_multiplied
from pocketbert.model import EncoderOutput

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
AXES = {2: ("batch", "length"), 3: ("batch", "choices", "length")}
# Where the world's name for an output is not ours.
OUTPUT_NAMES = {"last": "last_hidden_state", "vectors": "sentence_embedding"}


def export_onnx(model: nn.Module, path: str | Path) -> None:
    """Write an encoder, or a model with its head, to an ONNX file that takes any batch size and length."""
    write_onnx(to_onnx(model), path)


def to_onnx(model: nn.Module) -> onnx.ModelProto:
    """The ONNX form of an encoder, or of a model with its head."""
    was_training = model.training
    axes = AXES[3 if getattr(model, "kind", None) == "choice" else 2]
    # Three tensors of their own, or the trace takes one for the other; and no side of 1, which it would bake in.
    example = tuple(torch.ones(*(2, 3, 8)[-len(axes) :], dtype=torch.long) for _ in INPUTS)
    free = dict.fromkeys(range(len(axes)), torch.export.Dim.AUTO)
    model.eval()
    try:
        with torch.no_grad():
            names = list(_tensors(model(*example)))
            traced = torch.export.export(
                _Plain(model), example, dynamic_shapes=[free] * len(INPUTS), strict=False
            )
    finally:
        model.train(was_training)
    return _lowered(traced, names, axes, _first_names(model))


def write_onnx(proto: onnx.ModelProto, path: str | Path) -> None:
    """Check an ONNX model and write it so that the file appears whole or not at all."""
    onnx.checker.check_model(proto, full_check=True)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(proto.SerializeToString())
            file.flush()
            os.fsync(file.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


class _Plain(nn.Module):
    """A model that gives plain tensors."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.eval()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor
    ) -> tuple[Tensor, ...]:
        return tuple(_tensors(self.model(input_ids, attention_mask, token_type_ids)).values())


def _tensors(output: Any) -> dict[str, Tensor]:
    """The tensors that a model gives, by the names that the ONNX file gives them."""
    wanted = ["last"] if isinstance(output, EncoderOutput) else [field.name for field in fields(output)]
    named = {OUTPUT_NAMES.get(name, name): getattr(output, name) for name in wanted}
    return {name: value for name, value in named.items() if isinstance(value, Tensor)}


def _first_names(model: nn.Module) -> dict[str, str]:
    """Every name of a weight -> its first: blocks may share theirs, and the trace takes any of the names."""
    first = {id(weight): name for name, weight in model.named_parameters()}
    return {name: first[id(weight)] for name, weight in model.named_parameters(remove_duplicate=False)}


def _lowered(
    traced: Any, names: list[str], axes: tuple[str, ...], first_names: dict[str, str]
) -> onnx.ModelProto:
    graph = Graph()
    values: dict[Any, Any] = {}
    signature = traced.graph_signature
    held = signature.inputs_to_parameters | signature.inputs_to_buffers
    inputs = iter(INPUTS)
    symbols: dict[str, str] = {}
    results: list[Any] = []
    for node in traced.graph.nodes:
        if node.op == "placeholder" and node.name in held:
            name, value = _weight(held[node.name], node, traced.state_dict)
            values[node] = graph.weight(first_names.get(name, name), value)
        elif node.op == "placeholder":
            values[node] = next(inputs)
            symbols |= {str(size): axis for size, axis in zip(node.meta["val"].shape, axes, strict=True)}
        elif node.op == "call_function":
            values[node] = lower(graph, node, values)
        elif node.op == "output":
            results = list(node.args[0])
    shapes = [[symbols.get(str(size), str(size)) for size in node.meta["val"].shape] for node in results]
    sizes = [[int(size) if size.isdigit() else size for size in shape] for shape in shapes]
    return graph.finish(
        dict.fromkeys(INPUTS, axes),
        dict(zip(names, sizes, strict=True)),
        {values[node]: name for node, name in zip(results, names, strict=True)},
    )


def _weight(target: str, node: Any, weights: dict[str, Tensor]) -> tuple[str, Any]:
    """A weight's name and values: transposed if only linear layers multiply with it."""
    value = weights[target].detach().cpu().numpy()
    if node.users and only_multiplied(node):
        value = value.T
    return target.removeprefix("model."), value
