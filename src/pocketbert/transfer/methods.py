"""The methods as schedules: MobileBERT's progressive, joint and auxiliary transfer, and those of its relatives.

Every method takes `blocks * block_steps + distillation_steps` steps, so methods are compared at equal student steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from pocketbert.errors import InputError
from pocketbert.transfer.schedule import Stage

Method = Literal["progressive", "joint", "auxiliary", "none", "distilbert", "tinybert", "minilm"]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How much each loss counts; the defaults are MobileBERT's. A loss of weight 0 is not computed."""

    feature_map: float = 100.0
    attention: float = 1.0
    mean: float = 5000.0
    variance: float = 5.0
    alpha: float = 0.5
    """The share of the true words; the teacher's soft labels have the rest."""
    sentence: float = 1.0

    def __post_init__(self) -> None:
        for name in ("feature_map", "attention", "mean", "variance", "sentence"):
            if getattr(self, name) < 0:
                raise InputError(f"{name}_weight is {getattr(self, name)}; it must be 0 or more")
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha is {self.alpha}; it must lie in 0 … 1")


@dataclass(frozen=True, kw_only=True)
class Course:
    """The length and the pace of a run, and what the student does not know yet.

    `lower_rate` is the share of the rate that blocks below the current one keep in the progressive method; 0 freezes
    them. `warmup` and `end` shape the stage that ends the run, `stage_warmup` those before it. `fresh` names the parts
    that were not copied from the teacher (`embeddings`, `head`, `projection`), so that they learn from the beginning.
    `owners` gives, for blocks that share weights, the block that has them.
    """

    blocks: int
    block_steps: int
    distillation_steps: int
    weights: Weights = Weights()
    lower_rate: float = 0.1
    stage_warmup: int = 0
    warmup: int = 0
    end: float = 0.0
    fresh: Sequence[str] = ()
    owners: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.lower_rate <= 1 or not 0 <= self.end <= 1:
            raise InputError(
                f"lower_rate is {self.lower_rate} and lr_end_ratio {self.end}; both must lie in 0 … 1"
            )
        if self.block_steps < 0 or self.distillation_steps < 0:
            raise InputError(
                f"block_steps is {self.block_steps} and distillation_steps {self.distillation_steps}; both must be 0 "
                "or more"
            )

    @property
    def layers(self) -> tuple[int, ...]:
        return tuple(range(self.blocks))

    @property
    def parts(self) -> list[str]:
        """The part that each block's weights belong to."""
        return [f"block.{owner}" for owner in (self.owners or self.layers)]

    def transfer(
        self,
        name: str,
        steps: int,
        losses: Mapping[str, float],
        layers: tuple[int, ...],
        rates: Mapping[str, float],
        falling: bool = False,
    ) -> Stage:
        """A stage that compares layers, at a constant rate as in the paper or at one that falls to its end."""
        return Stage(
            name=name, steps=steps, losses=_counted(losses), layers=layers, rates=rates,
            warmup=min(self.warmup if falling else self.stage_warmup, steps), end=self.end if falling else 1.0,
        )  # fmt: skip

    def distillation(self, steps: int, losses: Mapping[str, float], layers: tuple[int, ...] = ()) -> Stage:
        """A stage that predicts words and moves all of the student; the rate falls to its end."""
        everything = dict.fromkeys(["embeddings", *self.parts, "head", "projection"], 1.0)
        return Stage(
            name="distillation", steps=steps, losses=_counted(losses), layers=layers, rates=everything,
            warmup=min(self.warmup, steps), end=self.end,
        )  # fmt: skip

    @property
    def transfer_steps(self) -> int:
        return self.blocks * self.block_steps

    @property
    def all_steps(self) -> int:
        return self.transfer_steps + self.distillation_steps


def schedule(method: Method, course: Course) -> tuple[Stage, ...]:
    """The stages of a method."""
    if method not in METHODS:
        raise InputError(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
    stages = tuple(stage for stage in METHODS[method](course) if stage.steps)
    if not stages:
        raise InputError("block_steps and distillation_steps are 0: there is nothing to do")
    for stage in stages:
        if not stage.losses:
            raise InputError(
                f"every loss of the stage {stage.name!r} has the weight 0: it has nothing to learn"
            )
    return stages


def without_soft_labels(method: Method) -> list[str]:
    """The settings with which a method asks no teacher for words, found by trying them."""
    short = Course(blocks=1, block_steps=1, distillation_steps=1)
    tried = {
        "--alpha 1 for the true words alone": replace(short, weights=Weights(alpha=1.0)),
        "--distillation_steps 0 to compare layers only": replace(short, distillation_steps=0),
    }
    return [
        setting
        for setting, course in tried.items()
        if all("soft" not in stage.losses for stage in schedule(method, course))
    ]


def progressive(course: Course) -> list[Stage]:
    """One block after the other, those below soft-frozen; then distillation of the whole (MobileBERT, section 3.6)."""
    stages = []
    for block in course.layers:
        rates = {part: 1.0 for part in course.fresh if part != "head"}
        if block and "embeddings" in rates:
            rates["embeddings"] = course.lower_rate
        rates |= dict.fromkeys(course.parts[:block], course.lower_rate) | {course.parts[block]: 1.0}
        losses = layer_losses(course.weights)
        stages.append(course.transfer(f"block {block}", course.block_steps, losses, (block,), rates))
    return [*stages, course.distillation(course.distillation_steps, word_losses(course.weights))]


def joint(course: Course) -> list[Stage]:
    """All blocks at once between copied ends; then distillation."""
    rates = dict.fromkeys([*(part for part in course.fresh if part != "head"), *course.parts], 1.0)
    losses = layer_losses(course.weights)
    return [
        course.transfer("transfer", course.transfer_steps, losses, course.layers, rates),
        course.distillation(course.distillation_steps, word_losses(course.weights)),
    ]


def auxiliary(course: Course) -> list[Stage]:
    """Distillation, with the losses of all layers added to it."""
    losses = {**word_losses(course.weights), **layer_losses(course.weights)}
    return [course.distillation(course.all_steps, losses, course.layers)]


def none(course: Course) -> list[Stage]:
    """Distillation alone; with an alpha of 1, no teacher at all."""
    return [course.distillation(course.all_steps, word_losses(course.weights))]


def distilbert(course: Course) -> list[Stage]:
    """The triple loss with the weights of its authors' command line: soft labels, true words, direction."""
    return [course.distillation(course.all_steps, {"soft": 5.0, "hard": 2.0, "cosine": 1.0})]


def tinybert(course: Course) -> list[Stage]:
    """General distillation: attention scores and projected feature maps of all layers, embeddings too.

    Its authors add layers up where our losses are their mean, so a layer's losses count as often as there are blocks.
    """
    rates = dict.fromkeys(["embeddings", *course.parts, "projection"], 1.0)
    losses = {
        "scores": course.blocks * course.weights.attention,
        "hidden": float(course.blocks),
        "embeddings": 1.0,
    }
    return [
        course.transfer("transfer", course.transfer_steps, losses, course.layers, rates, falling=True),
        course.distillation(course.distillation_steps, word_losses(course.weights)),
    ]


def minilm(course: Course) -> list[Stage]:
    """Relations among queries, keys and values of one layer, the student's last."""
    rates = dict.fromkeys(["embeddings", *course.parts], 1.0)
    losses = {"relations": 1.0}
    return [
        course.transfer("transfer", course.transfer_steps, losses, course.layers[-1:], rates, falling=True),
        course.distillation(course.distillation_steps, word_losses(course.weights)),
    ]


METHODS: dict[Method, Callable[[Course], list[Stage]]] = {
    "progressive": progressive,
    "joint": joint,
    "auxiliary": auxiliary,
    "none": none,
    "distilbert": distilbert,
    "tinybert": tinybert,
    "minilm": minilm,
}
assert set(METHODS) == set(get_args(Method))  # noqa: S101 -- one list, said twice for the type checker


def layer_losses(weights: Weights) -> dict[str, float]:
    """MobileBERT's losses of a layer."""
    return {name: getattr(weights, name) for name in ("feature_map", "attention", "mean", "variance")}


def word_losses(weights: Weights) -> dict[str, float]:
    """Pre-training distillation: alpha of the true words, the rest of the teacher's, and the sentences."""
    return {"hard": weights.alpha, "soft": 1 - weights.alpha, "sentence": weights.sentence}


def _counted(losses: Mapping[str, float]) -> dict[str, float]:
    return {name: weight for name, weight in losses.items() if weight}
