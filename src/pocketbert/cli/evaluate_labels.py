"""`pocketbert evaluate` for models with labels: GLUE, one's own tables, tags, and choices."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from pocketbert import checkpoint, hub
from pocketbert.errors import InputError
from pocketbert.heads import load
from pocketbert.heads.folder import label_arguments
from pocketbert.model import HeadKind, read_config
from pocketbert.runtime.session import FILES, Precision, Session
from pocketbert.tasks import plots, scores
from pocketbert.tasks.choice import predict as choosing
from pocketbert.tasks.choice.examples import evaluate as evaluate_choices
from pocketbert.tasks.choice.examples import featurise as featurise_choices
from pocketbert.tasks.choice.examples import read_choices
from pocketbert.tasks.classify import metrics, predict
from pocketbert.tasks.classify.examples import Columns, Example, Scheme, examples_of, read_table
from pocketbert.tasks.classify.features import featurise
from pocketbert.tasks.glue.benchmark import Part, Task, find_task
from pocketbert.tasks.glue.metrics import evaluate as official
from pocketbert.tasks.glue.reading import parts_of, read_part
from pocketbert.tasks.glue.submission import write_submission
from pocketbert.tasks.tags import bio
from pocketbert.tasks.tags import metrics as tag_metrics
from pocketbert.tasks.tags import predict as tagging
from pocketbert.tasks.tags.features import featurise as windows_of
from pocketbert.tasks.tags.features import gather
from pocketbert.tasks.tags.sentences import check_tags, read_sentences
from pocketbert.text import Tokenizer
from pocketbert.text.label_config import FILE_NAME, LabelConfig


@dataclass(frozen=True)
class Labeller:
    """A model with labels, as torch or as an exported file runs it."""

    model: Any
    tokenizer: Tokenizer
    scheme: Scheme
    window: int
    settings: dict[str, Any]
    """Those of the run that made it, where the folder has them."""


def open_labeller(name: str, head: HeadKind, precision: Precision | None, window: int | None) -> Labeller:
    patterns = (*hub.PATTERNS, FILES[precision]) if precision else hub.PATTERNS
    folder = hub.resolve(name, patterns=patterns).folder
    data = checkpoint.read_json(folder / "config.json")
    model: Any
    if precision is not None:
        model = Session.load(folder, precision=precision)
    else:
        model = load(folder, head=head)
        if model.report.new:
            recipe = {"classification": "classify"}.get(head, head)
            raise InputError(
                f"{name} has no {head} head; train one with: pocketbert train {recipe} --model {name}"
            )
    saved = folder / "settings.json"
    settings = dict(checkpoint.read_json(saved)) if saved.is_file() else {}
    known = label_arguments(data, None, None)
    trained = settings.get("max_seq_length")
    if (folder / FILE_NAME).is_file():  # an exported folder has no settings of its training
        trained = LabelConfig.load(folder).window
    length = read_config(data).at_most(window or trained or 128)
    scheme = Scheme(known["problem"], tuple(known["labels"]), settings.get("label_separator", ","))
    return Labeller(model, Tokenizer.load(folder), scheme, length, settings)


def measure_glue(
    model: str,
    files: tuple[str, ...],
    out: Path | None,
    *,
    name: str | None = None,
    precision: Precision | None = None,
    window: int | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """The official scores on the dev sets; with `out`, predictions for the test sets."""
    labeller = open_labeller(model, "classification", precision, window)
    name = name or labeller.settings.get("task")
    if name is None:
        raise InputError(
            f"{model} does not say which task it was trained on; name it by --name, such as sst-2"
        )
    task = find_task(name)
    order = _order(labeller.scheme, task, model)
    found: dict[str, Any] = {"task": task.name}
    measured: dict[Part, str] = {"dev": "", "dev_mismatched": "_mm"}
    for part in parts_of(task, files[0], tuple(measured)):
        examples = read_part(task, files[0], part).examples[:limit]
        found[f"texts{measured[part]}"] = len(examples)
        values = official(
            task, [example.label for example in examples], _logits(labeller, examples)[:, order]
        )
        found |= {f"{score}{measured[part]}": value for score, value in values.items()}
    for part in (
        parts_of(task, files[0], tuple(part for part, _ in task.to_submit)) if out is not None else ()
    ):
        tested = read_part(task, files[0], part)
        logits = _logits(labeller, tested.examples)[:, order]
        found[f"predictions_{part}"] = str(
            write_submission(task, Path(out or "."), tested.indices, logits, part=part)
        )
    return found


def measure_classify(
    model: str,
    files: tuple[str, ...],
    out: Path | None,
    *,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    columns: str | None = None,
    precision: Precision | None = None,
    window: int | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """The scores on tables with the columns that MODEL was trained on, or others."""
    labeller = open_labeller(model, "classification", precision, window)
    before = labeller.settings
    named = Columns(
        _column("text", text or before.get("text")),
        text_pair or before.get("text_pair"),
        _column("label", label or before.get("label")),
        tuple(columns.split(",")) if columns else tuple(before.get("columns") or ()) or None,
    )
    scheme = labeller.scheme
    examples = examples_of(read_table(files, named, split="validation")[:limit], named, scheme)
    labels = [example.label for example in examples if example.label is not None]
    logits = _logits(labeller, examples)
    if out is not None:
        rows = zip(examples, metrics.written(logits, scheme), strict=True)
        _write_lines(
            out / "predictions.jsonl",
            [{"text": row.text, "true": _true(row, scheme), **said} for row, said in rows],
        )
        if scheme.problem == "single":
            counts = scores.confusion(labels, metrics.decide(logits, "single"), len(scheme.names))
            plots.plot_confusion(out / "confusion.png", counts, scheme.names)
    return {"texts": len(examples), **metrics.evaluate(labels, logits, scheme.problem)}


def measure_tags(
    model: str,
    files: tuple[str, ...],
    out: Path | None,
    *,
    format: Any = "auto",  # noqa: A002 - the option's name
    column: str | None = None,
    precision: Precision | None = None,
    window: int | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """Entity F1, or accuracy where tags are no entities."""
    labeller = open_labeller(model, "tags", precision, window)
    names = labeller.scheme.names
    column = column or labeller.settings.get("column")
    sentences = read_sentences(files, form=format, column=column)[:limit]
    kind = bio.kind_of(names)
    if kind == "entities":
        sentences, _ = bio.checked(sentences)
    check_tags(sentences, names)
    features = windows_of(sentences, labeller.tokenizer, max_length=labeller.window)
    with click.progressbar(length=len(features), label="reading", file=sys.stderr) as bar:
        logits = tagging.predict(
            labeller.model, features, pad_id=labeller.tokenizer.pad_id, progress=bar.update
        )
    chosen = gather(sentences, features, [row.argmax(axis=-1) for row in logits], none=0)
    said = [[names[tag] for tag in row] for row in chosen]
    truth = [sentence.tags for sentence in sentences]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        blocks = (
            "\n".join("\t".join(columns) for columns in zip(sentence.words, sentence.tags, row, strict=True))
            for sentence, row in zip(sentences, said, strict=True)
        )
        (out / "predictions.conll").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
        if kind == "entities":
            checkpoint.write_json(out / "scores_by_kind.json", tag_metrics.by_kind(truth, said))
    return {"sentences": len(sentences), "windows": len(features), **tag_metrics.evaluate(truth, said, kind)}


def measure_choice(
    model: str,
    files: tuple[str, ...],
    out: Path | None,
    *,
    text: str | None = None,
    candidates: str | None = None,
    label: str | None = None,
    columns: str | None = None,
    precision: Precision | None = None,
    window: int | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """How often the right candidate is chosen, in tables with the columns that MODEL was trained on, or others."""
    labeller = open_labeller(model, "choice", precision, window)
    before = labeller.settings
    names = candidates.split(",") if candidates else before.get("candidates") or ()
    if not names:
        raise InputError("which columns hold the texts to choose from? Name them by --candidates a,b,c")
    choices = read_choices(
        files,
        text=_column("text", text or before.get("text")),
        candidates=names,
        label=_column("label", label or before.get("label")),
        header=columns.split(",") if columns else before.get("columns") or None,
        split="validation",
    )[:limit]
    features = featurise_choices(choices, labeller.tokenizer, max_length=labeller.window)
    with click.progressbar(length=len(features), label="reading", file=sys.stderr) as bar:
        logits = choosing.predict(
            labeller.model, features, pad_id=labeller.tokenizer.pad_id, progress=bar.update
        )
    if out is not None:
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        _write_lines(
            out / "predictions.jsonl",
            [
                {"text": row.text, "true": names[row.label], "choice": names[int(chosen)],
                 "scores": {name: round(float(value), 4) for name, value in zip(names, chance, strict=True)}}
                for row, chance, chosen in zip(choices, chances, logits.argmax(axis=1), strict=True)
            ],
        )  # fmt: skip
    return {"choices": len(choices), **evaluate_choices(features, logits)}


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    "glue": measure_glue,
    "classify": measure_classify,
    "tags": measure_tags,
    "choice": measure_choice,
}


def _logits(labeller: Labeller, examples: Sequence[Example]) -> NDArray[np.float32]:
    features = featurise(examples, labeller.tokenizer, max_length=labeller.window)
    with click.progressbar(length=len(features), label="reading", file=sys.stderr) as bar:
        return predict.predict(
            labeller.model, features, pad_id=labeller.tokenizer.pad_id, progress=bar.update
        )


def _order(scheme: Scheme, task: Task, model: str) -> list[int]:
    """Where the model has each of a task's labels; names that say nothing (LABEL_0) stand in the hub's order."""
    names = scheme.names
    if sorted(names) == sorted(task.labels):
        return [names.index(label) for label in task.labels]
    if len(names) == len(task.labels) and (task.problem == "regression" or names[0] == "LABEL_0"):
        return list(range(len(names)))
    raise InputError(
        f"{model} knows the labels {', '.join(names)}, but {task.name} has {', '.join(task.labels)}: train one with "
        f"pocketbert train glue --task {task.name.lower()}"
    )


def _column(option: str, value: str | None) -> str:
    if value is None:
        raise InputError(f"which column holds the {option}? Name it by --{option}")
    return value


def _true(example: Example, scheme: Scheme) -> object:
    if scheme.problem == "regression" or example.label is None:
        return None if example.label is None else float(example.label)
    if scheme.problem == "single":
        return scheme.names[int(example.label)]
    return [scheme.names[number] for number in np.flatnonzero(example.label)]


def _write_lines(file: Path, rows: Sequence[object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
