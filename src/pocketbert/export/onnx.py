"""A model of the house as an ONNX file, with a free batch size and length.

Inputs are `input_ids`, `attention_mask` and `token_type_ids` (int64); outputs `start_logits` and `end_logits`,
`logits`, or `last_hidden_state`, after what the head gives.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pocketbert.errors import require
from pocketbert.model import EncoderOutput

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
AXES = ("batch", "length")
OPSET = 18


def export_onnx(model: nn.Module, path: str | Path) -> None:
    """Write an encoder, or a model with its head, to an ONNX file that takes any batch size and length."""
    onnx = require("onnx", extra="lab")
    require("onnxscript", extra="lab")
    graph = _Graph(model).eval()
    # Three tensors of their own, or the trace takes one for the other; no side of 1, which it would bake in.
    example = tuple(torch.ones(2, 8, dtype=torch.long) for _ in INPUTS)
    with torch.no_grad():
        outputs = tuple(_outputs(model(*example)))
    axes = dict.fromkeys(range(len(AXES)), torch.export.Dim.AUTO)
    registry = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = registry.level
    registry.setLevel(logging.ERROR)  # it warns that torchvision, which nobody here uses, is not installed
    try:
        with warnings.catch_warnings():
            # torch's own decompositions call what torch itself deprecates.
            warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
            traced = torch.export.export(graph, example, dynamic_shapes=[axes] * len(INPUTS), strict=False)
            program: Any = torch.onnx.export(
                traced,
                input_names=INPUTS,
                output_names=outputs,
                opset_version=OPSET,
                external_data=False,
                verbose=False,
            )
    finally:
        registry.setLevel(level)
    proto = program.model_proto
    _tidy(proto)
    onnx.checker.check_model(proto, full_check=True)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, str(path))


class _Graph(nn.Module):
    """A model that takes and gives plain tensors."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor
    ) -> tuple[Tensor, ...]:
        return tuple(_outputs(self.model(input_ids, attention_mask, token_type_ids)).values())


def _outputs(output: Any) -> dict[str, Tensor]:
    """The tensors that a model gives, by the name that the ONNX file gives them."""
    if isinstance(output, EncoderOutput):
        return {"last_hidden_state": output.last}
    named = {field.name: getattr(output, field.name) for field in fields(output)}
    return {name: value for name, value in named.items() if isinstance(value, Tensor)}


def _tidy(proto: Any) -> None:
    """Name the free axes, and leave out what the exporter notes on each node: source lines and this machine's paths."""
    symbols = {dim.dim_param: name for dim, name in zip(_shape(proto.graph.input[0]), AXES, strict=True)}
    for value in (*proto.graph.input, *proto.graph.output):
        for dim in _shape(value):
            if dim.dim_param:
                dim.dim_param = symbols.get(dim.dim_param, dim.dim_param)
    del proto.graph.value_info[:]
    del proto.graph.metadata_props[:]
    for part in (*proto.graph.input, *proto.graph.output, *proto.graph.initializer, *proto.graph.node):
        del part.metadata_props[:]
        part.doc_string = ""


def _shape(value: Any) -> Any:
    return value.type.tensor_type.shape.dim
