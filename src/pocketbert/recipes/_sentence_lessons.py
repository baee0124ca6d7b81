"""What the recipe for sentence vectors learns from: tables of texts that belong together, or plain texts and a teacher.

Either gives the same things to the loop: examples, which are numbers of rows, what a batch of them holds, the loss, and
how the model is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert.data.sentences import FORMATS, SentenceLesson, make_loss
from pocketbert.data.sentences.losses import SoftmaxLoss
from pocketbert.errors import InputError
from pocketbert.heads import Model
from pocketbert.heads.sentences import sentence_head
from pocketbert.recipes import _first_layer
from pocketbert.recipes._sentence_settings import SentenceVectorSettings
from pocketbert.recipes._taught_vectors import Digest, TaughtVectors, taught_vectors
from pocketbert.tables import read_rows
from pocketbert.tasks import scores
from pocketbert.tasks.predict import padded
from pocketbert.tasks.sentences import metrics, retrieval
from pocketbert.tasks.sentences.groups import Groups, hold_out, read_groups
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.tasks.sentences.texts import Texts, TextSource
from pocketbert.vectors.similarity import unit

Rows = NDArray[np.int64]
PAIRS_A_TEXT = 5  # of held-out texts whose likeness is compared with the teacher's


@dataclass(frozen=True)
class Lessons:
    """Examples and all that is done with them."""

    examples: Sequence[int]
    lengths: NDArray[np.int64]
    collate: Callable[[list[int]], dict[str, Any]]
    loss: nn.Module
    measure: Callable[[SentenceLesson, TorchEmbedder], dict[str, float]]
    best: str
    identity: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


def lessons_of(settings: SentenceVectorSettings, embedder: TorchEmbedder) -> Lessons:
    """The lessons that the settings ask for, for a model and its tokenizer."""
    found = _taught(settings, embedder) if settings.loss == "distill" else _grouped(settings, embedder)
    if not settings.sts_file:
        return found
    pairs = read_sts(settings.sts_file)

    def measure(lesson: SentenceLesson, judged: TorchEmbedder) -> dict[str, float]:
        likeness = measure_sts(pairs, judged)
        return {f"sts_{name}": value for name, value in likeness.items()} | found.measure(lesson, judged)

    return replace(found, measure=measure, best="sts_spearman")


def read_sts(
    files: Sequence[str], columns: Sequence[str] = ("sentence1", "sentence2"), score: str = "score"
) -> Groups:
    """Pairs with a score in any unit: only how the scores go along with the cosines counts."""
    return read_groups(files, columns, label=score, kind="number", split="validation")


def measure_sts(pairs: Groups, embedder: TorchEmbedder) -> dict[str, float]:
    """Pearson's and Spearman's correlation of cosines and scores."""
    left, right = pairs.vectors(embedder.encode)
    return metrics.likeness(left, right, pairs.labels if pairs.labels is not None else ())


def _grouped(settings: SentenceVectorSettings, embedder: TorchEmbedder) -> Lessons:
    form = FORMATS[settings.loss]
    columns = settings.texts or _own_columns(settings)
    reading: dict[str, Any] = {
        "label": settings.label or form.label,
        "kind": form.kind,
        "scale": settings.score_scale,
    }
    groups = read_groups(settings.train_file, columns, names=settings.labels, **reading)
    if settings.validation_file:
        held = read_groups(
            settings.validation_file, columns, names=groups.names, split="validation", **reading
        ).take(slice(settings.max_eval_samples))
    else:
        groups, held = hold_out(
            groups, fraction=settings.validation_split, seed=settings.seed, most=settings.max_eval_samples
        )
    groups = groups.take(slice(settings.max_train_samples))
    texts = embedder.pack(groups.texts)
    pad_id = embedder.tokenizer.pad_id

    def collate(rows: list[int]) -> dict[str, Any]:
        numbers = groups.numbers[rows].T  # (C, B)
        batch: dict[str, Any] = _padded(texts, numbers.flatten(), pad_id)
        batch |= {"columns": len(numbers), "numbers": torch.from_numpy(np.ascontiguousarray(numbers))}
        if groups.labels is not None:
            batch["labels"] = torch.from_numpy(groups.labels[rows])
        return batch

    return Lessons(
        examples=range(len(groups)),
        lengths=texts.lengths[groups.numbers].sum(axis=1),
        collate=collate,
        loss=make_loss(
            settings.loss,
            dimensions=embedder.dimensions,
            labels=len(groups.names),
            scale=settings.scale,
            margin=settings.margin,
        ),
        measure=lambda lesson, judged: _measure_groups(settings.loss, lesson, held, judged),
        best={"cosent": "spearman", "cosine": "spearman", "contrastive": "ap", "ranking": "mrr@10"}.get(
            settings.loss, "accuracy"
        ),
        identity={"loss": settings.loss, "columns": list(columns)},
        text=f"It learnt from {len(groups):,} rows ({', '.join(columns)}) by the loss `{settings.loss}`.",
    )


def _own_columns(settings: SentenceVectorSettings) -> tuple[str, ...]:
    """The columns that a loss has unless others are named: with a negative, where the first table has one."""
    form = FORMATS[settings.loss]
    if not form.more:
        return form.texts
    first = next(iter(read_rows(settings.train_file[0])), None)
    return form.texts if first is None or "negative" not in first.cells else (*form.texts, "negative")


def _measure_groups(
    loss: str, lesson: SentenceLesson, held: Groups, embedder: TorchEmbedder
) -> dict[str, float]:
    columns = held.vectors(embedder.encode)
    labels = held.labels
    if loss == "triplet":
        return metrics.triplets(*columns)
    if loss == "ranking":
        # Each question looks for its answer among all held-out ones; the same text is as good.
        texts, places = np.unique(held.numbers[:, 1], return_inverse=True)
        firsts = np.array([int(np.flatnonzero(places == place)[0]) for place in range(len(texts))])
        ranked = retrieval.search(columns[0], columns[1][firsts])
        return retrieval.evaluate(ranked, [{int(place): 1.0} for place in places])
    if labels is None:
        raise InputError(f"the loss {loss} has no labels to be measured by")
    if loss == "contrastive":
        return metrics.same(metrics.cosines(*columns), labels)
    if loss == "softmax" and isinstance(lesson.loss, SoftmaxLoss):
        device = lesson.loss.bias.device
        with torch.inference_mode():
            said = lesson.loss.logits(torch.from_numpy(np.stack(columns)).to(device)).argmax(-1).cpu().numpy()
        return {
            "accuracy": scores.accuracy(labels, said),
            "macro_f1": scores.f1(labels, said, average="macro"),
        }
    return metrics.likeness(columns[0], columns[1], labels)


def _taught(settings: SentenceVectorSettings, embedder: TorchEmbedder) -> Lessons:
    if settings.teacher is None:
        raise InputError("loss = distill needs a teacher: name a sentence-transformers folder by --teacher")
    folder = settings.cache_dir or settings.output_dir / "taught"
    read = partial(_read_taught, settings.teacher, embedder, precision=settings.mixed_precision)
    column = (settings.texts or FORMATS["distill"].texts)[0]
    source = TextSource(settings.train_file, column, limit=settings.max_train_samples)
    texts, taught, described = read(source, folder)
    order = np.random.default_rng(settings.seed).permutation(len(texts))
    most = settings.max_eval_samples or len(texts)
    if settings.validation_file:
        other = TextSource(
            settings.validation_file, column, split="validation", limit=settings.max_eval_samples
        )
        held, held_taught, _ = read(other, folder / "validation")
        judged, kept = np.arange(len(held)), np.sort(order)
    else:
        held, held_taught = texts, taught
        count = min(max(round(settings.validation_split * len(texts)), 2), most)
        judged, kept = np.sort(order[:count]), np.sort(order[count:])
        if len(kept) < 2:
            raise InputError(f"{len(texts)} texts are too few to hold some out; give more")
    if settings.projection == "pca" and (
        settings.matryoshka_dimensions or taught.dimensions != embedder.dimensions
    ):
        taught.project(embedder.dimensions, seed=settings.seed)
        held_taught.basis, held_taught.dimensions = taught.basis, taught.dimensions
    elif taught.dimensions != embedder.dimensions and settings.matryoshka_dimensions:
        raise InputError("projection = learned does not go with matryoshka_dimensions: use pca")
    if taught.dimensions == embedder.dimensions and sentence_head(embedder.model).fresh:
        some = np.sort(np.random.default_rng(settings.seed).permutation(kept)[: _first_layer.SAMPLE])
        rows, wanted = [texts[int(number)] for number in some], _like(taught[some], embedder)
        _first_layer.fit_dense(embedder, rows, wanted, precision=settings.mixed_precision)
    pad_id = embedder.tokenizer.pad_id

    def collate(rows: list[int]) -> dict[str, Any]:
        numbers = kept[rows]
        return _padded(texts, numbers, pad_id) | {
            "columns": 1,
            "taught": torch.from_numpy(_like(taught[numbers], embedder)),
        }

    return Lessons(
        examples=range(len(kept)),
        lengths=texts.lengths[kept],
        collate=collate,
        loss=make_loss(
            "distill",
            dimensions=embedder.dimensions,
            taught_dimensions=taught.dimensions,
            compare=settings.compare,
        ),
        measure=lambda _, student: _measure_taught(held, held_taught, judged, student),
        best="agreement",
        identity={"loss": "distill", **described, "dimensions": embedder.dimensions},
        text=f"It learnt the vectors of a teacher, `{settings.teacher.rsplit('/', 1)[-1]}`, from {len(kept):,} texts.",
    )


def _read_taught(
    teacher: str, embedder: TorchEmbedder, source: TextSource, folder: Path, *, precision: str
) -> tuple[Texts, TaughtVectors, dict[str, Any]]:
    digest = Digest()
    texts = embedder.pack(digest.watch(source))
    if len(texts) < 3:
        raise InputError(f"{', '.join(source.files)}: {len(texts)} texts are too few to learn from")
    return texts, *taught_vectors(teacher, source, digest, folder, precision=precision)


def _measure_taught(
    held: Texts, taught: TaughtVectors, judged: Rows, student: TorchEmbedder
) -> dict[str, float]:
    """How like the student's likenesses are to the teacher's, and how near its vectors, where they can be compared."""
    theirs = taught[judged]
    ours = student.read([held[int(number)] for number in judged])
    draw = np.random.default_rng(0)
    left = np.repeat(np.arange(len(judged)), PAIRS_A_TEXT)
    right = (left + draw.integers(1, len(judged), len(left))) % len(judged)
    pairs = (metrics.cosines(vectors[left], vectors[right]) for vectors in (theirs, ours))
    found = {"agreement": scores.spearman(*pairs)}
    if theirs.shape == ours.shape:
        found["cosine"] = 100.0 * float(metrics.cosines(ours, theirs).mean())
    return found


def _like(taught: NDArray[np.float32], embedder: TorchEmbedder) -> NDArray[np.float32]:
    """The teacher's vectors as the model's are: of length one if those are."""
    return unit(taught) if embedder.config.normalize else taught


def _padded(texts: Texts, numbers: Rows, pad_id: int) -> dict[str, Tensor]:
    return padded([texts[int(number)] for number in numbers], pad_id=pad_id)[0]


def frozen_pooler(model: Model) -> None:
    """Let the layer rest that classifiers read and vectors do not: it stays what it was."""
    if model.encoder.pooler is not None:
        model.encoder.pooler.requires_grad_(False)
