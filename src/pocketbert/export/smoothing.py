"""The inputs of a product in eight bits: one grid for all channels, so the channels should be equally large.

A channel may be multiplied by a number and the matrix's column divided by it, and the product stays the same. Even
inputs make an uneven matrix, though; how far to go is tried out on inputs that were seen (compare SmoothQuant, arXiv
2211.10438, which fixes the strength).
"""

from __future__ import annotations

import torch
from torch import Tensor

from pocketbert.export.activations import Inputs
from pocketbert.export.rounding import LARGEST, STRENGTHS, column_scales, row_scales

LEVELS = 255
WORTH = 0.8
"""Scales are an operation more: they must bring the squared error down to this share at least."""
WILD = 3.0
"""So many times the usual peak of a text, and inputs are too wild for a grid."""


@torch.no_grad()
def best_columns(weight: Tensor, inputs: Inputs) -> Tensor | None:
    """Factors for the channels of an input, such that its product with a matrix (N, K) errs least; None for none."""
    found = [column_scales(weight, inputs.reach, strength) for strength in STRENGTHS]
    best = min(found, key=lambda columns: product_error(weight, inputs, columns))
    plain = product_error(weight, inputs, torch.ones_like(best))
    return best if product_error(weight, inputs, best) < WORTH * plain else None


@torch.no_grad()
def product_error(weight: Tensor, inputs: Inputs, columns: Tensor) -> float:
    """The squared error of a product whose two sides are rounded, relative to the product's variance."""
    scaled = inputs.sample.double() * columns
    step, zero = input_grid(inputs, columns)
    rounded = ((scaled / step).round() + zero).clamp(0, LEVELS).sub(zero) * step
    matrix = weight.double() / columns
    rows = row_scales(matrix).unsqueeze(1)
    steps = (matrix / rows).round().clamp(-LARGEST, LARGEST) * rows
    exact = scaled @ matrix.T
    error = rounded @ steps.T - exact
    return float(error.square().sum() / (exact - exact.mean(0)).square().sum().clamp(min=1e-30))


def input_grid(inputs: Inputs, columns: Tensor | None) -> tuple[float, int]:
    """Step and zero point of an input in unsigned eight bits, over the whole range that was seen."""
    factors = torch.ones_like(inputs.most) if columns is None else columns
    least = min(0.0, float((inputs.least * factors).min()))
    most = max(0.0, float((inputs.most * factors).max()))
    step = max((most - least) / LEVELS, 1e-30)
    return step, round(-least / step)


def is_wild(inputs: Inputs, columns: Tensor | None) -> bool:
    """Whether some texts reach far beyond what is usual: a grid that holds them is too coarse for all the others, and
    one that does not cuts off what the next such text brings.
    """
    peaks = inputs.peaks if columns is None else inputs.peaks * columns
    largest = peaks.amax(1)  # of each text
    return bool(largest.max() > WILD * largest.median())
