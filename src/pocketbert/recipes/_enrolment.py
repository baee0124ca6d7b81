"""Who is taught: a student, what it takes over from its teacher, and the stages that it will go through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pocketbert import hub
from pocketbert.data.objectives import HEADS
from pocketbert.errors import InputError
from pocketbert.heads import Model, build, load
from pocketbert.model import PRESETS, Config, Encoder
from pocketbert.recipes._plans import within
from pocketbert.recipes._texts import check_head, fresh_config
from pocketbert.text import Tokenizer
from pocketbert.transfer.layers import layer_map
from pocketbert.transfer.lesson import Lesson, Terms
from pocketbert.transfer.methods import Course, Method, Weights, schedule
from pocketbert.transfer.schedule import WORD_LOSSES, Stage
from pocketbert.transfer.student import Initialise, initialise, owners, shaped
from pocketbert.transfer.teacher import Teacher, check_vocabulary
from pocketbert.transfer.teaching import check, check_relation_heads, projection, relation_heads

if TYPE_CHECKING:
    from pocketbert.recipes.distill import Settings

COPIED: dict[Method, Initialise] = {"progressive": "ends", "joint": "ends", "distilbert": "blocks"}
"""What a fresh student takes over from its teacher, as the methods' authors have it; elsewhere nothing."""


@dataclass(frozen=True, kw_only=True)
class Enrolment:
    """A student that is ready to learn."""

    lesson: Lesson
    stages: tuple[Stage, ...]
    missed: tuple[str, ...]
    """Parts that were to be copied and could not be."""
    ends_with_words: bool
    speaks: bool
    """Whether its head will know words: one that is neither copied nor loaded nor taught is noise."""


def newcomer(settings: Settings, teacher: Teacher) -> tuple[Model, bool]:
    """The student before its first lesson, and whether it brings weights of its own."""
    head = HEADS[settings.objective]
    config: Config | None = None
    if not settings.student.isdecimal():
        config = fresh_config(settings.student)
    elif isinstance(teacher.encoder, Encoder):
        config = replace(teacher.config, num_hidden_layers=int(settings.student))
    else:
        raise InputError(
            f"student = {settings.student}: only an encoder of the house can lend its shape; name a preset"
        )
    if config is not None:
        check_head(config, head, settings.objective)
        return build(shaped(config, teacher), head), False
    folder = hub.resolve(settings.student, presets=list(PRESETS)).folder
    check_vocabulary(teacher, Tokenizer.load(folder), f"the student {settings.student}")
    return load(folder, head=head), True


def enrolled(settings: Settings, student: Model, teacher: Teacher, *, loaded: bool) -> Enrolment:
    """The student with all it needs to learn, checked before anything that takes long."""
    check_vocabulary(teacher, teacher.tokenizer, "its own word table")
    blocks = len(student.encoder.blocks)
    layers = layer_map(settings.teacher_layers, student=blocks, teacher=teacher.blocks)
    how = settings.initialise
    if how == "auto":
        how = "fresh" if loaded else COPIED.get(settings.method, "fresh")
    fresh = initialise(student, teacher, how, layers)
    if "embeddings" in fresh and settings.initialise in ("ends", "blocks"):
        raise InputError(
            f"initialise = {settings.initialise}: the embeddings of the teacher {teacher.name} cannot be copied, for "
            "their shapes differ from the student's or they are of an architecture that is not of the house; give "
            "--initialise fresh, or a student of the teacher's own shape"
        )
    course = course_of(settings, blocks, fresh=fresh, sharing=owners(student.encoder))
    stages = schedule(settings.method, course)
    check(student, teacher, stages, method=settings.method)
    if settings.early_stopping_patience is not None and not all(map(has_words, stages)):
        raise InputError(
            f"early_stopping_patience = {settings.early_stopping_patience}: with --method {settings.method} there are "
            "stages that teach layers and no words, by which runs are scored, so it would end them too early: leave it "
            "out"
        )
    fitting = projection(student.config, teacher.config, stages)
    if fitting is not None:
        stages = schedule(settings.method, replace(course, fresh=(*fresh, "projection")))
    if settings.method == "minilm" and settings.relation_heads is not None:
        check_relation_heads(settings.relation_heads, student.encoder, teacher.encoder)
    warmth = 2.0 if settings.method == "distilbert" else 1.0
    terms = Terms(
        layers=layers,
        teacher_blocks=teacher.blocks,
        statistics=teacher.statistics if settings.statistics == "auto" else settings.statistics,
        temperature=warmth if settings.temperature is None else settings.temperature,
        relation_heads=settings.relation_heads or relation_heads(student.encoder, teacher.encoder),
    )
    done = within(stages, settings.max_steps)
    return Enrolment(
        lesson=Lesson(student, terms, fitting),
        stages=stages,
        missed=() if how == "fresh" else fresh,
        ends_with_words=has_words(done[-1]),
        speaks=(loaded and not _has_new_head(student)) or "head" not in fresh or any(map(has_words, done)),
    )


def course_of(
    settings: Settings, blocks: int, *, fresh: Sequence[str] = (), sharing: Sequence[int] | None = None
) -> Course:
    """The length and pace of a run: warm-up and end are those of its last stage."""
    last = settings.distillation_steps or blocks * settings.block_steps
    warmup = settings.warmup_steps
    return Course(
        blocks=blocks,
        block_steps=settings.block_steps,
        distillation_steps=settings.distillation_steps,
        weights=Weights(
            feature_map=settings.feature_map_weight,
            attention=settings.attention_weight,
            mean=settings.mean_weight,
            variance=settings.variance_weight,
            alpha=settings.alpha,
        ),
        lower_rate=settings.lower_rate,
        stage_warmup=settings.stage_warmup_steps,
        warmup=round(settings.warmup_ratio * last) if warmup is None else warmup,
        end=1.0 if settings.lr_scheduler_type == "constant" else settings.lr_end_ratio,
        fresh=fresh,
        owners=sharing,
    )


def has_words(stage: Stage) -> bool:
    """Whether a stage teaches to guess words."""
    return any(name in stage.losses for name in WORD_LOSSES)


def _has_new_head(student: Model) -> bool:
    """Whether a folder had no weights for the head that guesses words."""
    report: Any = student.report
    return f"the {student.kind} head" in report.new
