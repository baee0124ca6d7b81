"""What recipes with labels share: a model to begin with, its teacher, and the way from examples to a saved folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from torch import Tensor, nn

from pocketbert import checkpoint, hub
from pocketbert.errors import InputError
from pocketbert.heads import Model, Problem, load, save
from pocketbert.heads.folder import PROBLEMS, saved_head
from pocketbert.heads.pooler import leave_out_pooler
from pocketbert.model import HeadKind, architecture, read_config
from pocketbert.recipes._task_transfer import TaskSettings, transfer_first
from pocketbert.text import Tokenizer
from pocketbert.train.card import write_card
from pocketbert.train.fields import setting
from pocketbert.train.loop import train
from pocketbert.train.lora import add_lora, merge_lora
from pocketbert.train.seeds import seed_everything
from pocketbert.train.together import processes

logger = logging.getLogger("pocketbert")


@dataclass(frozen=True, kw_only=True)
class FineTuneSettings(TaskSettings):
    """An encoder, how much it reads, and whom it learns from besides the labels."""

    model: str = setting(
        help="the encoder, or a model to go on with: a folder or a hub name; other labels get a new head"
    )
    max_seq_length: int = setting(128, help="tokens of a text, or of a pair, at most")
    max_train_samples: int | None = setting(None, help="train on this many examples at most")
    max_eval_samples: int | None = setting(None, help="evaluate on this many examples at most")
    temperature: float = setting(2.0, help="of teacher and student when soft labels are compared")
    alpha: float = setting(0.5, help="weight of the teacher's soft labels; the true ones have the rest")

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        if not 0 <= self.alpha <= 1 or self.temperature <= 0:
            raise InputError(
                f"alpha = {self.alpha}, temperature = {self.temperature}: alpha must lie in 0 … 1, temperature above 0"
            )


def first_model(
    settings: FineTuneSettings,
    head: HeadKind,
    *,
    labels: Sequence[str] = (),
    problem: Problem = "single",
    pooler: Literal["auto", "no"] = "auto",
) -> tuple[Model, Tokenizer]:
    """The model that training begins with, and its tokenizer.

    A model that was saved with the same head and labels keeps its head; of any other only the encoder is kept.
    """
    seed_everything(settings.seed)  # a fresh head is drawn before the loop begins
    source = hub.resolve(settings.model).folder
    data = checkpoint.read_json(source / "config.json")
    family = architecture(read_config(data).model_type)
    named = data.get("id2label") or {}
    before = [named.get(str(number)) for number in range(len(named))]
    same = saved_head(data, family) == head and (
        not labels or (before == list(labels) and data.get("problem_type") in (None, PROBLEMS[problem]))
    )
    chosen: dict[str, Any] = {"labels": labels, "problem": problem} if labels else {}
    model: Model = load(source, head=head, head_weights="saved" if same else "new", **chosen)
    if not same:
        logger.warning(
            "%s: its encoder is kept, and a new %s head put on%s",
            settings.model,
            head,
            f" for {len(labels)} labels" if labels else "",
        )
    if pooler == "no":
        leave_out_pooler(model)
    return model, Tokenizer.load(source)


def label_teacher(name: str, head: HeadKind, labels: Sequence[str]) -> tuple[Model, Tokenizer, list[int]]:
    """A model of the same task, its tokenizer, and where it has each of the labels."""
    source = hub.resolve(name).folder
    teacher: Model = load(source, head=head)
    if teacher.report.new:
        raise InputError(f"the teacher {name} has no {head} head, so it has nothing to say")
    if len(labels) > 1 and sorted(teacher.labels) != sorted(labels):
        raise InputError(
            f"the teacher {name} knows the labels {', '.join(teacher.labels)}, and the data have {', '.join(labels)}; "
            "they must be the same"
        )
    order = [teacher.labels.index(label) for label in labels] if len(labels) > 1 else list(range(len(labels)))
    teacher.eval().requires_grad_(False)
    return teacher.to(processes().device), Tokenizer.load(source), order


def fine_tune(
    model: Model,
    tokenizer: Tokenizer,
    settings: FineTuneSettings,
    *,
    task: str,
    examples: Sequence[Any],
    lengths: Sequence[int],
    collate: Callable[[list[Any]], dict[str, Tensor]],
    objective: Callable[[nn.Module, dict[str, Tensor], int], tuple[Tensor, Mapping[str, float]]],
    evaluate: Callable[[nn.Module], Mapping[str, float]],
    best: str,
    files: Sequence[str | Path] = (),
    weight: Callable[[dict[str, Tensor]], float] | None = None,
    text: str = "",
) -> dict[str, float]:
    """Train on the shared loop, and write model, tokenizer, scores and card to output_dir; returns the scores.

    `task` is Hugging Face's word for it, such as text-classification; `text` goes into the card.
    """
    transfer_first(model, tokenizer, settings, examples=examples, lengths=lengths, collate=collate)
    adapted = add_lora(model, settings)
    result = train(
        model,
        examples=examples,
        collate=collate,
        loss_function=objective,
        settings=settings,
        lengths=lengths,
        weight=weight,
        evaluate=evaluate,
        best=best,
        data_files=[Path(name) for name in files if Path(name).is_file()],
        identity={"labels": list(model.labels), **adapted},
    )
    merge_lora(model, settings)
    scores = dict(result.scores)
    if processes().is_main_process:
        folder = settings.output_dir
        save(model, folder)
        tokenizer.save(folder, model_max_length=model.config.longest)
        checkpoint.write_json(folder / "scores.json", scores)
        write_card(folder, task=task, settings=settings, scores=scores, text=text)
    return scores
