"""Model folders in and out: config.json and safetensors, strict both ways.

A folder is read under Hugging Face's names and held under ours. What is missing or unknown is an error that lists it;
what the folder has for another head is left unused, and a head that the folder lacks is new: both are said.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from pocketbert import checkpoint, hub
from pocketbert.checkpoint import NameTable
from pocketbert.errors import CheckpointError, ConfigError, InputError
from pocketbert.heads.classify import ClassificationHead, Problem
from pocketbert.heads.model import Model, build
from pocketbert.model import (
    PRESETS,
    Architecture,
    Config,
    Encoder,
    HeadKind,
    architecture,
    build_encoder,
    read_config,
)
from pocketbert.model.folded import unfolded

logger = logging.getLogger("pocketbert")

PROBLEMS: dict[Problem, str] = {
    "single": "single_label_classification",
    "multi": "multi_label_classification",
    "regression": "regression",
}


@dataclass(frozen=True)
class LoadReport:
    """What a folder did not hold, what was left unused, and which revision of the hub it was."""

    new: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    revision: str | None = None


def load(
    name_or_folder: str | Path,
    *,
    head: HeadKind | Literal["auto", "none"] = "auto",
    labels: Sequence[str] | int | None = None,
    problem: Problem | None = None,
    head_weights: Literal["saved", "new"] = "saved",
    revision: str | None = None,
) -> Any:
    """Load a model folder, or a model of the hub by its name, into an `Encoder` or a `Model` with its head.

    `head="auto"` takes the head that the folder was saved with; `"none"` the encoder alone; a head's name puts that
    head on, with fresh weights where the folder has none, or in any case with `head_weights="new"`: for other labels
    than those it was saved with. The result's `report` says what was new or unused.
    A folder that holds nothing but an exported model, such as the embedded reader's (`pocketbert/reader`), is read back
    from its ONNX file.
    """
    if head not in (*get_args(HeadKind), "auto", "none"):
        allowed = ", ".join(map(repr, ("auto", "none", *get_args(HeadKind))))
        raise InputError(f"head is {head!r}; it must be one of {allowed}")
    if str(name_or_folder) in PRESETS and not Path(name_or_folder).is_dir():
        raise InputError(
            f"{name_or_folder!r} is a preset, which has no weights to load; pocketbert.build({name_or_folder!r}) makes "
            "one with fresh weights, and pretrained ones come from a folder or a name on the hub (owner/name)"
        )
    resolved = hub.resolve(name_or_folder, revision=revision)
    data = checkpoint.read_json(resolved.folder / "config.json")
    config = read_config(data)
    family = architecture(config.model_type)
    saved = saved_head(data, family)
    kind: HeadKind | None = saved if head == "auto" else None if head == "none" else head
    if kind is None:
        model: Model | Encoder = build_encoder(config)
    else:
        model = build(
            config,
            kind,
            **label_arguments(data if kind == saved and head_weights == "saved" else {}, labels, problem),
        )
    exported = checkpoint.exported_file(resolved.folder)
    if exported is not None and not checkpoint.has_tensors(resolved.folder):
        held = _from_exported(model, checkpoint.read_onnx(exported))
    else:
        held = _sort(checkpoint.read_tensors(resolved.folder), family, config, saved or kind)
    new, unused = _fill(model, kind, saved or kind, held, head_weights == "saved")
    model.report = LoadReport(new, unused, resolved.revision)  # type: ignore[assignment]
    if new and head_weights == "saved":
        logger.warning(
            "%s has no weights for %s: they are new and want training", name_or_folder, ", ".join(new)
        )
    return model


def save(model: Model | Encoder, folder: str | Path) -> None:
    """Write a model folder that Hugging Face's own classes load with nothing missing and nothing left over."""
    folder = Path(folder)
    family = architecture(model.config.model_type)
    encoder = model if isinstance(model, Encoder) else model.encoder
    own = {
        name: family.to_theirs(model.config, name, parameter.detach())
        for name, parameter in encoder.named_parameters()
    }
    tensors = _renamed(NameTable(family.names(model.config)), own)
    if isinstance(model, Model) and model.kind is not None:
        form = family.heads[model.kind]
        tensors = {f"{family.base}.{name}": value for name, value in tensors.items()}
        head = {name: parameter.detach() for name, parameter in model.head.named_parameters()}
        tensors |= _renamed(NameTable(form.names), head)
    checkpoint.write_tensors(folder, tensors)
    checkpoint.write_json(folder / "config.json", config_data(model))


def config_data(model: Model | Encoder) -> dict[str, Any]:
    """What the config.json of a model says."""
    family = architecture(model.config.model_type)
    data = model.config.to_hf() | {"dtype": "float32", "tie_word_embeddings": True}
    if isinstance(model, Encoder) or model.kind is None:
        return data | {"architectures": [f"{family.classes}Model"]}
    return (
        data | {"architectures": [f"{family.classes}{family.heads[model.kind].suffix}"]} | _label_data(model)
    )


def saved_head(data: Mapping[str, Any], family: Architecture) -> HeadKind | None:
    """The head that a config.json's `architectures` names; none for a bare encoder."""
    classes = data.get("architectures") or [f"{family.classes}Model"]
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise ConfigError(f"config.json: architectures is {classes!r}; it must be a list of class names")
    return next((kind for kind, form in family.heads.items() if classes[0].endswith(form.suffix)), None)


def tensor_names(config: Config, kind: HeadKind | None) -> list[tuple[str, str, tuple[int, ...]]]:
    """Every tensor of a model: our name, Hugging Face's, and the shape. Builds nothing that takes memory."""
    family = architecture(config.model_type)
    with torch.device("meta"):
        model = build(config, kind)
    encoder = model if kind is None else model.encoder
    found = [
        (
            ours,
            theirs if kind is None else f"{family.base}.{theirs}",
            tuple(encoder.get_parameter(ours).shape),
        )
        for ours, theirs in NameTable(family.names(config))
        .to_theirs(dict(encoder.named_parameters()))
        .items()
    ]
    if kind is not None:
        head = dict(model.head.named_parameters())
        table = NameTable(family.heads[kind].names).to_theirs(head)
        found = [(f"encoder.{ours}", theirs, shape) for ours, theirs, shape in found]
        found += [(f"head.{ours}", theirs, tuple(head[ours].shape)) for ours, theirs in table.items()]
    return found


@dataclass(frozen=True)
class _Held:
    """What a file holds, under our names: the encoder, the saved head, and the names of other heads' weights."""

    encoder: dict[str, Tensor]
    head: dict[str, Tensor]
    others: tuple[str, ...]


def _sort(tensors: dict[str, Tensor], family: Architecture, config: Config, saved: HeadKind | None) -> _Held:
    prefix = f"{family.base}."
    has_prefix = any(name.startswith(prefix) for name in tensors)  # a bare encoder is saved without it
    body = {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix) or not has_prefix
    }
    rest = {name: value for name, value in tensors.items() if has_prefix and not name.startswith(prefix)}
    encoder, foreign = _split(NameTable(family.names(config)), body)
    encoder = {name: family.to_ours(config, name, value) for name, value in encoder.items()}
    head, rest = _split(NameTable(family.heads[saved].names if saved else {}), rest | foreign)
    for name, ours in family.tied.items():
        if name not in rest:
            continue
        copy = rest.pop(name)
        original = encoder.get(ours, head.get(ours, head.get(f"masked_lm.{ours}")))
        if original is not None and not torch.equal(original, copy):
            raise CheckpointError(
                f"{name} is not equal to the weights it is tied to; untied masked-LM heads are not supported"
            )
    others: set[str] = set()
    for form in family.heads.values():
        others |= set(NameTable(form.names).to_ours(rest)[0])
    unknown = sorted(set(rest) - others)
    if unknown:
        shown = ", ".join(unknown[:20]) + (f" and {len(unknown) - 20} more" if len(unknown) > 20 else "")
        raise CheckpointError(f"the weights hold names that no {family.classes} model has: {shown}")
    return _Held(encoder, head, tuple(sorted(others)))


def _from_exported(model: Model | Encoder, weights: dict[str, Tensor]) -> _Held:
    """The weights of an ONNX file, which are those of a folded model under our own names."""
    encoder = model if isinstance(model, Encoder) else model.encoder
    head = {name.removeprefix("head."): value for name, value in weights.items() if name.startswith("head.")}
    body = {
        name.removeprefix("encoder."): value
        for name, value in weights.items()
        if not name.startswith("head.")
    }
    return _Held(unfolded(encoder, body), head, ())


def _split(table: NameTable, tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The tensors that a table knows, under our names, and the others as they are."""
    mapped, unknown = table.to_ours(tensors)
    return {ours: tensors[theirs] for theirs, ours in mapped.items()}, {
        name: tensors[name] for name in unknown
    }


def _fill(
    model: Model | Encoder, kind: HeadKind | None, saved: HeadKind | None, held: _Held, keep_head: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Put the weights into place; returns the parts that are new and the names that were left unused."""
    encoder = model if isinstance(model, Encoder) else model.encoder
    weights, unused, new = dict(held.encoder), list(held.others), []
    own = {name for name, _ in encoder.named_parameters() if name.startswith("pooler.")}
    given = {name for name in weights if name.startswith("pooler.")}
    if own and not given:
        if isinstance(model, Encoder):
            encoder.pooler = None
        else:
            new.append("the pooler")
            weights |= {name: encoder.get_parameter(name).detach() for name in own}
    for name in given - own:
        del weights[name]
        unused.append(name)
    checkpoint.fill(encoder, weights)
    head_weights = _for_head(held.head, saved, kind) if keep_head else {}
    if held.head and not head_weights:
        unused += [f"head.{name}" for name in held.head]
    if isinstance(model, Model):
        if head_weights:
            fresh = {} if saved == kind else _missing_part(model.head, head_weights)
            new += ["the head for pairs of sentences"] if fresh else []
            checkpoint.fill(model.head, head_weights | fresh)
        else:
            new.append(f"the {kind} head")
    return tuple(new), tuple(sorted(unused))


def _for_head(weights: dict[str, Tensor], saved: HeadKind | None, kind: HeadKind | None) -> dict[str, Tensor]:
    """A saved head's weights for the head that is wanted: its own, or its part of the pre-training heads."""
    if saved == kind:
        return weights
    if saved == "masked-lm" and kind == "pretraining":
        return {f"masked_lm.{name}": value for name, value in weights.items()}
    part = {"masked-lm": "masked_lm.", "next-sentence": "next_sentence."}.get(kind or "")
    if saved != "pretraining" or part is None:
        return {}
    return {name.removeprefix(part): value for name, value in weights.items() if name.startswith(part)}


def _missing_part(head: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The fresh weights of both pre-training heads where only the masked words' were saved."""
    if "masked_lm.bias" not in weights:
        return {}
    return {
        name: value.detach() for name, value in head.named_parameters() if not name.startswith("masked_lm.")
    }


def _renamed(table: NameTable, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {theirs: tensors[ours] for ours, theirs in table.to_theirs(tensors).items()}


def label_arguments(
    data: Mapping[str, Any], labels: Sequence[str] | int | None, problem: Problem | None
) -> dict[str, Any]:
    """Label names and the kind of problem: what the caller says, else what config.json says."""
    named = data.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    try:
        saved_labels = [named[str(number)] for number in range(len(named))]
    except (KeyError, TypeError):
        raise ConfigError(
            f"config.json: id2label is {named!r}; it must map '0', '1', … to label names"
        ) from None
    saved_problem = next(
        (ours for ours, theirs in PROBLEMS.items() if data.get("problem_type") == theirs), None
    )
    if saved_problem is None:  # transformers: a single label without a problem type is a regression
        saved_problem = "regression" if len(saved_labels) == 1 else "single"
    return {"labels": saved_labels if labels is None else labels, "problem": problem or saved_problem}


def _label_data(model: Model) -> dict[str, Any]:
    if not model.labels:
        return {}
    data: dict[str, Any] = {
        "id2label": {str(number): label for number, label in enumerate(model.labels)},
        "label2id": {label: number for number, label in enumerate(model.labels)},
    }
    if isinstance(model.head, ClassificationHead):
        data["problem_type"] = PROBLEMS[model.head.problem]
    return data
