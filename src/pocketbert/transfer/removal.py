"""Which blocks a model can do without.

The block is left out that is missed least, then the rest is looked at again. A model that was trained for a task has
blocks that hardly matter to it, and they do not lie evenly: of the embedded reader's twenty-four, the six from the
sixteenth to the twenty-third that are missed least can go together before its answers change much. A student that
begins with the blocks that matter starts far ahead of one that begins with every fourth.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import nn

from pocketbert.errors import InputError
from pocketbert.heads import Model

Distance = Callable[[Model], float]
"""How far a model is from what it was, or from its teacher; 0 is the same."""


@torch.no_grad()
def least_missed(
    model: Model, distance: Distance, keep: int, *, each: Callable[[int, float], None] | None = None
) -> tuple[int, ...]:
    """The blocks that stay when all but `keep` of them have gone, one by one, each time the one missed least.

    `each` hears of every block that goes, and of the distance without it. The model is left as it was.
    """
    blocks = _blocks(model, keep)
    staying = list(range(len(blocks)))
    try:
        while len(staying) > keep:
            found = []
            for block in staying:
                _use(model, [blocks[other] for other in staying if other != block])
                found.append((distance(model), block))
            nearest, gone = min(found)
            staying.remove(gone)
            if each is not None:
                each(gone, nearest)
    finally:
        _use(model, blocks)
    return tuple(staying)


@torch.no_grad()
def with_blocks(model: Model, staying: Sequence[int]) -> Model:
    """A copy of the model that has only these blocks."""
    blocks = _blocks(model, len(staying))
    if list(staying) != sorted({block for block in staying if 0 <= block < len(blocks)}):
        raise InputError(f"blocks {list(staying)}: give rising numbers from 0 to {len(blocks) - 1}")
    smaller = copy.deepcopy(model)
    _use(smaller, [list(smaller.encoder.blocks)[block] for block in staying])
    smaller.encoder.config = replace(model.config, num_hidden_layers=len(staying))
    return smaller


def _blocks(model: Model, keep: int) -> list[nn.Module]:
    blocks = list(model.encoder.blocks)
    if len({id(block) for block in blocks}) < len(blocks):
        raise InputError("the blocks of this model share their weights, so none of them can be left out")
    if not 1 <= keep <= len(blocks):
        raise InputError(f"{keep} blocks are to stay of {len(blocks)}: give a number from 1 to {len(blocks)}")
    return blocks


def _use(model: Model, blocks: Sequence[nn.Module]) -> None:
    model.encoder.blocks = nn.ModuleList(blocks)
