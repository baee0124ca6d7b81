"""An encoder with a head on it: the form in which every task is trained, saved and loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.heads.classify import ChoiceHead, ClassificationHead, Problem
from pocketbert.heads.masked_lm import MaskedLMHead
from pocketbert.heads.next_sentence import NextSentenceHead, PreTrainingHead
from pocketbert.heads.permutation_lm import PermutationLMHead
from pocketbert.heads.sentence_order import OrderPreTrainingHead, SentenceOrderHead
from pocketbert.heads.span import SpanHead
from pocketbert.heads.tags import TagHead
from pocketbert.model import Config, Encoder, HeadKind, architecture, build_encoder, preset
from pocketbert.model.layers import initialise


class Model(nn.Module):
    """`encoder` and `head`, and which of the known heads it is (none for one without weights to save).

    Calling it takes what the encoder takes, and the head's labels by name; what comes back is the head's output, with
    the loss where labels were given.
    """

    def __init__(
        self, encoder: Encoder, head: nn.Module, kind: HeadKind | None = None, labels: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.kind: HeadKind | None = kind
        self.labels = tuple(labels)

    @property
    def config(self) -> Config:
        return self.encoder.config

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
        **labels: Any,
    ) -> Any:
        if self.kind == "choice":  # (B, choices, S): every choice is a row of its own for the encoder
            given = inputs_embeds if input_ids is None else input_ids
            if given is None or given.dim() < 3:
                raise InputError("a choice between texts takes inputs of the shape (batch, choices, length)")
            labels["choices"] = given.shape[1]
            input_ids, attention_mask, token_type_ids, inputs_embeds = (
                None if part is None else part.flatten(0, 1)
                for part in (input_ids, attention_mask, token_type_ids, inputs_embeds)
            )
        extras = {name: labels.pop(name) for name in self.encoder.extras if name in labels}
        output = self.encoder(
            input_ids,
            attention_mask,
            token_type_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            head_mask=head_mask,
            feature_maps=feature_maps,
            attentions=attentions,
            **extras,
        )
        return self.head(output, self.encoder.word_table, **labels)

    def resize_vocabulary(self, size: int) -> None:
        """Grow or shrink every table that has a row or a column a word."""
        self.encoder.resize_vocabulary(size)
        resize: Callable[[int], None] | None = getattr(self.head, "resize_vocabulary", None)
        if resize is not None:
            resize(size)

    def save(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors, as Hugging Face's own classes would."""
        from pocketbert.heads.folder import save

        save(self, folder)


def build(
    config: Config | str,
    head: HeadKind | None = None,
    *,
    labels: Sequence[str] | int = 2,
    problem: Problem = "single",
) -> Any:
    """A model with fresh weights from a config or a preset's name; without a head, the encoder alone.

    `labels` are the label names, or how many there are, for classification and tags.

    >>> build("mobilebert-nano", "question-answering").kind
    'question-answering'
    """
    config = preset(config) if isinstance(config, str) else config
    if head is None:
        return build_encoder(config)
    names = tuple(f"LABEL_{number}" for number in range(labels)) if isinstance(labels, int) else tuple(labels)
    part = _head(config, head, names, problem)
    initialise(part, config.initializer_range)
    encoder = build_encoder(config, pooler=bool(part.needs_pooler))
    return Model(encoder, part, head, names if head in ("classification", "tags") else ())


def _head(config: Config, kind: HeadKind, labels: tuple[str, ...], problem: Problem) -> nn.Module:
    family = architecture(config.model_type)
    if kind not in get_args(HeadKind):
        raise InputError(f"there is no head {kind!r}; the heads are {', '.join(get_args(HeadKind))}")
    if kind not in family.heads:
        raise InputError(
            f"a {family.classes} model has no head {kind!r}; its heads are {', '.join(family.heads)}"
        )
    if kind in ("classification", "tags") and not labels:
        raise InputError(f"a model for {kind} needs at least one label; none was given")
    form, width = family.heads[kind], config.hidden_size
    dropout = 0.0 if form.dropout is None else float(getattr(config, form.dropout))
    if kind == "classification":
        return ClassificationHead(width, len(labels), problem=problem, dropout=dropout, summary=form.summary)
    if kind == "choice":
        return ChoiceHead(width, dropout=dropout, summary=form.summary)
    if kind == "tags":
        return TagHead(width, len(labels), dropout=dropout)
    if kind == "question-answering":
        return SpanHead(width, dropout=dropout)
    if kind == "next-sentence":
        return NextSentenceHead(width)
    if kind == "permutation-lm":
        return PermutationLMHead(config.vocab_size)
    masked_lm = MaskedLMHead(
        width,
        getattr(config, "embedding_size", width),
        config.vocab_size,
        form.activation or config.hidden_act,
        config.layer_norm_eps,
        narrow=form.narrow,
    )
    if kind == "masked-lm":
        return masked_lm
    if form.sentences == "order":
        return OrderPreTrainingHead(masked_lm, SentenceOrderHead(width, dropout=dropout))
    return PreTrainingHead(masked_lm, NextSentenceHead(width))
