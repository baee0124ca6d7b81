"""The teacher: any encoder of the house or of transformers, frozen, with its vocabulary and its masked-LM head."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from pocketbert import hub
from pocketbert.errors import ConfigError, InputError
from pocketbert.heads import MaskedLMHead, Model, load
from pocketbert.model import PRESETS, Config, EncoderOutput
from pocketbert.model.foreign import ForeignEncoder, ForeignWords
from pocketbert.text import Tokenizer
from pocketbert.transfer.losses import Statistics
from pocketbert.transfer.views import AnyEncoder, View, Wanted, look


@dataclass(frozen=True)
class Teacher:
    """A frozen model that is looked at, never moved."""

    name: str
    model: Model | AnyEncoder
    tokenizer: Tokenizer
    precision: Literal["no", "bf16", "fp16"] = "no"

    @classmethod
    def load(cls, name_or_folder: str, *, precision: Literal["no", "bf16", "fp16"] = "no") -> Teacher:
        """Load a folder or a hub name; architectures that are not of the house come through transformers.

        In bf16 the teacher runs as fast as its student does; in fp16 it does not, for a NoNorm teacher would overflow.
        """
        if name_or_folder in PRESETS and not Path(name_or_folder).exists():
            raise InputError(
                f"the teacher {name_or_folder} is a preset, a shape without weights: train it first (pocketbert train "
                f"pretrain --model {name_or_folder} …), and name the folder that this writes"
            )
        folder = hub.resolve(name_or_folder).folder
        tokenizer = Tokenizer.load(folder)
        model: Model | AnyEncoder
        try:
            model = load(folder)
        except ConfigError as error:
            if "the architectures here are" not in str(error):
                raise
            model = ForeignEncoder.load(folder)
        return cls(name_or_folder, model.eval().requires_grad_(False), tokenizer, precision)

    @property
    def encoder(self) -> AnyEncoder:
        return self.model.encoder if isinstance(self.model, Model) else self.model

    @property
    def config(self) -> Config:
        config: Config = self.encoder.config
        return config

    @property
    def blocks(self) -> int:
        return int(self.config.num_hidden_layers)

    @property
    def words(self) -> MaskedLMHead | ForeignWords | None:
        """The masked-LM head, if there is one whose weights were loaded."""
        if isinstance(self.model, Model):
            return words_head(self.model)
        return self.model.words if isinstance(self.model, ForeignEncoder) else None

    @property
    def statistics(self) -> Statistics:
        """How its feature maps' means and variances are compared: without a norm they know no measure of their own."""
        free = getattr(self.config, "normalization_type", "layer_norm") == "no_norm"
        return "relative" if free else "absolute"

    @torch.no_grad()
    def look(self, batch: Mapping[str, Tensor], wanted: Wanted) -> View:
        """What is wanted of the teacher's reading of a batch."""
        device = batch["input_ids"].device
        self.model.to(device)
        fast = torch.autocast(device.type, torch.bfloat16) if self.precision == "bf16" else nullcontext()
        with fast:
            return look(self.encoder, batch, wanted)

    @torch.no_grad()
    def logits(self, last: Tensor) -> Tensor:
        """What the teacher says of words, given its last feature map at some positions: (B, P, W) -> (B, P, V)."""
        head = self.words
        if head is None:
            raise InputError(
                f"the teacher {self.name} has no masked-LM head, so it has no soft labels: choose a teacher that has "
                "one, or stages without the loss 'soft'"
            )
        self.model.to(last.device)
        logits: Tensor
        if isinstance(self.encoder, ForeignEncoder):
            logits = head(last)
        else:
            mask = torch.ones(last.shape[:2], dtype=torch.long, device=last.device)
            logits = head(EncoderOutput(last, mask), self.encoder.word_table).logits
        return logits

    def try_length(self, length: int) -> None:
        """Refuse sequences that it cannot read: only trying tells how many positions a foreign encoder has."""
        try:
            self.look({"input_ids": torch.full((1, length), self.tokenizer.cls_id)}, Wanted(frozenset({0})))
        except (IndexError, RuntimeError) as error:
            raise InputError(
                f"max_seq_length = {length}, but the teacher {self.name} cannot read so many tokens ({error}): give "
                "fewer, or choose another teacher"
            ) from error

    def fingerprint(self) -> str:
        """A hash of the shape and of every weight, those of the masked-LM head too."""
        digest = hashlib.sha256(json.dumps(_plain(self.config), sort_keys=True).encode())
        head = self.words if isinstance(self.model, Model) else None  # a foreign encoder has its own inside
        parts = [self.encoder, *([] if head is None else [head])]
        for name, weight in (pair for part in parts for pair in sorted(part.named_parameters())):
            digest.update(name.encode())
            digest.update(weight.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        return digest.hexdigest()


def words_head(model: Model) -> MaskedLMHead | None:
    """The masked-LM head of a model, alone or beside a head for sentences."""
    head = model.head if isinstance(model.head, MaskedLMHead) else getattr(model.head, "masked_lm", None)
    return head if isinstance(head, MaskedLMHead) else None


def check_vocabulary(teacher: Teacher, tokenizer: Tokenizer, whose: str) -> None:
    """Refuse ids that mean other words to the teacher."""
    theirs, ours = teacher.tokenizer.vocabulary(), tokenizer.vocabulary()
    if theirs != ours:
        odd = sorted(word for word in theirs.keys() | ours.keys() if theirs.get(word) != ours.get(word))
        raise InputError(
            f"the teacher {teacher.name} knows {len(theirs)} words and {whose} {len(ours)}; {len(odd)} differ, such as "
            f"{odd[0]!r}: teacher and student must have the same vocabulary, so give the student the teacher's "
            "tokenizer, or choose another teacher"
        )
    longest = teacher.config.vocab_size
    if max(ours.values()) >= longest:
        raise InputError(
            f"the vocabulary has ids up to {max(ours.values())}, but the teacher's word table ends at {longest - 1}"
        )


def _plain(config: object) -> dict[str, object]:
    """A config as JSON, without what transformers notes of where it lies and who reads it."""
    to_hf = getattr(config, "to_hf", None) or config.to_dict  # type: ignore[attr-defined]
    data: dict[str, object] = json.loads(json.dumps(to_hf(), default=str))
    return {
        name: value
        for name, value in data.items()
        if not name.startswith("_") and name != "transformers_version"
    }
