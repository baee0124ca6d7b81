"""What runs on plain text cost: the arithmetic of a stage, and the plan of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from pocketbert.data.objectives import HEADS
from pocketbert.errors import InputError
from pocketbert.heads import build
from pocketbert.model import Config, HeadKind, build_encoder
from pocketbert.train.plan import (
    Phase,
    Plan,
    forward_flops,
    kept_bytes,
    measured_speed,
    parameters,
    saved_bytes,
    training_memory,
    word_flops,
)
from pocketbert.transfer.layers import LayerMap
from pocketbert.transfer.lesson import Lesson, Terms
from pocketbert.transfer.schedule import WORD_LOSSES, Stage
from pocketbert.transfer.teaching import projection, relation_heads
from pocketbert.transfer.views import INPUTS, look


@dataclass(frozen=True)
class Costs:
    """Operations of a step of distillation on one sequence of so many tokens, some of them words to guess."""

    student: Config
    teacher: Config
    layers: Sequence[int]
    length: int
    words: int

    def phase(self, stage: Stage) -> Phase:
        """A stage as a plan has it: the teacher reads once, the student forwards and backwards."""
        return Phase(stage.name, stage.steps, self._student(stage) + self._teacher(stage))

    def _student(self, stage: Stage) -> float:
        forward = self._forward(self.student, stage.depth)
        moving = [part for part, share in stage.rates.items() if share]
        # No gradient flows below the lowest part that moves.
        blocks = [int(part.removeprefix("block.")) for part in moving if part.startswith("block.")]
        resting = 0 if "embeddings" in moving else min(blocks, default=0)
        still = self._forward(self.student, resting) if resting else 0.0
        guessing = word_flops(self.student, self.words) if _guesses(stage) else 0.0
        return 3 * forward - 2 * still + 3 * guessing

    def _teacher(self, stage: Stage) -> float:
        seen = [self.layers[block] + 1 for block in stage.layers]
        if "soft" in stage.losses or "cosine" in stage.losses:
            seen.append(self.teacher.num_hidden_layers)
        read = self._forward(self.teacher, max(seen)) if seen else 0.0
        return read + (word_flops(self.teacher, self.words) if "soft" in stage.losses else 0.0)

    def _forward(self, config: Config, depth: int | None) -> float:
        return forward_flops(config, length=self.length, depth=depth)


@dataclass(frozen=True)
class Lessons:
    """What autograd keeps of a batch in a stage: of the student, and of what its losses compare."""

    student: Config
    teacher: Config
    layers: LayerMap
    relation_heads: int | None
    head: HeadKind
    batch: int
    length: int
    words: int

    def saved_bytes(self, stage: Stage) -> int:
        """Bytes of a stage, found on torch's meta device."""
        with torch.device("meta"):
            student, teacher = build(self.student, self.head), build_encoder(self.teacher)
            heads = self.relation_heads or relation_heads(student.encoder, teacher)
            terms = Terms(layers=self.layers, teacher_blocks=len(teacher.blocks), relation_heads=heads)
            lesson = Lesson(student, terms, projection(self.student, self.teacher, [stage]))
            rows, guessed = (
                torch.zeros(self.batch, size, dtype=torch.long) for size in (self.length, self.words)
            )
            batch = dict.fromkeys(INPUTS, rows) | {"attention_mask": torch.ones_like(rows)}
            batch |= {"positions": guessed, "labels": guessed, "sentence_labels": guessed[:, 0]}
            with torch.no_grad():
                taught = look(teacher, batch, terms.teaching(stage))
            logits = torch.empty(self.batch, self.words, self.teacher.vocab_size)
            soft = logits if "soft" in stage.losses else None
            return kept_bytes(lesson, lambda: lesson(batch, stage, taught, soft))


def planned(
    settings: Any,
    phases: Sequence[Phase],
    model: Config,
    teacher: Config | None = None,
    activations: int | None = None,
) -> Plan:
    """The plan of a run; `settings` have the number of processes and, unless it is to be measured, their speed.

    `activations` are the bytes that autograd keeps of a batch; by default those of the model that guesses words.
    """
    batch, length, head = (
        settings.per_device_train_batch_size,
        settings.max_seq_length,
        HEADS[settings.objective],
    )
    speed = settings.flops_per_second
    if settings.processes < 1 or (speed is not None and speed <= 0):
        raise InputError(
            f"processes = {settings.processes} and flops_per_second = {speed}: there must be 1 process at least, and a "
            "speed above 0, or none to measure this machine"
        )
    shards = settings.processes if settings.sharding == "full" else 1
    memory = training_memory(parameters(model, head), shards=shards)
    if teacher is not None:
        memory["teacher"] = 4 * parameters(teacher, head)
    if activations is None:
        logits = 8 * batch * words_of(settings) * model.vocab_size  # of the word table, and their gradient
        activations = saved_bytes(model, batch=batch, length=length) + logits
    memory["activations"] = activations
    return Plan(
        phases=phases,
        sequences=batch * settings.gradient_accumulation_steps * settings.processes,
        length=length,
        processes=settings.processes,
        flops_per_second=speed or measured_speed(model, batch=min(batch, 8), length=length),
        measured=speed is None,
        memory=memory,
    )


def within(stages: Sequence[Stage], max_steps: int | None) -> list[Stage]:
    """The stages, or what of them comes before a run's last step."""
    found: list[Stage] = []
    for stage in stages:
        left = None if max_steps is None else max_steps - sum(before.steps for before in found)
        if left is None or left > 0:
            found.append(stage if left is None else replace(stage, steps=min(stage.steps, left)))
    return found


def words_of(settings: Any) -> int:
    """How many words of a sequence are to be guessed."""
    share: int = round(settings.mlm_probability * settings.max_seq_length)
    return min(share, int(settings.max_predictions_per_seq or share))


def _guesses(stage: Stage) -> bool:
    return any(name in stage.losses for name in WORD_LOSSES)
