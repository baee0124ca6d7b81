"""Eight bits a weight: a quarter of the size, with the reader's answers kept.

`int8` keeps the weights in eight bits, and the file turns them back into numbers once, when it is opened: all sums are
those of fp32, and so are, nearly, the answers. Rows of a table are looked up first and turned back after that.

`int8-fast` lets matrix products run on integers, for which their inputs go into eight bits too. The grids of inputs
are fixed by texts that were read before, not taken from the batch at hand, so that a window's answer depends on
nothing but the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import onnx
import torch
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.export.activations import measure
from pocketbert.export.fold import fold
from pocketbert.export.integers import IntegerGraph
from pocketbert.export.onnx import to_onnx
from pocketbert.export.rounding import round_matrix
from pocketbert.export.smoothing import best_columns, input_grid, is_wild

Way = Literal["int8", "int8-fast"]
SENSITIVE = ("attend", "context", "output", "transform")
"""Layers that stay in fp32 in the fast way: attention's own products and what writes feature maps, a seventh of all.

They would win little, 1.7 of 26.3 ms a window, and take a reader's error from 0.044 to 0.052.
"""
SMALLEST = 2048
"""Weights in a matrix that is worth the trouble."""


@torch.no_grad()
def quantise(
    model: nn.Module,
    texts: Iterable[Mapping[str, Tensor]] | None = None,
    *,
    way: Way = "int8",
    exempt: Sequence[str] = SENSITIVE,
) -> onnx.ModelProto:
    """A model in ONNX with its weights in eight bits; better with texts, which show what the weights multiply.

    `texts` are arguments of the model's forward pass, each a batch without padding. In the fast way, layers whose
    names end with one of `exempt`, or whose inputs are now and then far larger than usual, still compute in fp32.
    """
    folded = fold(model)
    inputs = measure(folded, texts) if texts is not None else {}
    if way == "int8-fast" and not inputs:
        raise InputError(
            "products in eight bits need texts, which show how large their inputs get; give some"
        )
    graph = IntegerGraph(to_onnx(folded))
    for name, weight in folded.named_parameters():
        layer = name.removesuffix(".weight")
        seen = inputs.get(layer)
        if weight.ndim != 2 or weight.numel() < SMALLEST or name not in graph.readers:
            continue
        if not graph.is_multiplied(name):
            graph.store(name, round_matrix(weight))
        elif way == "int8" or seen is None or layer.endswith(tuple(exempt)):
            graph.store(name, round_matrix(weight, seen))
        else:
            columns = best_columns(weight, seen)
            if is_wild(seen, columns):
                graph.store(name, round_matrix(weight, seen))
                continue
            even = columns if columns is not None else torch.ones(weight.shape[1], dtype=torch.float64)
            graph.multiply(name, round_matrix(weight, seen, even, paired=True), *input_grid(seen, columns))
    return graph.finish()
