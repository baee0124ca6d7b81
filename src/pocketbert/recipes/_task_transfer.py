"""Transfer on a task's own texts, before its labels are learnt: what TinyBERT calls task-specific distillation.

A recipe that has a teacher for its task calls `transfer_first` on its model. Layers are compared as in `distill`; then
the recipe goes on as ever, with the teacher's soft labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.heads import Model
from pocketbert.text import Tokenizer
from pocketbert.train.fields import setting
from pocketbert.train.loop import train
from pocketbert.train.lora import LoraSettings
from pocketbert.train.trials.settings import SearchSettings
from pocketbert.transfer.layers import layer_map
from pocketbert.transfer.lesson import Lesson, Terms
from pocketbert.transfer.methods import Course, Method, schedule
from pocketbert.transfer.schedule import at, rates, total
from pocketbert.transfer.student import owners, without_dropout
from pocketbert.transfer.teacher import Teacher, check_vocabulary
from pocketbert.transfer.teaching import Teaching, check, projection, relation_heads


@dataclass(frozen=True, kw_only=True)
class TaskSettings(SearchSettings, LoraSettings):
    """A teacher, and whether its layers are learnt from before its labels."""

    teacher: str | None = setting(None, help="a model of the same task to learn from: folder or hub name")
    transfer: Literal["no", "progressive", "joint", "tinybert", "minilm"] = setting(
        "no", help="first compare layers with the teacher's, on the texts of the task"
    )
    block_steps: int = setting(500, help="steps of that transfer for each block")
    teacher_layers: str = setting(
        "uniform",
        help="the teacher's block for each of the student's: uniform, last, or a list such as 3,7,11",
    )
    transfer_learning_rate: float | None = setting(None, help="of the transfer; none: learning_rate")

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        if self.transfer != "no" and (self.teacher is None or self.block_steps < 1):
            raise InputError(f"transfer = {self.transfer} needs a teacher, and block_steps of 1 or more")


def transfer_first(
    model: Model,
    tokenizer: Tokenizer,
    settings: TaskSettings,
    *,
    examples: Sequence[Any],
    lengths: Sequence[int],
    collate: Callable[[list[Any]], dict[str, Tensor]],
) -> None:
    """Bring the model's layers near its teacher's; the run has a folder of its own, `transfer`, in output_dir."""
    if settings.transfer == "no" or settings.teacher is None:
        return
    teacher = Teacher.load(settings.teacher, precision=settings.mixed_precision)
    check_vocabulary(teacher, tokenizer, "the student")
    method: Method = settings.transfer
    blocks = len(model.encoder.blocks)
    course = Course(
        blocks=blocks,
        block_steps=settings.block_steps,
        distillation_steps=0,
        fresh=("embeddings",),
        owners=owners(model.encoder),
    )
    stages = schedule(method, course)
    check(model, teacher, stages, method=method)
    fitting = projection(model.config, teacher.config, stages)
    if fitting is not None:
        stages = schedule(method, replace(course, fresh=("embeddings", "projection")))
    terms = Terms(
        layers=layer_map(settings.teacher_layers, student=blocks, teacher=teacher.blocks),
        teacher_blocks=teacher.blocks,
        statistics=teacher.statistics,
        relation_heads=relation_heads(model.encoder, teacher.encoder),
    )
    teaching = Teaching(teacher, terms)

    def loss_function(
        lesson: nn.Module, batch: dict[str, Tensor], step: int
    ) -> tuple[Tensor, Mapping[str, float]]:
        return teaching.loss(lesson, batch, at(stages, step)[0])

    with without_dropout(model):
        train(
            Lesson(model, terms, fitting),
            examples=examples,
            lengths=lengths,
            collate=collate,
            loss_function=loss_function,
            settings=replace(
                settings,
                output_dir=settings.output_dir / "transfer",
                resume_from_checkpoint=None if settings.resume_from_checkpoint is None else "latest",
                learning_rate=settings.transfer_learning_rate or settings.learning_rate,
                max_steps=total(stages),
                eval_strategy="no",
                average_last=0,
                ema_decay=None,
            ),
            rates=rates(stages),
            identity={
                "teacher": teacher.fingerprint(),
                "stages": [[stage.name, stage.steps] for stage in stages],
                "transfer": settings.transfer,
                "teacher_layers": settings.teacher_layers,
            },
        )
