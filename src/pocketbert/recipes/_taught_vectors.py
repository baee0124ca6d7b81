"""A teacher's vectors of every text, read once and kept on disk, however many epochs, students or seeds follow.

    cache/
      vectors.json        whose vectors of which texts these are
      vectors-00000.npy   so many of them, (texts, dimensions), in half precision

Half precision moves the cosine of two vectors by less than a thousandth. A shard is written in one step, so reading can
be stopped and goes on; it is mapped, not loaded, so a million vectors need no memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pocketbert import hub
from pocketbert.errors import CheckpointError, InputError
from pocketbert.recipes import _shards
from pocketbert.recipes._soft_labels import fingerprint
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.tasks.sentences.texts import TextSource
from pocketbert.train.together import processes, wait_for_all

TEXTS_IN_A_SHARD = 8192
SAMPLE = 20_000  # vectors that the main directions are found from
Floats = NDArray[np.float32]


class Digest:
    """Passes texts on and remembers how many there were, and a hash of them all."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = hashlib.sha256()

    def watch(self, texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self._hash.update(len(data).to_bytes(8, "little"))
            self._hash.update(data)
            self.count += 1
            yield text

    def __str__(self) -> str:
        return self._hash.hexdigest()


class TaughtVectors:
    """Vectors of texts by their numbers, from mapped files. D dimensions."""

    def __init__(self, files: list[Path], shard: int, dimensions: int) -> None:
        self.shard, self.dimensions = shard, dimensions
        self.basis: Floats | None = None
        self._parts = [_mapped(file) for file in files]

    def __getitem__(self, numbers: NDArray[np.int64]) -> Floats:
        """The vectors (N, D) of texts; in the main directions if `project` has been called."""
        found = np.empty((len(numbers), self._parts[0].shape[1]), dtype=np.float32)
        parts = numbers // self.shard
        for part in np.unique(parts):
            rows = parts == part
            found[rows] = self._parts[part][numbers[rows] % self.shard]
        return found if self.basis is None else found @ self.basis

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def project(self, dimensions: int, *, seed: int = 0) -> None:
        """Turn the vectors so that their main directions come first, and keep so many of them.

        The directions are those of the vectors as they are, not of their differences from a mean, so that cosines
        change as little as they can; with all dimensions kept they do not change at all.
        """
        if dimensions > self.dimensions:
            raise InputError(
                f"dimensions = {dimensions}, but the teacher's vectors have {self.dimensions}: give at most so many, "
                "or projection = learned"
            )
        drawn = np.random.default_rng(seed).choice(len(self), min(len(self), SAMPLE), replace=False)
        sample = self[np.sort(drawn)].astype(np.float64)
        values, vectors = np.linalg.eigh(sample.T @ sample)
        main = vectors[:, np.argsort(-values)[:dimensions]]
        # A direction may point either way; the larger part decides, so that it is the same on every machine.
        main *= np.sign(main[np.abs(main).argmax(axis=0), np.arange(dimensions)])
        self.basis, self.dimensions = main.astype(np.float32), dimensions


_REASONS = {
    "texts": "are of other texts",
    "count": "are of other texts",
    "texts_in_a_shard": "are cut into other shards",
}


def taught_vectors(
    name: str,
    source: TextSource,
    digest: Digest,
    folder: Path,
    *,
    precision: str = "no",
    shard: int = TEXTS_IN_A_SHARD,
) -> tuple[TaughtVectors, dict[str, Any]]:
    """The vectors of a teacher for every text of a source, and what identifies them.

    What `folder` has of them is not made again. `digest` has seen the texts of the source. With `precision` "bf16" the
    teacher computes as its student does.
    """
    described = {
        "teacher": _teacher_key(name),
        "texts": str(digest),
        "count": digest.count,
        "texts_in_a_shard": shard,
    }
    _shards.begin(folder / "vectors.json", name, described, _REASONS)
    count = -(-digest.count // shard)
    files = [folder / f"vectors-{number:05d}.npy" for number in range(count)]
    mine = _shards.left_to_do(files)
    if mine:
        device = processes().device.type
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            _read_shards(TorchEmbedder.load(name), source, files, set(mine), shard)
    wait_for_all()
    width = int(_mapped(files[0]).shape[1])
    return TaughtVectors(files, shard, width), described


def _read_shards(
    teacher: TorchEmbedder, source: TextSource, files: list[Path], mine: set[int], shard: int
) -> None:
    teacher.model.to(processes().device).requires_grad_(False)
    texts = iter(source)
    done = 0
    for number, file in enumerate(files):
        part = list(islice(texts, shard))
        if number not in mine:
            continue
        vectors = teacher.encode(part).astype(np.float16)
        with _shards.written(file) as stream:
            np.save(stream, vectors)
        done += 1
        _shards.show(done, len(mine))


def _teacher_key(name: str) -> str:
    """A hash of a teacher's weights, and of how it pools."""
    folder = hub.resolve(name).folder
    digest = hashlib.sha256(fingerprint(folder).encode())
    for file in sorted(
        (*folder.glob("*.json"), *folder.glob("*_*/config.json"), *folder.glob("*_*/*.safetensors"))
    ):
        if file.name not in ("settings.json", "run.json", "scores.json"):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _mapped(file: Path) -> NDArray[np.float16]:
    try:
        vectors: NDArray[np.float16] = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"the vectors in {file} cannot be read ({error}): delete this file, and it will be made again"
        ) from error
    return vectors
