"""What runs on plain text cost: the arithmetic of a stage, and the plan of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pocketbert.data.objectives import HEADS
from pocketbert.model import Config
from pocketbert.train.plan import (
    Phase,
    Plan,
    forward_flops,
    measured_speed,
    parameters,
    saved_bytes,
    training_memory,
    word_flops,
)
from pocketbert.transfer.schedule import WORD_LOSSES, Stage


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


def planned(settings: Any, phases: Sequence[Phase], model: Config, teacher: Config | None = None) -> Plan:
    """The plan of a run; `settings` have the number of processes and, unless it is to be measured, their speed."""
    batch, length, head = (
        settings.per_device_train_batch_size,
        settings.max_seq_length,
        HEADS[settings.objective],
    )
    speed = settings.flops_per_second
    shards = settings.processes if settings.sharding == "full" else 1
    memory = training_memory(parameters(model, head), shards=shards)
    if teacher is not None:
        memory["teacher"] = 4 * parameters(teacher, head)
    logits = 8 * batch * words_of(settings) * model.vocab_size  # of the word table, and their gradient
    memory["activations"] = saved_bytes(model, batch=batch, length=length) + logits
    return Plan(
        phases=phases,
        sequences=batch * settings.gradient_accumulation_steps * settings.processes,
        length=length,
        processes=settings.processes,
        flops_per_second=speed or measured_speed(model, batch=min(batch, 8), length=length),
        measured=speed is None,
        memory=memory,
    )


def words_of(settings: Any) -> int:
    """How many words of a sequence are to be guessed."""
    share: int = round(settings.mlm_probability * settings.max_seq_length)
    return min(share, int(settings.max_predictions_per_seq or share))


def _guesses(stage: Stage) -> bool:
    return any(name in stage.losses for name in WORD_LOSSES)
