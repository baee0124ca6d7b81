"""A student at its first hour: its shape, and what it takes over from its teacher."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.heads import MaskedLMHead, Model
from pocketbert.model import Config, Encoder
from pocketbert.model.layers import NoNorm, SelfAttention
from pocketbert.model.relative import RelativeAttention
from pocketbert.transfer.layers import LayerMap
from pocketbert.transfer.teacher import Teacher, words_head
from pocketbert.transfer.views import Wanted, look

Initialise = Literal["fresh", "ends", "blocks"]

# What a student's text looks like is its teacher's: segments, and how far positions reach.
_TEXT = ("type_vocab_size", "max_position_embeddings")


def shaped(config: Config, teacher: Teacher) -> Config:
    """A preset's shape with the teacher's vocabulary and, in the same family, its segments and positions."""
    theirs = teacher.config
    changes: dict[str, Any] = {"vocab_size": int(theirs.vocab_size), "pad_token_id": teacher.tokenizer.pad_id}
    if isinstance(theirs, type(config)):  # families count their positions differently
        changes |= {
            field.name: getattr(theirs, field.name) for field in fields(config) if field.name in _TEXT
        }
    return replace(config, **changes)


@torch.no_grad()
def initialise(student: Model, teacher: Teacher, how: Initialise, layers: LayerMap) -> tuple[str, ...]:
    """Copy from the teacher; returns the parts (`embeddings`, `head`) that stay fresh because they do not fit.

    `ends` copies the embeddings and the head, between which transfer teaches the blocks (MobileBERT). `blocks` copies,
    besides, to each block the teacher's that it is mapped to (DistilBERT takes every second one).
    """
    if how == "fresh" or not isinstance(teacher.encoder, Encoder):
        return ("embeddings", "head")
    fresh = []
    if not _copy(student.encoder.embeddings, teacher.encoder.embeddings):
        fresh.append("embeddings")
    own, theirs = words_head(student), teacher.words
    # Its word table is the embeddings': without them a head means nothing.
    if own is None or theirs is None or fresh or not _copy(own, theirs):
        fresh.append("head")
    else:
        _copy_rest(student, teacher)
    if how == "blocks":
        for number, source in enumerate(layers):
            if not _copy(student.encoder.blocks[number], teacher.encoder.blocks[source]):
                raise InputError(
                    f"block {source} of the teacher cannot be copied to block {number} of the student: their shapes "
                    f"differ ({_shape(teacher.encoder)} and {_shape(student.encoder)}); use --initialise ends"
                )
    return tuple(fresh)


@torch.no_grad()
def fit_norm(student: Model, teacher: Teacher, batch: Mapping[str, Tensor]) -> bool:
    """Give copied embeddings the scale they had, where the teacher normalises them and the student does not.

    A NoNorm multiplies and adds by channel. It is fitted, by least squares over the tokens of a batch, to what the
    teacher's norm makes of the same sums; a copy of the norm's own weights would leave them at any scale. Says whether
    there was anything to fit.
    """
    if not isinstance(teacher.encoder, Encoder):
        return False
    own, theirs = (
        getattr(encoder.embeddings, "norm", None) for encoder in (student.encoder, teacher.encoder)
    )
    table = teacher.encoder.word_table
    copied = student.encoder.word_table.shape == table.shape and torch.equal(
        student.encoder.word_table, table
    )
    if not (copied and isinstance(own, NoNorm) and isinstance(theirs, nn.LayerNorm)):
        return False
    own.weight.fill_(1.0)
    own.bias.fill_(0.0)
    sums, wanted = (
        look(encoder, batch, Wanted(frozenset({0}))).map(0)[batch["attention_mask"] != 0].double()
        for encoder in (student.encoder, teacher.encoder)
    )  # (tokens, W)
    centred = sums - sums.mean(0)
    slope = (centred * (wanted - wanted.mean(0))).mean(0) / centred.square().mean(0).clamp(min=1e-12)
    own.weight.copy_(slope)
    own.bias.copy_(wanted.mean(0) - slope * sums.mean(0))
    return True


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Within, dropout is off: the reference trains students without it, for noise hides what is to be matched."""
    kept = [(part, name, getattr(part, name)) for part, name in _dropouts(model)]
    for part, name, _ in kept:
        setattr(part, name, 0.0)
    try:
        yield
    finally:
        for part, name, value in kept:
            setattr(part, name, value)


def owners(encoder: Encoder) -> tuple[int, ...]:
    """For each block the first that has the same weights: itself, but where blocks share them."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(id(block), number) for number, block in enumerate(encoder.blocks))


def _dropouts(model: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """The modules that drop something, and the attribute that says how much."""
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            yield part, "p"
        elif isinstance(part, SelfAttention | RelativeAttention):
            yield part, "dropout"


def _copy(target: nn.Module, source: nn.Module) -> bool:
    """Copy all weights if every one has its like; otherwise none."""
    given = dict(source.named_parameters())
    weights = dict(target.named_parameters())
    if any(name not in given or given[name].shape != weight.shape for name, weight in weights.items()):
        return False
    for name, weight in weights.items():
        weight.copy_(given[name])
    return True


def _copy_rest(student: Model, teacher: Teacher) -> None:
    """The pooler and the head that judges two sentences, where both have them."""
    pairs = [
        (student.encoder.pooler, teacher.encoder.pooler if isinstance(teacher.encoder, Encoder) else None)
    ]
    if isinstance(teacher.model, Model) and not isinstance(student.head, MaskedLMHead):
        pairs += [
            (getattr(student.head, name, None), getattr(teacher.model.head, name, None))
            for name in ("next_sentence", "sentence_order")
        ]
    for target, source in pairs:
        if target is not None and source is not None:
            _copy(target, source)


def _shape(encoder: Encoder) -> str:
    config = encoder.config
    inner = getattr(config, "intra_bottleneck_size", None)
    narrow = "" if inner is None else f", {inner} inside"
    return f"{config.model_type}, width {config.hidden_size}{narrow}, {config.num_attention_heads} heads"
