"""The model folder of a bundle: one ONNX file, its words and its settings, compared with what they were made from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pocketbert.bundle.check import Check, check
from pocketbert.bundle.optimise import OPTIMISED, optimise
from pocketbert.errors import CheckpointError, InputError, TokenizerError, needing
from pocketbert.runtime.folder import ReaderFolder, find_reader
from pocketbert.runtime.manifest import FILE_NAME, write_manifest
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.runtime.session import FILES, Precision, Session, model_file
from pocketbert.tasks.squad.questions import Question
from pocketbert.text.calibration import FILE_NAME as CALIBRATION
from pocketbert.text.tokenizer import Tokenizer

BEST_FIRST: tuple[Precision, ...] = ("int8-fast", "int8", "fp16", "fp32")
"""Which file to take where a folder has several: the fastest in a browser first."""


@dataclass(frozen=True)
class Bundled:
    """What became of a model."""

    precision: Precision
    optimised: bool
    check: Check


def put_model(
    name: str | None,
    folder: Path,
    *,
    precision: Precision | None = None,
    questions: Sequence[Question] | None = None,
    tolerance: float,
    progress: Callable[[str], object] = lambda _: None,
) -> Bundled:
    """Write the model folder of a bundle; `name` is a folder, a hub name, or None for the embedded reader.

    A model without ONNX files is exported first, with `questions` as its examiners, which needs the lab.
    """
    with TemporaryDirectory(dir=folder.parent) as hidden:
        found, precision = _exported(name, precision, Path(hidden), questions, tolerance, progress)
        source, path = model_file(found.path, precision=precision), folder / FILES[precision]
        optimised = precision in OPTIMISED
        path.parent.mkdir(parents=True)
        if optimised:
            progress("optimising the model")
            optimise(source, path)
        else:
            shutil.copyfile(source, path)
        _settings(found, folder)
        progress("comparing the answers")
        outcome = check(_reader(found, precision), _bundled(folder, found), questions, tolerance=tolerance)
    write_manifest(folder)
    if optimised:
        _mark_optimised(folder / FILE_NAME)
    return Bundled(precision, optimised, outcome)


def _exported(
    name: str | None,
    precision: Precision | None,
    hidden: Path,
    questions: Sequence[Question] | None,
    tolerance: float,
    progress: Callable[[str], object],
) -> tuple[ReaderFolder, Precision]:
    """A reader that has the wanted ONNX file, and which one that is."""
    found = find_reader(name)
    wanted = BEST_FIRST if precision is None else (precision,)
    there = next((kind for kind in wanted if (found.path / FILES[kind]).is_file()), None)
    if there is not None:
        return found, there
    if not any(found.path.glob("*.safetensors")):
        model_file(found.path, precision=precision)  # says what is missing
        raise CheckpointError(f"{found.path} has neither an ONNX file nor weights; give another model")
    if questions is None:
        raise InputError(
            f"{found.path} has no ONNX file yet, and one is only made if questions can examine it; name some "
            "with --data, or export the model first: pocketbert export MODEL DIR --precision int8"
        )
    with needing("lab"):
        from pocketbert.export.exams.questions import examine
        from pocketbert.export.folder import export_folder

    precision = precision or "int8-fast"
    export_folder(
        str(found.path), hidden, precisions=[precision], examine=examine(questions), tolerance=tolerance,
        progress=progress,
    )  # fmt: skip
    return find_reader(hidden), precision


def _settings(found: ReaderFolder, folder: Path) -> None:
    for file in ("config.json", CALIBRATION):
        if (found.path / file).is_file():
            shutil.copyfile(found.path / file, folder / file)
    found.tokenizer.save(folder)
    if not (folder / "vocab.txt").is_file():
        raise TokenizerError(
            f"the words of {found.path} are not cut by WordPiece, and browsers know no other way yet; "
            "give a model of the BERT family with a vocab.txt"
        )
    # vocab.txt is a third of tokenizer.json; it is enough where it says the same.
    with TemporaryDirectory() as other:
        for file in ("vocab.txt", "tokenizer_config.json"):
            shutil.copyfile(folder / file, Path(other) / file)
        Tokenizer.load(other).save(other)
        same = (Path(other) / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    (folder / ("tokenizer.json" if same else "vocab.txt")).unlink()


def _reader(found: ReaderFolder, precision: Precision) -> QuestionAnswerer:
    session = Session.load(found.path, precision=precision)
    return QuestionAnswerer(session, found.tokenizer, found.calibration, positions=found.positions)


def _bundled(folder: Path, found: ReaderFolder) -> QuestionAnswerer:
    session = Session.load(folder)
    return QuestionAnswerer(session, Tokenizer.load(folder), found.calibration, positions=found.positions)


def _mark_optimised(manifest: Path) -> None:
    """Tell the browser that there is nothing left to optimise: looking for it takes longer than all the rest."""
    data = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**data, "optimised": True}, indent=2) + "\n", encoding="utf-8")
