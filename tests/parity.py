"""The one helper that all parity tests share: the same weights here and in transformers, the same numbers.

Weights are redrawn with a standard deviation of 0.2 first. With the usual 0.02 a wrong key weight moves
MobileBERT's output by 3e-8, and a comparison would be blind to it.
"""

from __future__ import annotations

import inspect
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path

import torch
from torch import Tensor, nn

import pocketbert

VOCABULARY = 99
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Batch:
    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor

    def arguments(self) -> dict[str, Tensor]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def for_model(self, theirs: nn.Module) -> dict[str, Tensor]:
        """The arguments that a model of transformers takes: some know no segments."""
        taken = inspect.signature(theirs.forward).parameters
        return {name: value for name, value in self.arguments().items() if name in taken}

    def left_padded(self) -> Batch:
        """The same rows with their padding on the left."""
        lengths = self.attention_mask.sum(1).tolist()

        def turned(values: Tensor) -> Tensor:
            return torch.stack([row.roll(-length) for row, length in zip(values, lengths, strict=True)])

        return replace(self, **{name: turned(values) for name, values in self.arguments().items()})


def batch(rows: int = 4, length: int = 13, seed: int = 0) -> Batch:
    """Rows of different lengths, right-padded with ids that are not the padding id, and two segments."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, VOCABULARY, (rows, length), generator=generator)
    mask = torch.ones_like(ids)
    for row in range(1, rows):
        mask[row, length - 3 * row :] = 0
    segments = (torch.arange(length) > length // 2).long().expand(rows, -1).contiguous()
    return Batch(ids, mask, segments)


def redraw(module: nn.Module, seed: int = 0) -> nn.Module:
    """Weights large enough to matter: std 0.2, norm scales near 1."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in module.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        scale = name.endswith(("LayerNorm.weight", "norm.weight", "gamma"))
        parameter.data = 1 + 0.1 * noise if scale else 0.2 * noise
    return module.eval()


def ours(theirs: nn.Module, folder: Path | None = None, **options) -> nn.Module:
    """Their model, saved by transformers and loaded by us."""
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        theirs.save_pretrained(place)
        return pocketbert.load(place, **options).eval()


def error(expected: Tensor, given: Tensor) -> float:
    """The largest difference, relative to the largest value."""
    assert expected.shape == given.shape, f"{tuple(expected.shape)} against {tuple(given.shape)}"
    difference = (expected - given).detach().abs().max()
    return float(difference / expected.detach().abs().max().clamp(min=1e-9))


def real(values: Tensor, mask: Tensor) -> Tensor:
    """Only the rows of real tokens: what stands at padding is nobody's business."""
    return values[mask.bool()]


def encoder_error(theirs: nn.Module, encoder: nn.Module, inputs: Batch) -> float:
    """The worst error over all feature maps, all attention maps, and the last map by the fused path."""
    with torch.no_grad():
        expected = theirs(**inputs.for_model(theirs), output_hidden_states=True, output_attentions=True)
        given = encoder(**inputs.arguments(), feature_maps=True, attentions=True)
        fused = encoder(**inputs.arguments())
    mask = inputs.attention_mask
    assert len(expected.hidden_states) == len(given.feature_maps)
    assert len(expected.attentions) == len(given.attentions)
    errors = [
        error(real(a, mask), real(b, mask))
        for a, b in zip(expected.hidden_states, given.feature_maps, strict=True)
    ]
    errors += [
        error(real(a.transpose(1, 2), mask), real(b.transpose(1, 2), mask))
        for a, b in zip(expected.attentions, given.attentions, strict=True)
    ]
    errors.append(error(real(expected.last_hidden_state, mask), real(fused.last, mask)))
    if getattr(expected, "pooler_output", None) is not None and given.pooled is not None:
        errors.append(error(expected.pooler_output, given.pooled))
    return max(errors)
