"""A model folder that the light runtime reads: ONNX files in the wanted precisions, tokenizer and settings.

Every file is made, opened and examined in a hidden folder first; only when all have passed do they move to their place.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import onnx
import torch
from torch import nn

from pocketbert import checkpoint, hub
from pocketbert.errors import InputError
from pocketbert.export.exams.data import Examine
from pocketbert.export.exams.labels import reading_of
from pocketbert.export.fold import fold
from pocketbert.export.gate import Batch, Comparison, Exam, OutputsOnly, pass_or_raise, relative_error
from pocketbert.export.half import halve
from pocketbert.export.onnx import INPUTS, to_onnx, write_onnx
from pocketbert.export.quantise import quantise
from pocketbert.heads import load
from pocketbert.heads.folder import config_data
from pocketbert.model import HeadKind
from pocketbert.runtime.session import FILES, Precision, Session
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import FILE_NAME
from pocketbert.text.sentence_config import SentenceConfig, read_sentence_config, write_sentence_config

WITH_LABELS = ("classification", "tags")
SAMPLE_LENGTHS = (7, 24, 64, 96)
SAMPLE_TEXTS = 3
TOLERANCE = 0.5


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
    head: HeadKind | Literal["auto", "none"] = "auto",
    examine: Examine | None = None,
    tolerance: float = TOLERANCE,
    progress: Callable[[str], object] = lambda _: None,
) -> list[Exported]:
    """Export a model, by folder or hub name, into `out`; raises `ExportError`, and writes nothing, if one is worse.

    `examine` makes the model's exam (see `exams`), of whose score exports may lose `tolerance` points; the temperature
    that it fits goes into the folder of a model with labels. Without it only the outputs are compared, on made-up text.
    `head` takes another part of the model than it was saved with. Of a model that makes sentence vectors it is the
    encoder: what comes after that is small, and goes along as settings. `progress` is told what is being done.
    """
    source, out = hub.resolve(name).folder, Path(out)
    _check(source, out, precisions, head)
    sentences = read_sentence_config(source) if head in ("auto", "none") else None
    model, tokenizer = load(source, head=head if sentences is None else "none").eval(), Tokenizer.load(source)
    if head != "auto" and model.report.new:
        raise InputError(
            f"{name} has no weights for {', '.join(model.report.new)}; export a head that it has"
        )
    if examine is not None:
        progress("torch: reading")
        exam: Exam = examine(model, tokenizer, source)
    else:
        exam = OutputsOnly((), _made_up(model, tokenizer))
    texts = exam.shown or exam.asked
    out.parent.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as hidden:
        for precision in precisions:
            progress(f"{precision}: making")
            path = Path(hidden) / FILES[precision]
            write_onnx(_MAKERS[precision](model, texts, examine is not None), path)
            progress(f"{precision}: examining")
            with Session.load(hidden, file=FILES[precision]) as session:
                comparison = exam.compare(session, relative_error(model, session, exam.asked))
            pass_or_raise(precision, comparison, tolerance)
            made.append(Exported(precision, out / FILES[precision], path.stat().st_size, comparison))
        _move(Path(hidden), out, [FILES[precision] for precision in precisions])
    _settings(source, out, tokenizer, model if head != "auto" or sentences is not None else None)
    if sentences is not None and source.resolve() != out.resolve():
        _sentence_settings(source, out, sentences, model)
    if getattr(model, "kind", None) in WITH_LABELS:
        (exam.labels or reading_of(model, source)).save(out)
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


def _check(source: Path, out: Path, precisions: Sequence[Precision], head: str) -> None:
    unknown = [precision for precision in precisions if precision not in FILES]
    if unknown or not precisions:
        raise InputError(f"precisions are {list(precisions)}; allowed are {', '.join(map(repr, FILES))}")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; give a folder to export to")
    if head != "auto" and source.resolve() == out.resolve():
        raise InputError(
            f"head is {head!r}, and {out} is the model's own folder, whose config.json is about the head that it has; "
            "give another folder to export to"
        )


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


def _settings(source: Path, out: Path, tokenizer: Tokenizer, part: Any | None) -> None:
    """The small files that a runtime needs beside the graph; of a part of a model, a config.json of its own."""
    if source.resolve() == out.resolve():
        return
    files = ("config.json", FILE_NAME, "README.md") if part is None else ("README.md",)
    for file in files:
        if (source / file).is_file():
            shutil.copyfile(source / file, out / file)
    if part is not None:
        checkpoint.write_json(out / "config.json", config_data(part))
    tokenizer.save(out)


def _sentence_settings(source: Path, out: Path, config: SentenceConfig, model: Any) -> None:
    """How sentence vectors are made, with the weights of a Dense layer if there is one."""
    if config.dense is not None:
        (out / config.dense.file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / config.dense.file, out / config.dense.file)
    longest = config.max_seq_length
    write_sentence_config(
        out, config if longest is None else replace(config, max_seq_length=model.config.at_most(longest))
    )
