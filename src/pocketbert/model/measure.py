"""How large and how costly an encoder is: parameters by part, arithmetic at a length, memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from pocketbert.model import Config, Encoder, build_encoder
from pocketbert.model.layers import SelfAttention
from pocketbert.model.relative import RelativeAttention

PARTS = ("attention", "feed-forward", "bottleneck")


@dataclass(frozen=True)
class Measure:
    """The sizes of one encoder.

    `flops` counts two for a multiplication and addition in the matrix products of one sequence of `length` tokens
    through the encoder, without heads: the convention that gives the MobileBERT paper's figures.
    """

    family: str
    parameters: int
    embeddings: int
    block: dict[str, int]  # the first block's parameters by part
    blocks: tuple[int, ...]  # parameters a block; none for one that shares an earlier block's
    pooler: int
    layers: int
    heads: int
    width: int
    vocabulary: int
    positions: int | None  # tokens that fit into a sequence, if there is a limit
    length: int
    flops: int
    megabytes: float  # of fp32 weights

    @property
    def attention_ratio(self) -> float:
        """Attention parameters for each feed-forward parameter; the paper wants 0.4 to 0.6."""
        return self.block["attention"] / self.block["feed-forward"]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"attention_ratio": round(self.attention_ratio, 4)}


def measure(source: Config | Encoder, *, length: int = 128) -> Measure:
    """Measure an encoder, or one that a config would build; the latter costs no memory."""
    if isinstance(source, Encoder):
        encoder = source
    else:
        with torch.device("meta"):
            encoder = build_encoder(source)
    config = encoder.config
    blocks = _count_blocks(encoder)
    embeddings = _count(encoder.embeddings)
    pooler = 0 if encoder.pooler is None else _count(encoder.pooler)
    total = embeddings + sum(blocks) + pooler
    return Measure(
        family=config.model_type,
        parameters=total,
        embeddings=embeddings,
        block=_by_part(encoder.blocks[0]),
        blocks=tuple(blocks),
        pooler=pooler,
        layers=len(blocks),
        heads=config.num_attention_heads,
        width=config.hidden_size,
        vocabulary=config.vocab_size,
        positions=config.longest,
        length=length,
        flops=_flops(encoder, length),
        megabytes=round(total * 4 / 1e6, 1),
    )


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _count_blocks(encoder: Encoder) -> list[int]:
    counts, seen = [], set[int]()
    for block in encoder.blocks:
        counts.append(0 if id(block) in seen else _count(block))
        seen.add(id(block))
    return counts


def _by_part(block: nn.Module) -> dict[str, int]:
    """A block's parameters by what they are for; a norm counts to the part whose output it normalises."""
    counts: Counter[str] = Counter(dict.fromkeys(PARTS, 0))
    for name, parameter in block.named_parameters():
        if name.startswith(("attention.", "attention_norm.", "attention_bottleneck.")):
            part = "attention"
        elif name.startswith(("feed_forward.", "feed_forward_norm.")):
            part = "feed-forward"
        else:
            part = "bottleneck"
        counts[part] += parameter.numel()
    return dict(counts)


def _flops(encoder: Encoder, length: int) -> int:
    """Linear layers once a token; in attention, scores and weighted sum once a pair of tokens."""
    total = 0
    for part in (encoder.embeddings, *encoder.blocks):
        for module in part.modules():
            if isinstance(module, nn.Linear):
                total += 2 * module.in_features * module.out_features * length
            elif isinstance(module, SelfAttention | RelativeAttention):
                total += module.pair_flops(length)
    return total
