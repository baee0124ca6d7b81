"""What recipes share that label whole texts: the loss, class weights, a teacher's view, the run itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.recipes._fine_tune import FineTuneSettings, fine_tune, first_model, label_teacher
from pocketbert.tasks import plots, scores
from pocketbert.tasks.classify.examples import Example, Problem, Scheme
from pocketbert.tasks.classify.features import Feature, featurise
from pocketbert.tasks.classify.metrics import decide
from pocketbert.tasks.classify.predict import collate, predict
from pocketbert.train.fields import setting
from pocketbert.train.together import processes

Weights = Literal["no", "balanced"]


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(FineTuneSettings):
    """What can be said about every recipe that labels texts."""

    pooler: Literal["auto", "no"] = setting(
        "auto",
        help="no: the head reads the first token as it is (MobileBERT can); auto: as the encoder has it",
    )
    class_weights: Weights = setting(  # noqa: RUF009
        "no", help="balanced: a rare label counts as much as a frequent one"
    )


class Told(NamedTuple):
    """A text, and what a teacher said of it before."""

    feature: Feature
    soft: NDArray[np.float32] | None = None  # (labels,)


class Objective:
    """The loss of a batch: the true labels, and a teacher's view of them where there is one. L labels."""

    def __init__(self, problem: Problem, settings: SentenceSettings, weights: Tensor | None = None) -> None:
        self.problem = problem
        self.settings = settings
        self.weights = weights  # (L,)

    def __call__(
        self, model: nn.Module, batch: dict[str, Tensor], _step: int
    ) -> tuple[Tensor, dict[str, float]]:
        logits = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"]).logits  # (B, L)
        hard = self._hard(logits, batch["labels"])
        if "soft" not in batch:
            return hard, {}
        soft = self._soft(logits, batch["soft"])
        alpha = self.settings.alpha
        return alpha * soft + (1 - alpha) * hard, {"hard": float(hard.detach()), "soft": float(soft.detach())}

    def _hard(self, logits: Tensor, labels: Tensor) -> Tensor:
        """A mean over the texts, weights or not, so that accumulated batches equal one large batch."""
        weights = None if self.weights is None else self.weights.to(logits.device)
        if self.problem == "single":
            losses = F.cross_entropy(logits, labels, reduction="none")  # (B)
            return (losses if weights is None else losses * weights[labels]).mean()
        if self.problem == "multi":
            return F.binary_cross_entropy_with_logits(logits, labels, pos_weight=weights)
        return F.mse_loss(logits[:, 0], labels)

    def _soft(self, logits: Tensor, taught: Tensor) -> Tensor:
        """The distance to the teacher at a temperature, times its square so that gradients keep their size."""
        if self.problem == "regression":
            return F.mse_loss(logits, taught)
        heat = self.settings.temperature
        if self.problem == "multi":
            chances = (taught / heat).sigmoid()
            return F.binary_cross_entropy_with_logits(logits / heat, chances) * heat**2
        student, teacher = (logits / heat).log_softmax(-1), (taught / heat).log_softmax(-1)
        return F.kl_div(student, teacher, reduction="batchmean", log_target=True) * heat**2


def label_weights(examples: Sequence[Example], scheme: Scheme, kind: Weights) -> Tensor | None:
    """What a label counts (L,): the inverse of its share, one on average over the texts; nothing for scores."""
    if kind == "no" or scheme.problem == "regression":
        return None
    total, count = len(examples), len(scheme.names)
    labels = np.stack([example.label for example in examples if example.label is not None])
    if scheme.problem == "multi":
        present = labels.sum(axis=0)
        return torch.tensor((total - present) / np.maximum(present, 1), dtype=torch.float32)
    counts = np.maximum(np.bincount(labels, minlength=count), 1)
    return torch.tensor(total / (count * counts), dtype=torch.float32)


def train_sentences(
    settings: SentenceSettings,
    scheme: Scheme,
    examples: Sequence[Example],
    held_out: Mapping[str, Sequence[Example]],
    *,
    measure: Callable[[Sequence[Example], NDArray[np.float32]], Mapping[str, float]],
    best: str,
    files: Sequence[str | Path],
    title: str = "",
) -> tuple[dict[str, float], Callable[[Sequence[Example]], NDArray[np.float32]]]:
    """Fine-tune on labelled texts and write the folder; returns the scores, and what the model says of other texts.

    `held_out` are sets to evaluate on, by what is added to the names of their scores; the first decides which weights
    are kept.
    """
    model, tokenizer = first_model(
        settings, "classification", labels=scheme.names, problem=scheme.problem, pooler=settings.pooler
    )
    length = model.config.at_most(settings.max_seq_length)
    features = featurise(examples, tokenizer, max_length=length)
    held_features = {name: featurise(rows, tokenizer, max_length=length) for name, rows in held_out.items()}

    def say(texts: Sequence[Example]) -> NDArray[np.float32]:
        return predict(model, featurise(texts, tokenizer, max_length=length), pad_id=tokenizer.pad_id)

    def evaluate(judged: nn.Module) -> Mapping[str, float]:
        return {
            f"{score}{name}": value
            for name, rows in held_out.items()
            for score, value in measure(
                rows, predict(judged, held_features[name], pad_id=tokenizer.pad_id)
            ).items()
        }

    def batched(batch: Sequence[Told]) -> dict[str, Tensor]:
        tensors = collate([told.feature for told in batch], pad_id=tokenizer.pad_id)
        soft = [told.soft for told in batch if told.soft is not None]
        return tensors | ({"soft": torch.from_numpy(np.stack(soft))} if soft else {})

    found = fine_tune(
        model,
        tokenizer,
        settings,
        task="text-classification",
        examples=_told(settings, scheme, examples, features),
        lengths=[len(feature) for feature in features],
        collate=batched,
        objective=Objective(
            scheme.problem, settings, label_weights(examples, scheme, settings.class_weights)
        ),
        evaluate=evaluate,
        best=best,
        files=files,
        text="\n\n".join(filter(None, (title, _described(scheme, examples)))),
    )
    first = next(iter(held_out))
    if scheme.problem == "single" and processes().is_main_process:
        truth = [int(example.label) for example in held_out[first] if example.label is not None]
        said = decide(predict(model, held_features[first], pad_id=tokenizer.pad_id), "single")
        counts = scores.confusion(truth, said, len(scheme.names))
        plots.plot_confusion(settings.output_dir / "confusion.png", counts, scheme.names)
    return found, say


def _told(
    settings: SentenceSettings, scheme: Scheme, examples: Sequence[Example], features: Sequence[Feature]
) -> list[Told]:
    """The texts with what the teacher says of them, which it reads once, with a tokenizer of its own."""
    if settings.teacher is None:
        return [Told(feature) for feature in features]
    teacher, tokenizer, order = label_teacher(settings.teacher, "classification", scheme.names)
    length = teacher.config.at_most(settings.max_seq_length)
    theirs = featurise(examples, tokenizer, max_length=length)
    soft = predict(teacher, theirs, pad_id=tokenizer.pad_id)[:, order]
    return [Told(feature, row) for feature, row in zip(features, soft, strict=True)]


def _described(scheme: Scheme, examples: Sequence[Example]) -> str:
    """Labels and how often each was learnt from, for the card."""
    labels = [example.label for example in examples if example.label is not None]
    if scheme.problem == "regression":
        return f"It gives a score, as in the column `{scheme.names[0]}`, from {len(labels):,} texts."
    counts: Counter[int] = Counter()
    for label in labels:
        counts.update([int(label)] if scheme.problem == "single" else map(int, np.flatnonzero(label)))
    named = ", ".join(f"`{name}` ({counts[number]:,})" for number, name in enumerate(scheme.names))
    return (
        f"{'Labels' if scheme.problem == 'single' else 'Any of the labels'} and texts to learn from: {named}."
    )
