"""What an encoder shows of itself while it reads a batch: feature maps, and the vectors its attention is made of.

A view holds no more than was wanted, and runs no block above the last one that is. It is what teacher and student are
compared by, and what a cache keeps of a teacher.

Shapes: B batch, S sequence, W width, N width of the attention, H heads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import gcd
from typing import Any

import torch
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.model import Encoder, EncoderOutput
from pocketbert.model.foreign import ForeignEncoder, Makers
from pocketbert.model.layers import SelfAttention
from pocketbert.transfer.losses import scaled_products

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
VECTORS = ("query", "key", "value")
AnyEncoder = Encoder | ForeignEncoder


@dataclass(frozen=True)
class Wanted:
    """What to look at: feature maps (0 the embeddings', n the n-th block's) and blocks' attention (from 0)."""

    maps: frozenset[int] = frozenset()
    attentions: frozenset[int] = frozenset()
    vectors: frozenset[int] = frozenset()

    @property
    def depth(self) -> int:
        """How many blocks must run."""
        return max([*self.maps, *(block + 1 for block in self.attentions | self.vectors)], default=0)

    def __or__(self, other: Wanted) -> Wanted:
        return Wanted(
            self.maps | other.maps, self.attentions | other.attentions, self.vectors | other.vectors
        )


@dataclass(frozen=True)
class View:
    """What was seen; `parts` are tensors (B, S, …) by (what, layer): `map`, `query`, `key`, `value`, `attention`."""

    mask: Tensor  # (B, S)
    heads: int
    parts: Mapping[tuple[str, int], Tensor] = field(default_factory=dict)
    output: EncoderOutput | None = None

    def map(self, number: int) -> Tensor:
        """A feature map (B, S, W): 0 is the embeddings' output, n the n-th block's."""
        return self.parts["map", number]

    def vectors(self, what: str, block: int) -> Tensor:
        """Queries, keys or values of a block with all heads side by side: (B, S, N)."""
        return self.parts[what, block]

    def scores(self, block: int) -> Tensor:
        """What the softmax of a block's attention is taken of: (B, H, S, S), padding not yet masked.

        Of an attention that shows nothing but its probabilities, their logarithms, which have the same softmax.
        """
        if ("attention", block) in self.parts:
            probabilities = self.parts["attention", block].transpose(1, 2).float()  # kept as (B, S, H, S)
            return probabilities.clamp(min=torch.finfo(torch.float32).tiny).log()
        query, key = (self._split(self.parts[what, block]) for what in ("query", "key"))
        return scaled_products(query, key)

    def _split(self, vectors: Tensor) -> Tensor:
        batch, length, width = vectors.shape
        return vectors.view(batch, length, self.heads, width // self.heads).transpose(1, 2)


def look(encoder: AnyEncoder, batch: Mapping[str, Tensor], wanted: Wanted, *, whole: bool = False) -> View:
    """Run an encoder on a batch and keep what is wanted; `whole` runs all blocks and keeps the output, too."""
    keys = keys_of(encoder, wanted)
    hooked = {key for key in keys if key[0] in VECTORS}
    if hooked and not _makers(encoder):
        raise InputError(hidden_vectors(encoder))
    scored = [layer for what, layer in keys if what == "attention"]
    options: dict[str, Any] = {"feature_maps": bool(wanted.maps), "attentions": bool(scored)}
    if isinstance(encoder, Encoder):
        options["depth"] = None if whole else wanted.depth
    caught: dict[tuple[str, int], Tensor] = {}
    with _watching(encoder, hooked, caught):
        output = encoder(**{name: batch[name] for name in INPUTS if name in batch}, **options)
    for number in wanted.maps:
        caught["map", number] = output.feature_maps[number]
    for block in scored:
        caught["attention", block] = output.attentions[block].transpose(1, 2)
    return View(output.mask, count_heads(encoder), caught, output if whole else None)


def keys_of(encoder: AnyEncoder, wanted: Wanted) -> list[tuple[str, int]]:
    """The parts of a view, as (what, layer), that show what is wanted of an encoder."""
    keys = [("map", number) for number in sorted(wanted.maps)]
    # Scores follow from queries and keys; an attention with more in it shows the map that it made of them.
    shown = ("query", "key") if shows_scores(encoder) else ("attention",)
    keys += [(what, block) for block in sorted(wanted.attentions) for what in shown]
    keys += [(what, block) for block in sorted(wanted.vectors) for what in VECTORS]
    return list(dict.fromkeys(keys))


def shows_scores(encoder: AnyEncoder) -> bool:
    """Whether the scores of the attention follow from its queries and keys alone."""
    return isinstance(encoder, Encoder) and isinstance(encoder.blocks[0].attention, SelfAttention)


@torch.no_grad()
def shows_vectors(encoder: AnyEncoder) -> bool:
    """Whether every block has a query, a key and a value for each token: tried on a few, where modules are foreign."""
    if isinstance(encoder, Encoder):
        return True
    makers = encoder.makers()
    if not makers:
        return False
    ids = torch.ones(2, 3, dtype=torch.long, device=next(encoder.parameters()).device)
    parts = look(encoder, {"input_ids": ids}, Wanted(vectors=frozenset(range(len(makers))))).parts
    return len(parts) == len(VECTORS) * len(makers) and all(
        part.ndim == 3 and part.shape[:2] == ids.shape for part in parts.values()
    )


def hidden_vectors(encoder: AnyEncoder) -> str:
    """What to do about an encoder whose queries, keys and values cannot be watched."""
    shown = encoder.model if isinstance(encoder, ForeignEncoder) else encoder
    return (
        f"{type(shown).__name__} does not show its queries, keys and values, one of each for every token, so their "
        "relations cannot be compared: use --method joint or progressive, with --attention_weight 0 if the student has "
        "another number of heads, or choose another teacher"
    )


def count_heads(encoder: AnyEncoder) -> int:
    """How many heads the attention has."""
    return int(encoder.config.num_attention_heads)


def attention_width(encoder: AnyEncoder) -> int:
    """The width of queries, keys and values, which is not the feature map's where there are bottlenecks.

    Where several heads share a key, what divides the widths of all three.
    """
    width = int(encoder.config.hidden_size)
    first = next(iter(_makers(encoder)), ())
    return gcd(*(int(getattr(maker, "out_features", width)) for maker in first)) or width


def _makers(encoder: AnyEncoder) -> list[Makers]:
    """The modules that make each block's queries, keys and values."""
    if isinstance(encoder, ForeignEncoder):
        return encoder.makers()
    attentions = [block.attention for block in encoder.blocks]
    return [(part.query, part.key, part.value) for part in attentions]  # type: ignore[union-attr, misc]


@contextmanager
def _watching(
    encoder: AnyEncoder, keys: set[tuple[str, int]], caught: dict[tuple[str, int], Tensor]
) -> Iterator[None]:
    """Within, keep these queries, keys and values. Blocks that share their weights are told apart by their order."""
    calls: Counter[tuple[str, int]] = Counter()

    def keep(what: str, numbers: list[int], _module: nn.Module, _inputs: Any, result: Tensor) -> None:
        number = numbers[calls[what, numbers[0]] % len(numbers)]
        calls[what, numbers[0]] += 1
        if (what, number) in keys:
            caught.setdefault((what, number), result)  # DeBERTa's positions go through the same module later

    handles = []
    uses: dict[tuple[str, nn.Module], list[int]] = {}
    for number, makers in enumerate(_makers(encoder) if keys else ()):
        for what, part in zip(VECTORS, makers, strict=True):
            uses.setdefault((what, part), []).append(number)
    for (what, part), numbers in uses.items():
        if any((what, number) in keys for number in numbers):
            handles.append(part.register_forward_hook(partial(keep, what, numbers)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
