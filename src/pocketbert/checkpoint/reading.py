"""Weights from a folder or a file: safetensors only, whole or in shards."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import torch
from safetensors import SafetensorError, safe_open

from pocketbert.checkpoint.files import read_json, shown
from pocketbert.checkpoint.header import read_header
from pocketbert.errors import CheckpointError

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"

FOREIGN = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".h5", ".msgpack"}
ADVICE = (
    "load it once in transformers, in a place where its code may run, and call "
    "save_pretrained(folder, safe_serialization=True); or download a revision that has model.safetensors"
)


def read_tensors(source: Path | str, *, prefix: str = "") -> dict[str, torch.Tensor]:
    """The tensors whose names begin with `prefix`, from a model folder or one safetensors file.

    They are mapped from the file, not copied: memory is spent on what is used.
    """
    path = Path(source)
    try:
        if path.suffix.lower() in FOREIGN and not path.is_dir():
            raise CheckpointError(
                f"{path} is refused: such a file can run code or is of a foreign kind; {ADVICE}"
            )
        if path.is_file():
            return _read_file(path, read_header(path), prefix)
        whole = path / WEIGHTS
        if whole.is_file():
            return _read_file(whole, read_header(whole), prefix)
        if (path / INDEX).is_file():
            return _read_shards(path, prefix)
        raise _nothing_to_read(path)
    except OSError as error:
        raise CheckpointError(f"cannot read {error.filename or path}: {error.strerror or error}") from error


def has_tensors(folder: Path) -> bool:
    """Whether a folder holds safetensors of a model, whole or in shards."""
    return any((folder / name).is_file() for name in (WEIGHTS, INDEX))


def _read_file(path: Path, names: list[str], prefix: str) -> dict[str, torch.Tensor]:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in names if name.startswith(prefix)}
    except (SafetensorError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def _read_shards(folder: Path, prefix: str) -> dict[str, torch.Tensor]:
    homes = _read_index(folder / INDEX)
    shards = sorted(set(homes.values()))
    missing = [shard for shard in shards if not (folder / shard).is_file()]
    if missing:
        raise CheckpointError(
            f"{folder} lacks {_some(missing)}, which {INDEX} names; download or copy them too"
        )
    tensors: dict[str, torch.Tensor] = {}
    for shard in shards:
        _check_home(folder, shard)
        found = read_header(folder / shard)
        promised = {name for name, home in homes.items() if home == shard}
        strays = [name for name in found if name not in promised]
        if strays:
            raise CheckpointError(
                f"{folder / shard} holds {_some(strays)}, which {INDEX} places elsewhere or nowhere"
            )
        absent = sorted(promised.difference(found))
        if absent:
            raise CheckpointError(f"{folder / shard} lacks {_some(absent)}, which {INDEX} places there")
        tensors |= _read_file(folder / shard, found, prefix)
    return tensors


def _read_index(path: Path) -> dict[str, str]:
    """Tensor -> shard; a shard is the plain name of a safetensors file."""
    homes = read_json(path).get("weight_map")
    if not isinstance(homes, dict) or not homes:
        raise CheckpointError(f"{path}: weight_map must map the name of each tensor to a file")
    for name, shard in homes.items():
        # Both kinds of paths on every system: a folder made on one is read on the other.
        if not isinstance(shard, str) or not (
            PurePosixPath(shard).name == PureWindowsPath(shard).name == shard
            and shard.endswith(".safetensors")
        ):
            raise CheckpointError(
                f"{path}, tensor {shown(name)}: {shown(str(shard))} is no plain name of a safetensors file"
            )
    return homes


def _check_home(folder: Path, shard: str) -> None:
    """A shard lies in its folder, or in a store of the hub's cache, where the files of a snapshot link to.

    The cache is `hub/models--owner--name/snapshots/commit/`, with stores `blobs/` in the model's folder and,
    since huggingface_hub 2, in `hub/` itself.
    """
    home = folder.resolve()
    file = (folder / shard).resolve()
    caches = [ancestor.parent for ancestor in home.parents if ancestor.name == "snapshots"]
    stores = [place / "blobs" for cache in caches for place in (cache, cache.parent)]
    if file.parent != home and not any(file.is_relative_to(store) for store in stores):
        raise CheckpointError(
            f"{folder / shard} is a link out of its folder, to {file}; put the file itself there"
        )


def _nothing_to_read(folder: Path) -> CheckpointError:
    if not folder.is_dir():
        return CheckpointError(f"there is no folder or file {folder}")
    found = sorted(entry.name for entry in folder.iterdir())
    foreign = [name for name in found if Path(name).suffix.lower() in FOREIGN]
    if foreign:
        return CheckpointError(
            f"{folder} has no {WEIGHTS}, only {_some(foreign)}: such files can run code or are of a foreign "
            f"kind and are never opened; {ADVICE}"
        )
    return CheckpointError(
        f"{folder} has neither {WEIGHTS} nor {INDEX} (it holds: {_some(found) or 'nothing'}); "
        f"where the weights were published in another form, {ADVICE}"
    )


def _some(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more
