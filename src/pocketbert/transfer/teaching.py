"""The teacher's side of a lesson: what it shows of a batch at a stage, live or from its cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import torch
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.heads import Model
from pocketbert.model import Config
from pocketbert.model.foreign import ForeignEncoder
from pocketbert.transfer import losses
from pocketbert.transfer.cache import Cache
from pocketbert.transfer.lesson import Lesson, Terms, pick
from pocketbert.transfer.methods import Method, without_soft_labels
from pocketbert.transfer.schedule import Stage
from pocketbert.transfer.teacher import Teacher
from pocketbert.transfer.views import (
    AnyEncoder,
    Wanted,
    attention_width,
    count_heads,
    hidden_vectors,
    look,
    shows_scores,
    shows_vectors,
)


@dataclass(frozen=True)
class Teaching:
    """A teacher with the terms on which it is compared, and the cache that may speak for it."""

    teacher: Teacher
    terms: Terms
    cache: Cache | None = None

    def loss(
        self, lesson: nn.Module, batch: Mapping[str, Tensor], stage: Stage
    ) -> tuple[Tensor, dict[str, float]]:
        """What a student loses on a batch; `lesson` may be wrapped. A cache needs the examples' `numbers` (B)."""
        wanted = self.terms.teaching(stage)
        taught, logits = None, None
        if wanted != Wanted():
            if self.cache is None:
                taught = self.teacher.look(batch, wanted)
            else:
                taught = self.cache.view(batch["numbers"].tolist(), batch["attention_mask"], wanted)
        if "soft" in stage.losses and taught is not None:
            logits = self.teacher.logits(pick(taught.map(self.terms.teacher_blocks), batch["positions"]))
        total, parts = lesson(batch, stage, taught, logits)
        return total, {name: float(value) for name, value in parts.items()}

    def wanted(self, stages: Iterable[Stage]) -> Wanted:
        """All that a whole schedule looks at."""
        found = Wanted()
        for stage in stages:
            found |= self.terms.teaching(stage)
        return found

    @torch.no_grad()
    def distances(self, lesson: Lesson, batches: Sequence[Mapping[str, Tensor]]) -> list[dict[str, float]]:
        """How far each block of the student is from its teacher's, where widths or heads are alike."""
        student, terms = lesson.student, self.terms
        blocks = range(len(terms.layers))
        wide = lesson.projection is not None or student.config.hidden_size == self.teacher.config.hidden_size
        alike = count_heads(student.encoder) == count_heads(self.teacher.encoder)
        rows: list[dict[str, float]] = [{} for _ in blocks]
        device = next(student.parameters()).device
        examples = sum(len(batch["input_ids"]) for batch in batches)
        for given in batches:
            batch = {name: value.to(device) for name, value in given.items()}
            share = len(batch["input_ids"]) / examples
            own = Wanted(frozenset(block + 1 for block in blocks), frozenset(blocks if alike else ()))
            theirs = Wanted(
                frozenset(source + 1 for source in terms.layers), frozenset(terms.layers if alike else ())
            )
            seen, taught = look(student.encoder, batch, own), self.teacher.look(batch, theirs)
            for block, source in zip(blocks, terms.layers, strict=True):
                found: dict[str, Tensor] = {}
                if wide:
                    fitted = lesson.fit(seen.map(block + 1))
                    found["feature_map"] = losses.feature_map(fitted, taught.map(source + 1), seen.mask)
                if alike:
                    found["attention"] = losses.attention(
                        seen.scores(block), taught.scores(source), seen.mask
                    )
                for name, value in found.items():
                    rows[block][name] = rows[block].get(name, 0.0) + float(value) * share
        return rows


def check(student: Model, teacher: Teacher, stages: Iterable[Stage], *, method: Method) -> None:
    """Refuse, before the first step, a schedule that this teacher or this student cannot follow."""
    needed = {name for stage in stages for name in stage.losses}
    if "soft" in needed:
        _check_words(student, teacher, method)
    own, theirs = count_heads(student.encoder), count_heads(teacher.encoder)
    if needed & {"attention", "scores"} and own != theirs:
        raise InputError(
            f"the student has {own} attention heads and the teacher {theirs}, so they cannot be compared head by head: "
            "use --method minilm, whose relations need no equal heads, or --attention_weight 0"
        )
    if "scores" in needed and not (shows_scores(student.encoder) and shows_scores(teacher.encoder)):
        raise InputError(
            "TinyBERT compares scores that follow from queries and keys alone; here the attention has more in it: use "
            "--method minilm or joint"
        )
    if "relations" in needed and not shows_vectors(teacher.encoder):
        raise InputError(hidden_vectors(teacher.encoder))


def _check_words(student: Model, teacher: Teacher, method: Method) -> None:
    """Refuse soft labels that the teacher does not have, or that are of another length than the student's."""
    settings = " or ".join(without_soft_labels(method))
    way_out = f"give {settings}" if settings else "use --method joint with --distillation_steps 0"
    if teacher.words is None:
        training = (
            "train one on the frozen body first (pocketbert train pretrain --model … --freeze_embeddings "
            "--freeze_layers …), or "
        )
        raise InputError(
            f"the teacher {teacher.name} has no masked-LM head, so it has no soft labels: "
            f"{'' if isinstance(teacher.encoder, ForeignEncoder) else training}{way_out}"
        )
    rows = int(student.config.vocab_size), int(teacher.config.vocab_size)
    if rows[0] != rows[1]:
        raise InputError(
            f"the student's word table has {rows[0]:,} rows and the teacher's {rows[1]:,}, so their words cannot be "
            f"compared: give both the same number (padding of tables counts), or {way_out}"
        )


def relation_heads(student: AnyEncoder, teacher: AnyEncoder) -> int:
    """The most relation heads, up to the larger number of attention heads, that divide both widths."""
    shared = gcd(attention_width(student), attention_width(teacher))
    most = max(count_heads(student), count_heads(teacher))
    return max(heads for heads in range(1, most + 1) if shared % heads == 0)


def check_relation_heads(heads: int, student: AnyEncoder, teacher: AnyEncoder) -> None:
    """Refuse a number of relation heads that does not divide the widths of both."""
    widths = attention_width(student), attention_width(teacher)
    if any(width % heads for width in widths):
        raise InputError(
            f"relation_heads is {heads}, but the attention of student and teacher is {widths[0]} and {widths[1]} wide: "
            "choose a divisor of both, or leave it out for as many as fit"
        )


def projection(student: Config, teacher: Config, stages: Iterable[Stage]) -> nn.Module | None:
    """What brings the student's feature maps to the teacher's width; TinyBERT learns one even between equals."""
    needed = {name for stage in stages for name in stage.losses}
    own, theirs = int(student.hidden_size), int(teacher.hidden_size)
    by_map = needed & {"feature_map", "mean", "variance", "cosine"}
    if needed & {"hidden", "embeddings"} or (by_map and own != theirs):
        return nn.Linear(own, theirs)
    return None
