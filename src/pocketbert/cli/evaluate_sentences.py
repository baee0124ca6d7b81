"""`pocketbert evaluate` for sentence vectors: likeness, same or not, triplets, retrieval, mining."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pocketbert import hub
from pocketbert.errors import InputError
from pocketbert.runtime.session import FILES, Precision, Session
from pocketbert.tasks.sentences import metrics, retrieval
from pocketbert.tasks.sentences.collections import read_collection
from pocketbert.tasks.sentences.groups import Groups, Kind, read_groups
from pocketbert.tasks.sentences.predict import TorchEmbedder, Vectors

PAIR = ("sentence1", "sentence2")
TRIPLET = ("anchor", "positive", "negative")


class Measured:
    """An embedder on the command line: with a progress bar, and vectors cut to their first dimensions if asked."""

    def __init__(
        self, name: str, *, precision: Precision | None, window: int | None, dimensions: int | None
    ) -> None:
        patterns = (*hub.PATTERNS, FILES[precision]) if precision else hub.PATTERNS
        folder = hub.resolve(name, patterns=patterns).folder
        embedder = TorchEmbedder.load(folder)
        if dimensions is not None and not 1 <= dimensions <= embedder.dimensions:
            raise InputError(f"--dimensions {dimensions}: the model's vectors have {embedder.dimensions}")
        if precision is not None:
            embedder.runner = Session.load(folder, precision=precision)
        if window is not None:
            embedder.config = replace(embedder.config, max_seq_length=window)
        self.embedder, self.dimensions = embedder, dimensions

    def __call__(self, texts: Sequence[str], prompt: str | None = None) -> Vectors:
        known = prompt if prompt in self.embedder.config.prompts else None
        with click.progressbar(length=len(texts), label="reading", file=sys.stderr) as bar:
            return self.embedder.encode(texts, prompt_name=known, progress=bar.update)[:, : self.dimensions]


def measure_sts(model: Measured, files: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Pearson's and Spearman's correlation of cosines with the scores of pairs."""
    pairs = _read(files, options, PAIR, label="score", kind="number")
    if len(pairs) < 2:
        raise InputError(f"there is {len(pairs)} pair; a correlation needs two or more: give more rows")
    left, right = pairs.vectors(model)
    return {
        "pairs": len(pairs),
        **metrics.likeness(left, right, pairs.labels if pairs.labels is not None else ()),
    }


def measure_pairs(model: Measured, files: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """How well a threshold on the cosine tells pairs that are alike from others."""
    pairs = _read(files, options, PAIR, label="label", kind="binary")
    left, right = pairs.vectors(model)
    labels = pairs.labels if pairs.labels is not None else ()
    return {"pairs": len(pairs), **metrics.same(metrics.cosines(left, right), labels)}


def measure_triplets(model: Measured, files: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """How often the positive is nearer than the negative."""
    rows = _read(files, options, TRIPLET)
    return {"triplets": len(rows), **metrics.triplets(*rows.vectors(model))}


def measure_mining(model: Measured, files: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """How early the true pairs come among all pairs of the texts that stand in a table."""
    pairs = _read(files, options, PAIR)
    true = {(int(low), int(high)) for low, high in pairs.numbers if low != high}
    if not true:
        raise InputError(
            f"{', '.join(files)}: no row holds two different texts; mining looks for true pairs, and needs one or more"
        )
    used = sorted({number for pair in true for number in pair})
    places = {number: place for place, number in enumerate(used)}
    vectors = model([pairs.texts[number] for number in used])
    found = metrics.mining(vectors, {(places[low], places[high]) for low, high in true})
    return {"texts": len(used), "pairs": len(true), **found}


def measure_retrieval(
    model: Measured,
    files: tuple[str, ...],
    *,
    split: str = "test",
    baseline: str | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """How far up the relevant texts of a corpus stand for each query; with a baseline, its scores beside."""
    collection = read_collection(files, split=split).first(limit)
    corpus = model(collection.corpus, "document")
    ranked = retrieval.search(model(collection.queries, "query"), corpus)
    found: dict[str, Any] = {"texts": len(collection.corpus), "queries": len(collection.queries)}
    found |= retrieval.evaluate(ranked, collection.judged)
    if baseline == "bm25":
        words = retrieval.evaluate(retrieval.bm25_order(collection), collection.judged)
        found |= {f"bm25_{name}": value for name, value in words.items()}
    return found


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    "sts": measure_sts,
    "pairs": measure_pairs,
    "triplets": measure_triplets,
    "mining": measure_mining,
    "retrieval": measure_retrieval,
}


def measure(
    task: str,
    model: str,
    files: tuple[str, ...],
    out: Path | None,
    *,
    precision: Precision | None = None,
    window: int | None = None,
    dimensions: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The scores of a sentence model in one of these tasks."""
    if out is not None:
        raise InputError(f"--out is not for --task {task}: it has scores, and no predictions to write")
    embedder = Measured(model, precision=precision, window=window, dimensions=dimensions)
    return MEASURES[task](embedder, files, **options)


def _read(
    files: Iterable[str],
    options: dict[str, Any],
    columns: tuple[str, ...],
    *,
    label: str | None = None,
    kind: Kind = "none",
) -> Groups:
    named = tuple(options["texts"].split(",")) if options.get("texts") else columns
    if len(named) != len(columns):
        raise InputError(
            f"--texts {','.join(named)}: {len(columns)} columns are needed, as in {','.join(columns)}"
        )
    wanted = None if label is None else options.get("label") or label
    split = options.get("split", "validation")
    return read_groups(files, named, label=wanted, kind=kind, split=split).take(slice(options.get("limit")))
