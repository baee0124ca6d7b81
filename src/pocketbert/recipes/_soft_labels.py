"""What a teacher says of every window, read once and kept on disk, however many epochs, seeds or methods follow.

    cache/
      labels.json                whose labels of which windows these are
      labels-00000.safetensors   start and end logits of so many windows, one after the other

A teacher that is an exported file, such as the embedded reader, is read by the light runtime, some times faster than
torch reads it. A shard is written in one step, so reading can be stopped and goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from pocketbert import hub
from pocketbert.errors import CheckpointError, InputError
from pocketbert.heads import Model, load
from pocketbert.recipes import _shards
from pocketbert.runtime.session import Session, model_file
from pocketbert.tasks.squad.features import Feature
from pocketbert.tasks.squad.predict import Logits, predict
from pocketbert.train.together import processes, wait_for_all

if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOWS_IN_A_SHARD = 2048
WEIGHTS = "model.safetensors"


_REASONS = {
    "windows": "are of other windows: other questions, another tokenizer or another length",
    "windows_in_a_shard": "are cut into other shards",
}


def soft_labels(
    name: str, features: Sequence[Feature], folder: Path, *, pad_id: int = 0, shard: int = WINDOWS_IN_A_SHARD
) -> tuple[Logits, Logits]:
    """Start and end logits of a teacher for every window; what `folder` holds of them already is not read again."""
    source = hub.resolve(name).folder
    described = {
        "teacher": fingerprint(source),
        "windows": _digest(feature.input_ids.tobytes() for feature in features),
        "windows_in_a_shard": shard,
    }
    parts = [features[start : start + shard] for start in range(0, len(features), shard)]
    files = [folder / f"labels-{number:05d}.safetensors" for number in range(len(parts))]
    _shards.begin(folder / "labels.json", name, described, _REASONS)
    mine = _shards.left_to_do(files)
    if mine:
        with _teacher(name, source) as teacher:
            for done, number in enumerate(mine):
                sides = zip(("starts", "ends"), predict(teacher, parts[number], pad_id=pad_id), strict=True)
                arrays = {side: np.concatenate(rows) for side, rows in sides}
                with _shards.written(files[number]) as stream:
                    stream.write(save(arrays))
                _shards.show(done + 1, len(mine))
    wait_for_all()
    starts: Logits = []
    ends: Logits = []
    for file, part in zip(files, parts, strict=True):
        for kept, logits in zip((starts, ends), _read(file, [len(feature) for feature in part]), strict=True):
            kept += logits
    return starts, ends


def load_teacher(name: str) -> Model:
    """A reader in torch, on this process's device, which stays as it is."""
    teacher: Model = load(name, head="question-answering")
    if teacher.report.new:
        raise InputError(f"the teacher {name} has no question-answering head, so it has nothing to say")
    teacher.eval().requires_grad_(False)
    return teacher.to(processes().device)


@contextmanager
def _teacher(name: str, source: Path) -> Iterator[Model | Session]:
    if (source / WEIGHTS).is_file() or (source / f"{WEIGHTS}.index.json").is_file():
        yield load_teacher(name)
        return
    with Session.load(source) as session:
        if not {"start_logits", "end_logits"} <= set(session.outputs):
            raise InputError(
                f"the teacher {name} gives {', '.join(session.outputs)}, and no start_logits and end_logits"
            )
        yield session


def _read(file: Path, lengths: Sequence[int]) -> tuple[Logits, Logits]:
    try:
        tensors = load_file(file)
        starts, ends = (np.split(tensors[side], np.cumsum(lengths)[:-1]) for side in ("starts", "ends"))
    except (OSError, SafetensorError, KeyError) as error:
        raise CheckpointError(
            f"the labels in {file} cannot be read ({error}): delete this file, and it will be made again"
        ) from error
    return starts, ends


def fingerprint(source: Path) -> str:
    """A hash of the file or files that hold the weights."""
    files = sorted(source.glob("*.safetensors")) or [model_file(source)]
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _digest(blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(len(block).to_bytes(8, "little"))
        digest.update(block)
    return digest.hexdigest()
