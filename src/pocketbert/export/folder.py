"""A model folder that the light runtime reads: ONNX files in the wanted precisions, tokenizer and settings.

Every file is made, opened and examined in a hidden folder first; only when all have passed do they move to their place.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from pocketbert import hub
from pocketbert.errors import InputError
from pocketbert.export.fold import fold
from pocketbert.export.gate import Comparison, Examination, pass_or_raise, relative_error
from pocketbert.export.half import halve
from pocketbert.export.onnx import INPUTS, to_onnx, write_onnx
from pocketbert.export.quantise import quantise
from pocketbert.heads import load
from pocketbert.runtime.session import FILES, Precision, Session
from pocketbert.tasks.squad.features import Feature, featurise
from pocketbert.tasks.squad.predict import collate
from pocketbert.tasks.squad.questions import Question
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import FILE_NAME, Calibration

MEASURED = 256
"""Windows that show a quantiser what the model reads; other questions examine the result.

A grid ends where the largest number was seen. With 40 windows a reader's outputs erred by 0.051 on others, with 160 by
0.038, with 480 by 0.037.
"""
COMPARED = 16
"""Windows on which outputs are compared."""
SAMPLE_LENGTHS = (7, 24, 64, 96)
SAMPLE_TEXTS = 3
TOLERANCE = 0.5

Batch = Mapping[str, Tensor]


@dataclass(frozen=True)
class Exported:
    """One file that was written, how large it is, and how it compares with torch."""

    precision: Precision
    path: Path
    bytes: int
    comparison: Comparison


def export_folder(
    name: str,
    out: str | Path,
    *,
    precisions: Sequence[Precision] = ("fp32",),
    questions: Sequence[Question] | None = None,
    tolerance: float = TOLERANCE,
    progress: Callable[[str], object] = lambda _: None,
) -> list[Exported]:
    """Export a model, by folder or hub name, into `out`; raises `ExportError`, and writes nothing, if one is worse.

    `questions` examine a reader: its exports may lose `tolerance` points of F1. Without them only the outputs are
    compared, on made-up text. `progress` is told what is being done.
    """
    source, out = hub.resolve(name).folder, Path(out)
    _check(out, precisions)
    model, tokenizer = load(source).eval(), Tokenizer.load(source)
    calibration = Calibration.load(source) if (source / FILE_NAME).is_file() else None
    examination = None
    features: list[Feature] = []
    seen: list[Feature] = []
    if questions is not None:
        progress("torch: reading")
        examined, features, seen = _examiners(model, questions, tokenizer, calibration)
        examination = Examination(model, examined, features, calibration, pad_id=tokenizer.pad_id)
    batches = _batches(seen, tokenizer) if seen else _made_up(model, tokenizer)
    unseen = _batches(features[:COMPARED], tokenizer) if seen else batches
    out.parent.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as hidden:
        for precision in precisions:
            progress(f"{precision}: making")
            path = Path(hidden) / FILES[precision]
            write_onnx(_MAKERS[precision](model, batches, bool(seen)), path)
            progress(f"{precision}: examining")
            with Session.load(hidden, file=FILES[precision]) as session:
                error = relative_error(model, session, unseen)
                comparison = (
                    examination.compare(examination.read(session), error)
                    if examination
                    else Comparison(error)
                )
            pass_or_raise(precision, comparison, tolerance)
            made.append(Exported(precision, out / FILES[precision], path.stat().st_size, comparison))
        _move(Path(hidden), out, [FILES[precision] for precision in precisions])
    _settings(source, out, tokenizer)
    return made


def _plain(model: nn.Module, _batches: Sequence[Batch], _real: bool) -> onnx.ModelProto:
    return to_onnx(fold(model))


def _int8(model: nn.Module, batches: Sequence[Batch], real: bool) -> onnx.ModelProto:
    return quantise(model, batches if real else None)


def _int8_fast(model: nn.Module, batches: Sequence[Batch], real: bool) -> onnx.ModelProto:
    return quantise(model, batches if real else None, way="int8-fast")


def _fp16(model: nn.Module, batches: Sequence[Batch], _real: bool) -> onnx.ModelProto:
    return halve(model, batches)


_MAKERS: dict[Precision, Callable[[nn.Module, Sequence[Batch], bool], onnx.ModelProto]] = {
    "fp32": _plain,
    "int8": _int8,
    "int8-fast": _int8_fast,
    "fp16": _fp16,
}


def _check(out: Path, precisions: Sequence[Precision]) -> None:
    unknown = [precision for precision in precisions if precision not in FILES]
    if unknown or not precisions:
        raise InputError(f"precisions are {list(precisions)}; allowed are {', '.join(map(repr, FILES))}")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; give a folder to export to")


def _examiners(
    model: Any, questions: Sequence[Question], tokenizer: Tokenizer, calibration: Calibration | None
) -> tuple[list[Question], list[Feature], list[Feature]]:
    """Questions to examine with, their windows, and the windows of others to measure with."""
    if getattr(model, "kind", None) != "question-answering":
        raise InputError(
            f"the model's head is {getattr(model, 'kind', None) or 'none'}; questions can examine only a reader "
            "(question-answering). Leave the data out, and outputs alone are compared"
        )
    settings = calibration or Calibration()
    window = model.config.at_most(settings.window)
    overlap = min(settings.overlap, window // 3)
    shuffled = random.Random(0).sample(list(questions), len(questions))  # noqa: S311 -- no secret
    kept = min(MEASURED, max(1, len(shuffled) // 4))
    examined = shuffled[kept:]
    if not examined:
        raise InputError(f"{len(questions)} question is given to examine the export with; give at least two")
    features, seen = (
        featurise(part, tokenizer, max_length=window, overlap=overlap) for part in (examined, shuffled[:kept])
    )
    return examined, features, seen[:MEASURED]


def _batches(features: Sequence[Feature], tokenizer: Tokenizer) -> list[Batch]:
    return [
        {key: batch[key] for key in INPUTS}
        for batch in (collate([feature], pad_id=tokenizer.pad_id) for feature in features)
    ]


def _made_up(model: Any, tokenizer: Tokenizer) -> list[Batch]:
    """Random words, for want of text: enough to see whether the same comes out.

    Several texts a batch, or candidates a choice, since the error is measured by how much outputs vary within a batch:
    of a model that gives one number a text, one text would not vary at all.
    """
    generator = torch.Generator().manual_seed(0)
    batches: list[Batch] = []
    for length in SAMPLE_LENGTHS:
        length = model.config.at_most(length)
        room = length - tokenizer.layout.special_tokens(1)
        words = torch.randint(0, model.config.vocab_size, (SAMPLE_TEXTS, room), generator=generator)
        ids = torch.tensor([tokenizer.frame(row) for row in words.tolist()])
        batch = dict(zip(INPUTS, (ids, torch.ones_like(ids), torch.zeros_like(ids)), strict=True))
        if getattr(model, "kind", None) == "choice":
            batch = {key: value.unsqueeze(0) for key, value in batch.items()}
        batches.append(batch)
    return batches


def _move(hidden: Path, out: Path, files: Sequence[str]) -> None:
    for file in files:
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (hidden / file).replace(out / file)


def _settings(source: Path, out: Path, tokenizer: Tokenizer) -> None:
    """The small files that a runtime needs beside the graph."""
    if source.resolve() == out.resolve():
        return
    for file in ("config.json", FILE_NAME, "README.md"):
        if (source / file).is_file():
            shutil.copyfile(source / file, out / file)
    tokenizer.save(out)
