"""XLNet (arXiv 1906.08237): distances instead of positions, two streams, and a memory of what was read before.

Attention looks at what a token says, how far it is away and whether it is of the same segment. There is no table of
positions, so any length can be read, and padding may stand on either side; XLNet itself pads on the left and puts
[CLS] last. A second stream of queries, which know their place and not their word, guesses words in any order.

Shapes: B batch, S sequence, M memory, K = M + S keys, P targets, H heads, D head size, W width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pocketbert.errors import ConfigError, InputError
from pocketbert.model.architecture import Architecture, HeadForm, HeadKind, Summary
from pocketbert.model.config import Config, check_heads
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import EncoderOutput, FeedForward, attention_bias, initialise
from pocketbert.model.relative import RelativeAttention, Surroundings, View, waves

# The only value of some switches for which there is code, here and in any model that was published.
ONLY = {
    "attn_type": "bi",
    "bi_data": False,
    "same_length": False,
    "summary_type": "last",
    "summary_use_proj": True,
    "summary_activation": "tanh",
}


@dataclass(frozen=True, kw_only=True)
class XLNetConfig(Config):
    """The defaults are XLNet-base.

    `mem_len` is how many feature maps of a block the memory keeps, 0 for all; `reuse_len` how many of those that a
    sequence adds, from its start on, 0 for all; `clamp_len` the distance beyond which all are the same, -1 for none.
    """

    model_type: ClassVar[str] = "xlnet"
    renamed: ClassVar[Mapping[str, str]] = {
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "intermediate_size": "d_inner",
        "hidden_act": "ff_activation",
        "hidden_dropout_prob": "dropout",
        "summary_dropout_prob": "summary_last_dropout",
    }
    assumed: ClassVar[Mapping[str, Any]] = {
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    }

    vocab_size: int = 32000
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    summary_dropout_prob: float = 0.1
    pad_token_id: int = 5
    mem_len: int = 0
    reuse_len: int = 0
    clamp_len: int = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self, "hidden_size", self.hidden_size)
        self._check(
            self.hidden_size % 2 == 0, "hidden_size", self.hidden_size, "even: half sine, half cosine"
        )
        self._check(self.mem_len >= 0, "mem_len", self.mem_len, "0 or more")
        self._check(self.reuse_len >= 0, "reuse_len", self.reuse_len, "0 or more")

    @classmethod
    def from_hf(cls, data: Mapping[str, Any]) -> XLNetConfig:
        for name, value in ONLY.items():
            if data.get(name, value) != value:
                raise ConfigError(f"XLNetConfig: {name} is {data[name]!r}; only {value!r} is supported")
        own = {"mem_len": 512, **data}  # what transformers assumes when the file is silent; null is for all
        return super().from_hf(own)

    def to_hf(self) -> dict[str, Any]:
        return super().to_hf() | ONLY | {"d_head": self.hidden_size // self.num_attention_heads}


@dataclass(frozen=True)
class Memory:
    """What was read before: the input of every block, and which of it is padding."""

    feature_maps: tuple[Tensor, ...]  # a block each: (B, M, W)
    mask: Tensor  # (B, M)


@dataclass(frozen=True)
class XLNetOutput(EncoderOutput):
    """What XLNet makes of a batch: `targets` where words are to be guessed, `memory` where it is asked for."""

    targets: Tensor | None = None  # (B, P, W)
    target_maps: tuple[Tensor, ...] | None = None
    target_attentions: tuple[Tensor, ...] | None = None  # a block each: (B, H, S, K)
    memory: Memory | None = None


class Block(nn.Module):
    """Relative attention and a feed-forward network, the same for both streams."""

    def __init__(self, config: XLNetConfig) -> None:
        super().__init__()
        width, dropout = config.hidden_size, config.hidden_dropout_prob
        self.attention = RelativeAttention(width, config.num_attention_heads, dropout=dropout)
        self.attention_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.feed_forward = FeedForward(width, config.intermediate_size, config.hidden_act, dropout=dropout)
        self.feed_forward_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        streams: Sequence[Tensor],
        memory: Tensor | None,
        around: Surroundings,
        head_mask: Tensor | None,
        want_map: bool,
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        results, attention_maps = [], []
        seen = self.attention(streams, memory, around, head_mask, want_map)
        for stream, (attended, attention_map) in zip(streams, seen, strict=True):
            x = self.attention_norm(self.dropout(attended) + stream)
            results.append(self.feed_forward_norm(self.dropout(self.feed_forward(x)) + x))
            attention_maps.append(attention_map)
        return results, attention_maps


class Embeddings(nn.Module):
    """Words, and the one vector with which every query starts."""

    def __init__(self, config: XLNetConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.query = nn.Parameter(torch.zeros(1, 1, config.hidden_size))
        self.dropout = nn.Dropout(config.hidden_dropout_prob)


class XLNetEncoder(Encoder):
    """Token ids to feature maps, with memory and with targets whose words are to be guessed."""

    extras: ClassVar[tuple[str, ...]] = ("memory", "perm_mask", "target_mapping", "remember")
    embeddings: Embeddings
    config: XLNetConfig

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        head_mask: Tensor | None = None,
        feature_maps: bool = False,
        attentions: bool = False,
        memory: Memory | None = None,
        perm_mask: Tensor | None = None,
        target_mapping: Tensor | None = None,
        remember: bool = False,
    ) -> XLNetOutput:
        """Run a batch as every encoder does.

        `perm_mask` (B, S, S) is 1 where a token (row) must not see another (column). `target_mapping` (B, P, S) is 1
        where a target stands: `targets` of the output are what a query at that place says of the word there.
        `memory` is what an earlier call with `remember` gave: the words before these. Only the first of such calls may
        have padding, on the left: between a memory and the words after it, padding would count as distance.
        """
        if position_ids is not None:
            raise InputError("this encoder knows distances, not positions: leave position_ids out")
        words = self._words(input_ids, inputs_embeds)  # (B, S, W)
        mask = self._mask(words, attention_mask)
        self._check_targets(mask, perm_mask, target_mapping)
        past = [None] * len(self.blocks) if memory is None else self._past(memory, mask)
        around = self._surroundings(words, mask, token_type_ids, memory, perm_mask, target_mapping)
        streams = [self.embeddings.dropout(words)]
        if target_mapping is not None:
            queries = self.embeddings.query.expand(*target_mapping.shape[:2], -1)
            streams.append(self.embeddings.dropout(queries))  # (B, P, W)
        maps, attention_maps = [streams], []
        for block, known, scale in zip(self.blocks, past, self._head_scales(head_mask, words), strict=True):
            streams, seen = self._run(block, streams, known, around, scale, attentions)
            if feature_maps or remember:
                maps.append(streams)
            if attentions:
                attention_maps.append(seen)
        last, *targets = (self.embeddings.dropout(stream) for stream in streams)
        word_maps, *target_maps = zip(*maps, strict=True)
        seen_by = list(zip(*attention_maps, strict=True))  # the words and, if there are any, the targets
        return XLNetOutput(
            last=last,
            mask=mask,
            feature_maps=word_maps if feature_maps else None,
            attentions=seen_by[0] if attentions else None,
            targets=targets[0] if targets else None,
            target_maps=target_maps[0] if targets and feature_maps else None,
            target_attentions=seen_by[1] if targets and attentions else None,
            memory=self._remembered(word_maps[:-1], mask, memory) if remember else None,
        )

    def _surroundings(
        self,
        words: Tensor,
        mask: Tensor,
        segments: Tensor | None,
        memory: Memory | None,
        perm_mask: Tensor | None,
        target_mapping: Tensor | None,
    ) -> Surroundings:
        length, dtype = words.shape[1], words.dtype
        key_mask, key_segments = mask, segments
        if memory is not None:
            key_mask = torch.cat([memory.mask, mask], dim=1)  # (B, K)
            if segments is not None:  # what was read before counts as the first segment
                key_segments = torch.cat(
                    [torch.zeros_like(memory.mask, dtype=segments.dtype), segments], dim=1
                )
        elsewhere = None
        if segments is not None and key_segments is not None:
            elsewhere = (segments.unsqueeze(2) != key_segments.unsqueeze(1)).unsqueeze(1)  # (B, 1, S, K)
        views = [View(attention_bias(key_mask, dtype))]
        if perm_mask is not None or target_mapping is not None:
            hidden = (key_mask == 0).unsqueeze(1)  # (B, 1, K)
            if perm_mask is not None:
                before = key_mask.shape[1] - length
                hidden = hidden | nn.functional.pad(perm_mask != 0, (before, 0))  # (B, S, K)
                itself = torch.eye(length, dtype=torch.bool, device=mask.device)
                itself = nn.functional.pad(itself, (before, 0))
                views = [View(_far_below(hidden & ~itself, dtype))]  # a word sees itself, its query must not
            if target_mapping is not None:
                seeing = (~hidden.all(dim=-1)).to(dtype)[:, None, :, None]
                views.append(View(_far_below(hidden, dtype), seeing, target_mapping.to(dtype)))
        clamp = self.config.clamp_len
        distances = waves(length, key_mask.shape[1], self.config.hidden_size, clamp=clamp, like=words)
        return Surroundings(self.embeddings.dropout(distances), elsewhere, tuple(views))

    def _check_targets(self, mask: Tensor, perm_mask: Tensor | None, target_mapping: Tensor | None) -> None:
        batch, length = mask.shape
        if perm_mask is not None and perm_mask.shape != (batch, length, length):
            raise InputError(
                f"perm_mask must have the shape ({batch}, {length}, {length}), not {tuple(perm_mask.shape)}"
            )
        if target_mapping is not None and (
            target_mapping.dim() != 3 or target_mapping.shape[::2] != (batch, length)
        ):
            raise InputError(
                f"target_mapping must have the shape ({batch}, targets, {length}), not {tuple(target_mapping.shape)}"
            )

    def _past(self, memory: Memory, mask: Tensor) -> tuple[Tensor, ...]:
        if len(memory.feature_maps) != len(self.blocks) or len(memory.mask) != len(mask):
            raise InputError(
                f"the memory is of {len(memory.feature_maps)} blocks and {len(memory.mask)} rows, but this is an "
                f"encoder of {len(self.blocks)} blocks with a batch of {len(mask)} rows"
            )
        return memory.feature_maps

    def _remembered(self, maps: Sequence[Tensor], mask: Tensor, memory: Memory | None) -> Memory:
        """The end of what is known after this batch; no gradient flows into it."""
        new = slice(0, self.config.reuse_len or None)
        end = slice(-self.config.mem_len if self.config.mem_len else None, None)

        def joined(past: Tensor | None, present: Tensor) -> Tensor:
            present = present[:, new].detach()
            return (present if past is None else torch.cat([past, present], dim=1))[:, end]

        past = [None] * len(maps) if memory is None else memory.feature_maps
        return Memory(
            tuple(joined(known, present) for known, present in zip(past, maps, strict=True)),
            joined(None if memory is None else memory.mask, mask),
        )


def _far_below(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """The bias for a mask (B, 1 or S, K) that is true where nothing must be seen: (B, 1, 1 or S, K)."""
    bias = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
    return bias.masked_fill(hidden, torch.finfo(dtype).min).unsqueeze(1)


def guesses(positions: Tensor, length: int) -> dict[str, Tensor]:
    """Arguments with which the words at `positions` (B, P) are guessed from all others, in any order of their own.

    >>> sorted(guesses(torch.tensor([[2]]), length=4))
    ['perm_mask', 'target_mapping']
    """
    mapping = nn.functional.one_hot(positions, length)  # (B, P, S)
    return {"perm_mask": mapping.amax(dim=1, keepdim=True).expand(-1, length, -1), "target_mapping": mapping}


def build(config: XLNetConfig, _pooler: bool) -> XLNetEncoder:
    blocks = (Block(config) for _ in range(config.num_hidden_layers))
    encoder = XLNetEncoder(config, Embeddings(config), blocks, None)
    initialise(encoder, config.initializer_range)
    for part in encoder.modules():
        if isinstance(part, RelativeAttention | Embeddings):
            for parameter in part.parameters(recurse=False):
                nn.init.normal_(parameter, std=config.initializer_range)
    return encoder


def names(config: XLNetConfig) -> dict[str, str]:
    """Our module names to Hugging Face's."""
    table = {"embeddings.word": "word_embedding", "embeddings.query": "mask_emb"}
    block = {
        "attention.query.weight": "rel_attn.q",
        "attention.key.weight": "rel_attn.k",
        "attention.value.weight": "rel_attn.v",
        "attention.distance.weight": "rel_attn.r",
        "attention.output.weight": "rel_attn.o",
        "attention.content_bias": "rel_attn.r_w_bias",
        "attention.distance_bias": "rel_attn.r_r_bias",
        "attention.segment_bias": "rel_attn.r_s_bias",
        "attention.segment": "rel_attn.seg_embed",
        "attention_norm": "rel_attn.layer_norm",
        "feed_forward.up": "ff.layer_1",
        "feed_forward.down": "ff.layer_2",
        "feed_forward_norm": "ff.layer_norm",
    }
    for number in range(config.num_hidden_layers):
        table |= {f"blocks.{number}.{ours}": f"layer.{number}.{theirs}" for ours, theirs in block.items()}
    return table


def to_theirs(config: XLNetConfig, name: str, value: Tensor) -> Tensor:
    """Their projections are (W, H, D): transposed but for the output's, with the heads apart."""
    kind = _projection(name)
    if kind is None:
        return value
    flat = value if kind == "output" else value.T
    return flat.reshape(config.hidden_size, -1, config.hidden_size // config.num_attention_heads).contiguous()


def to_ours(_config: XLNetConfig, name: str, value: Tensor) -> Tensor:
    kind = _projection(name)
    if kind is None:
        return value
    return value.flatten(1) if kind == "output" else value.flatten(1).T.contiguous()


def _projection(name: str) -> str | None:
    *_, part, layer, leaf = ("", "", *name.split("."))
    return layer if part == "attention" and leaf == "weight" else None


SUMMARY = Summary("last", "tanh")
CLASSIFIER = {"text.dense": "sequence_summary.summary", "linear": "logits_proj"}

HEADS: dict[HeadKind, HeadForm] = {
    "permutation-lm": HeadForm("LMHeadModel", {"bias": "lm_loss.bias"}),
    "classification": HeadForm(
        "ForSequenceClassification", CLASSIFIER, dropout="summary_dropout_prob", summary=SUMMARY
    ),
    "tags": HeadForm("ForTokenClassification", {"linear": "classifier"}),
    "question-answering": HeadForm("ForQuestionAnsweringSimple", {"linear": "qa_outputs"}),
    "choice": HeadForm("ForMultipleChoice", CLASSIFIER, dropout="summary_dropout_prob", summary=SUMMARY),
}

ARCHITECTURE = Architecture(
    config=XLNetConfig,
    build=build,
    names=names,
    base="transformer",
    classes="XLNet",
    heads=HEADS,
    tied={"lm_loss.weight": "embeddings.word.weight"},
    to_theirs=to_theirs,
    to_ours=to_ours,
)

PRESETS = {
    "xlnet-base": XLNetConfig(),
    "xlnet-large": XLNetConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    ),
    "xlnet-nano": XLNetConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
    ),
}
