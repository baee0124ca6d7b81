"""Half precision: half the size, for engines that compute in it, such as a browser's graphics processor.

Half floats end at 65,504, and a MobileBERT's feature maps can come near it. Where norms fold, the unit in which a
channel is computed is free: a power of two, so that nothing is rounded by the choice.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

import onnx
import torch
from torch import Tensor, nn

from pocketbert.errors import ExportError
from pocketbert.export.activations import measure
from pocketbert.export.fold import FoldedBlock, fold
from pocketbert.export.onnx import to_onnx
from pocketbert.heads import Model
from pocketbert.model import Encoder

ROOM = 64.0
"""What a channel of the feature maps may reach: far from both ends of a half float."""
LIMIT = 3e4
"""Constants beyond it, such as the bias of padding, are cut: sums of two still fit."""


@torch.no_grad()
def halve(model: nn.Module, texts: Iterable[Mapping[str, Tensor]]) -> onnx.ModelProto:
    """A model in ONNX in half precision; outputs are still fp32.

    `texts`, each a batch without padding, show how large the feature maps get, and that all stays finite.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16

    batches = list(texts)
    folded = fold(model, _units(fold(model), batches))
    _prove_finite(folded, batches)
    made: onnx.ModelProto = convert_float_to_float16(
        to_onnx(folded), keep_io_types=True, max_finite_val=LIMIT, min_positive_val=1e-7
    )
    return made


def _units(folded: nn.Module, batches: Sequence[Mapping[str, Tensor]]) -> Tensor | None:
    """Powers of two that bring each channel of the feature maps into the room that it may take."""
    encoder = folded.encoder if isinstance(folded, Model) else folded
    if not isinstance(encoder, Encoder) or not isinstance(encoder.blocks[0], FoldedBlock):
        return None
    readers = [name for name, part in folded.named_modules() if isinstance(part, FoldedBlock)]
    seen = measure(folded, batches)
    reach = torch.stack([seen[f"{name}.read"].reach for name in readers]).amax(0).double()
    return torch.exp2(torch.ceil(torch.log2(reach.clamp(min=ROOM) / ROOM)))


def _prove_finite(folded: nn.Module, batches: Sequence[Mapping[str, Tensor]]) -> None:
    half = copy.deepcopy(folded).half()
    broken: list[str] = []

    def watch(name: str) -> None:
        def look(_part: nn.Module, _given: object, output: object) -> None:
            if isinstance(output, Tensor) and output.is_floating_point() and not output.isfinite().all():
                broken.append(name)

        half.get_submodule(name).register_forward_hook(look)

    for name, part in half.named_modules():
        if isinstance(part, nn.Linear):
            watch(name)
    for batch in batches:
        half(**batch)
        if broken:
            raise ExportError(
                f"in half precision {broken[0]} overflows on the given texts, so no fp16 file is written; "
                "take fp32 or int8 for this model"
            )
