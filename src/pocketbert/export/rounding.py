"""Weights to eight bits: how wide the steps are, and which way to round.

A matrix (N outputs, K inputs) is stored as `integers · rows · columns`: a scale for each output, as usual, and one for
each input, which costs nothing because both are multiplied in once, when the file is loaded, or lie in neighbours. The
columns' scales even out what the inputs are not equally large in.

Rounding to the nearest ignores that inputs go together. Going through the columns one by one, the error made in one
can be mended in those that are still to come, where inputs are correlated (GPTQ, arXiv 2210.17323).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pocketbert.export.activations import Inputs

LARGEST = 127
PAIR = 128
"""Two weights that lie side by side may together be this large. On processors without the newer dot-product
instructions two products with a byte each are added in 16 bits, which holds 255 · 128 but not 255 · 254."""
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
_FLOOR = 0.1  # of the middle channel: a channel that was silent on these texts may speak on others
_DAMPING = 0.005


@dataclass(frozen=True)
class Rounded:
    """A matrix in eight bits: `weight ≈ integers * rows[:, None] * columns`."""

    integers: Tensor  # (N, K)
    rows: Tensor  # (N,)
    columns: Tensor  # (K,)

    def weight(self) -> Tensor:
        return self.integers.double() * self.rows.unsqueeze(1) * self.columns


def round_matrix(
    weight: Tensor, inputs: Inputs | None = None, columns: Tensor | None = None, *, paired: bool = False
) -> Rounded:
    """Round a matrix (N, K); better with knowledge of what it multiplies.

    `columns` fixes the columns' scales, which are chosen otherwise. `paired` keeps the steps so wide that neighbours
    may be added in 16 bits.
    """
    weight = weight.double()
    if columns is None and inputs is None:
        columns = column_scales(weight, torch.ones(weight.shape[1]), 0.0)
    elif columns is None:
        reach = inputs.moments.diag().sqrt()  # type: ignore[union-attr]
        found = [column_scales(weight, reach, strength) for strength in STRENGTHS]
        columns = min(found, key=lambda scales: _rounding_error(weight, scales, inputs.moments))  # type: ignore[union-attr]
    scaled = weight / columns
    rows = row_scales(scaled, paired=paired)
    if inputs is None:
        return Rounded(_nearest(scaled, rows), rows, columns)
    moments = inputs.moments * columns.unsqueeze(1) * columns
    return Rounded(_mended(scaled, rows, moments, paired=paired), rows, columns)


def column_scales(weight: Tensor, reach: Tensor, strength: float) -> Tensor:
    """Scales that even out a matrix's columns (strength 0), the inputs' channels (1), or both in part.

    A column is divided by its scale, and what it reads is multiplied with it.
    """
    size = _floored(weight.abs().amax(0).double()).log()
    reach = _floored(reach.double()).log()
    scales = (1 - strength) * size - strength * reach
    return (scales - scales.mean()).exp()


def row_scales(weight: Tensor, *, paired: bool = False) -> Tensor:
    """The width of a step for each output."""
    size = weight.abs().amax(1) / LARGEST
    if paired:
        even = torch.nn.functional.pad(weight.abs(), (0, weight.shape[1] % 2))
        size = torch.maximum(size, (even[:, 0::2] + even[:, 1::2]).amax(1) / (PAIR - 1))
    return torch.where(size > 0, size, 1.0)


def _floored(size: Tensor) -> Tensor:
    return size.clamp(min=max(_FLOOR * float(size.median()), 1e-30))


def _nearest(weight: Tensor, rows: Tensor) -> Tensor:
    return (weight / rows.unsqueeze(1)).round().clamp(-LARGEST, LARGEST).to(torch.int8)


def _rounding_error(weight: Tensor, columns: Tensor, moments: Tensor) -> float:
    scaled = weight / columns
    rows = row_scales(scaled)
    error = (scaled - _nearest(scaled, rows) * rows.unsqueeze(1)) * columns
    return float(((error @ moments) * error).sum())


def _mended(weight: Tensor, rows: Tensor, moments: Tensor, *, paired: bool) -> Tensor:
    """Round column by column, the most used first, and mend each error in the columns that follow."""
    order = moments.diag().argsort(descending=True)
    moments = moments[order][:, order]
    moments.diagonal().add_(_DAMPING * moments.diag().mean() + 1e-30)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(moments))
    factor = torch.linalg.cholesky(inverse, upper=True)
    rest = weight[:, order].clone()
    integers = torch.zeros_like(weight)
    for place, column in enumerate(order.tolist()):
        neighbour = column ^ 1
        limit = torch.full_like(rows, LARGEST)
        if paired and neighbour < weight.shape[1]:
            limit = (PAIR - integers[:, neighbour].abs()).clamp(max=LARGEST)
        chosen = (rest[:, place] / rows).round().clamp(-limit, limit)
        integers[:, column] = chosen
        error = (rest[:, place] - chosen * rows) / factor[place, place]
        rest[:, place + 1 :] -= error.unsqueeze(1) * factor[place, place + 1 :]
    return integers.to(torch.int8)
