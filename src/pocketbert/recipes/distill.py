"""Teach a small model what a large one knows, layer by layer.

    pocketbert distill --teacher teacher --student mobilebert-bench --method progressive --preset bench \
        --train_file corpus --output_dir student

The teacher is any encoder with its tokenizer; the student is a preset or a config.json for fresh weights, a number for
the teacher's shape with so many blocks, or a folder to go on with. Methods: progressive, joint and auxiliary transfer
and none (MobileBERT, arXiv 2004.02984), distilbert, tinybert and minilm. All take blocks x block_steps +
distillation_steps steps. Expect the student's masked-LM accuracy to come near its teacher's, and `distances.json` to
say how near each layer came. The output folder holds the student with its head, its tokenizer and a model card.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from pocketbert import checkpoint
from pocketbert.data.objectives import HEADS, Example, Examples, Objective, score, unigram_baseline
from pocketbert.errors import InputError
from pocketbert.heads import save
from pocketbert.model import Encoder
from pocketbert.recipes._enrolment import Enrolment, course_of, enrolled, newcomer
from pocketbert.recipes._plans import Costs, Lessons, planned, within, words_of
from pocketbert.recipes._texts import (
    TextSettings,
    checked_length,
    goal_of,
    known_config,
    learnt,
    prepared,
    to_learn_from,
    to_measure_by,
    tokens_folder,
)
from pocketbert.train.card import write_card
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.loop import train
from pocketbert.train.plan import Plan
from pocketbert.train.seeds import seed_everything
from pocketbert.train.settings import LoopSettings
from pocketbert.train.together import main_first, processes, wait_for_all
from pocketbert.transfer.cache import Cache, fingerprint
from pocketbert.transfer.layers import layer_map
from pocketbert.transfer.methods import Method, schedule
from pocketbert.transfer.schedule import Stage, at, rates, total
from pocketbert.transfer.student import fit_norm, without_dropout
from pocketbert.transfer.teacher import Teacher
from pocketbert.transfer.teaching import Teaching

MEASURED = 128
"""Held-out examples that distances are measured on."""
TERMS = (
    "method", "teacher_layers", "initialise", "feature_map_weight", "attention_weight", "mean_weight",
    "variance_weight", "statistics", "alpha", "temperature", "relation_heads", "lower_rate", "student_dropout",
)  # fmt: skip
"""What a student begins with and is compared by. Whoever changes it begins another run."""
_LAYERWISE: tuple[Method, ...] = ("progressive", "joint", "auxiliary")
USED_BY: dict[str, tuple[Method, ...]] = {
    "feature_map_weight": _LAYERWISE,
    "mean_weight": _LAYERWISE,
    "variance_weight": _LAYERWISE,
    "statistics": _LAYERWISE,
    "attention_weight": (*_LAYERWISE, "tinybert"),
    "lower_rate": ("progressive",),
    "alpha": (*_LAYERWISE, "none", "tinybert", "minilm"),
}
"""Settings that some methods alone look at; elsewhere they would change nothing."""


@dataclass(frozen=True, kw_only=True)
class Settings(TextSettings):
    """Who teaches whom, and how."""

    teacher: str = setting(help="a folder or a hub name")
    student: str = setting(
        help="a preset, a config.json, or a number of the teacher's blocks; a folder or a hub name to go on with"
    )
    method: Method = setting("progressive", help="how knowledge is transferred")  # noqa: RUF009
    teacher_layers: str = setting(
        "uniform",
        help="the teacher's block for each of the student's: uniform, last, or a list such as 3,7,11",
    )
    initialise: Literal["auto", "fresh", "ends", "blocks"] = setting(
        "auto",
        help="what is copied: nothing, embeddings and head, or blocks too; auto: as the method's authors do",
    )
    block_steps: int = setting(1000, help="steps of transfer for each block of the student")
    distillation_steps: int = setting(10_000, help="steps after the transfer, on masked words")
    lower_rate: float = setting(
        0.1, help="progressive: share of the rate for blocks that have had their turn"
    )
    stage_warmup_steps: int = setting(
        0, help="steps of warm-up in every stage of progressive and joint transfer"
    )
    feature_map_weight: float = setting(100.0, help="weight of feature-map transfer")
    attention_weight: float = setting(1.0, help="weight of attention transfer")
    mean_weight: float = setting(5000.0, help="weight of the feature maps' means")
    variance_weight: float = setting(5.0, help="weight of the feature maps' variances")
    statistics: Literal["auto", "absolute", "relative"] = setting(
        "auto",
        help="means and variances as they are, or relative to the teacher's variance; auto: if it has no norm",
    )
    alpha: float = setting(0.5, help="share of the true words; the teacher's soft labels have the rest")
    temperature: float | None = setting(None, help="of the soft labels; none: 2 for distilbert, else 1")
    relation_heads: int | None = setting(None, help="minilm: heads of the relations; none: as many as fit")
    student_dropout: bool = setting(
        False, help="keep the student's dropout while it learns", flag_value="true"
    )
    cache_dir: Path | None = setting(  # noqa: RUF009
        None, help="folder for what the teacher shows; then every example is masked once, alike in all epochs"
    )
    learning_rate: float = setting(1e-3, help="peak rate")
    num_train_epochs: float = setting(
        LoopSettings.num_train_epochs,
        help="not used: block_steps and distillation_steps say how long a run is",
    )

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        if self.num_train_epochs != LoopSettings.num_train_epochs:
            raise InputError(
                f"num_train_epochs = {self.num_train_epochs}: how long a run is follows from block_steps and "
                "distillation_steps; give these instead"
            )
        for name, methods in USED_BY.items():
            default = type(self).__dataclass_fields__[name].default
            if self.method not in methods and getattr(self, name) != default:
                raise InputError(
                    f"{name} = {getattr(self, name)}: --method {self.method} has no use for it, only "
                    f"{', '.join(methods)}: leave it out"
                )
        if self.stage_warmup_steps < 0:
            raise InputError(f"stage_warmup_steps = {self.stage_warmup_steps}: must be at least 0")
        if self.relation_heads is not None and self.relation_heads < 1:
            raise InputError(
                f"relation_heads = {self.relation_heads}: must be 1 or more, and divide both widths of attention"
            )


class Once(Sequence[Example]):
    """Examples that are the same in every epoch, so that a teacher needs to read them only once."""

    def __init__(self, examples: Examples) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, number: Any) -> Any:
        return self.examples[number]


def run(settings: Settings) -> dict[str, Any]:
    """Prepare the corpus, teach, evaluate, and write the student to output_dir."""
    if settings.objective == "permutation":
        raise InputError(
            "objective = permutation: distillation compares masked words; choose another objective"
        )
    seed_everything(settings.seed)
    teacher = Teacher.load(settings.teacher, precision=settings.mixed_precision)
    student, loaded = newcomer(settings, teacher)
    goal = goal_of(settings, teacher.tokenizer, student.config)
    if isinstance(teacher.encoder, Encoder):
        checked_length(settings.max_seq_length, teacher.config)
    else:
        teacher.try_length(settings.max_seq_length)
    enrolment = enrolled(settings, student, teacher, loaded=loaded)
    lesson, stages = enrolment.lesson, enrolment.stages
    tokens, held_out = prepared(settings, teacher.tokenizer)
    examples = to_learn_from(settings, goal, tokens)
    held_examples = to_measure_by(settings, goal, held_out)
    baseline = unigram_baseline(held_examples, goal, tokens.counts())
    teaching = Teaching(teacher, lesson.terms)
    fit_norm(student, teacher, goal.collate([examples[number] for number in range(min(64, len(examples)))]))
    if settings.cache_dir is not None:
        teaching = replace(teaching, cache=filled(settings, teaching, stages, examples, goal))

    def collate(batch: Sequence[Example]) -> dict[str, Tensor]:
        return goal.collate(batch) | {"numbers": torch.tensor([example.draw[2] for example in batch])}

    def loss_function(
        model: nn.Module, batch: dict[str, Tensor], step: int
    ) -> tuple[Tensor, Mapping[str, float]]:
        return teaching.loss(model, batch, at(stages, step)[0])

    steps = total(stages)

    def evaluate(_lesson: nn.Module) -> dict[str, float]:
        return {**score(student, held_examples, goal), **baseline}

    with nullcontext() if settings.student_dropout else without_dropout(student):
        result = train(
            lesson,
            examples=examples if settings.cache_dir is None else Once(examples),
            lengths=examples.lengths,
            collate=collate,
            loss_function=loss_function,
            settings=replace(settings, max_steps=min(settings.max_steps or steps, steps)),
            evaluate=evaluate if enrolment.speaks else None,
            best="masked_lm_loss" if enrolment.ends_with_words else None,
            greater_is_better=False,
            rates=rates(stages),
            data_files=[tokens_folder(settings) / "index.json"],
            identity={
                "teacher": teacher.fingerprint(),
                "stages": [[stage.name, stage.steps] for stage in stages],
                **{name: getattr(settings, name) for name in TERMS},
                "cached": settings.cache_dir is not None,  # then all epochs have the same masks
                **learnt(settings),
            },
        )
    size, count = settings.per_device_train_batch_size, min(len(held_examples), MEASURED)
    some = [
        goal.collate([held_examples[number] for number in range(start, min(start + size, count))])
        for start in range(0, count, size)
    ]
    distances = teaching.distances(lesson, some)
    if processes().is_main_process:
        write(settings, enrolment, teacher, distances, result.scores)
    names = sorted({name for row in distances for name in row})
    means = {f"{name}_distance": sum(row[name] for row in distances) / len(distances) for name in names}
    told = {"trained_anew": ", ".join(enrolment.missed)} if enrolment.missed else {}
    if not enrolment.speaks:
        told = {"head": "none, for no stage taught one: distillation_steps do"}
    return {**result.scores, **means, **told}


def filled(
    settings: Settings, teaching: Teaching, stages: Sequence[Stage], examples: Examples, goal: Objective
) -> Cache:
    """The cache with all that the teacher will be asked for; what an earlier run left in it is kept."""
    if settings.cache_dir is None:
        raise InputError("there is no cache without a cache_dir")
    process = processes()
    data = fingerprint(
        **learnt(settings),
        seed=settings.seed,
        split=None if settings.validation_file else settings.validation_split,
    )
    with main_first():
        wanted = teaching.wanted(stages)
        cache = Cache(settings.cache_dir, teaching.teacher, wanted, data=data, examples=len(examples))

    def batch(numbers: Sequence[int]) -> dict[str, Tensor]:
        collated = goal.collate([examples[number] for number in numbers])
        return {name: value.to(process.device) for name, value in collated.items()}

    def show(done: int, of: int) -> None:
        if sys.stderr.isatty() and process.is_main_process:
            sys.stderr.write(f"\r\x1b[2Kthe teacher reads: {done:,} of {of:,} shards" + "\n" * (done == of))
            sys.stderr.flush()

    size = settings.per_device_train_batch_size
    cache.fill(batch, batch_size=size, part=process.process_index, of=process.num_processes, progress=show)
    wait_for_all()
    return cache


def write(
    settings: Settings,
    enrolment: Enrolment,
    teacher: Teacher,
    distances: Sequence[Mapping[str, float]],
    scores: Mapping[str, float],
) -> None:
    """Write the student's folder, without its head if that knows nothing."""
    folder, student = settings.output_dir, enrolment.lesson.student
    save(student if enrolment.speaks else student.encoder, folder)
    teacher.tokenizer.save(folder, model_max_length=student.config.longest)
    checkpoint.write_json(folder / "scores.json", dict(scores))
    rows = [
        {"student": block, "teacher": source, **row}
        for block, (source, row) in enumerate(zip(enrolment.lesson.terms.layers, distances, strict=True))
    ]
    checkpoint.write_json(folder / "distances.json", {"layers": rows})
    write_card(
        folder,
        task="fill-mask" if enrolment.speaks else "feature-extraction",
        settings=settings,
        scores=scores,
        evaluated_on="held-out text",
        base_model=settings.teacher,
    )


def plan(settings: Any) -> Plan:
    """What a run with these settings takes; `teacher` may be a preset here."""
    teacher = known_config(settings.teacher)
    if settings.student.isdecimal():
        student = replace(teacher, num_hidden_layers=int(settings.student))
    else:
        student = replace(known_config(settings.student), vocab_size=teacher.vocab_size)
    blocks = student.num_hidden_layers
    layers = layer_map(settings.teacher_layers, student=blocks, teacher=teacher.num_hidden_layers)
    stages = within(schedule(settings.method, course_of(settings, blocks)), settings.max_steps)
    length, words = settings.max_seq_length, words_of(settings)
    costs = Costs(student, teacher, layers, length=length, words=words)
    lessons = Lessons(
        student, teacher, layers, settings.relation_heads,
        head=HEADS[settings.objective], batch=settings.per_device_train_batch_size, length=length, words=words,
    )  # fmt: skip
    most = max(lessons.saved_bytes(stage) for stage in stages[-2:])  # the last block's turn, and the words'
    return planned(settings, [costs.phase(stage) for stage in stages], student, teacher, activations=most)


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
