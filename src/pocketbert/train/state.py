"""Checkpoints of a run: safetensors and JSON in a folder that is either whole or not there.

    checkpoint-500/
      model.safetensors      every weight and buffer by name; with LoRA only those that learn
      optimiser.safetensors  the optimiser's state, as `what/weight`
      average.safetensors    the moving average of the weights, if one is kept
      random.safetensors     the state of every generator, as `process/generator`
      state.json             step, log sums, best score, loss scale …

A folder is written under another name, flushed to the disk and renamed, so a kill or a full disk never leaves
half a checkpoint. No pickle: reading a checkpoint runs no code.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from pocketbert.errors import CheckpointError
from pocketbert.train.sharding import like

VERSION = 1
_NAME = re.compile(r"checkpoint-(\d+)")
_TEMPORARY = ".unfinished-"
_HELD = "held_weights"


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on as if nothing had happened; `tensors` by file name."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    progress: Mapping[str, Any]


def write_folder(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint so that the folder appears whole or not at all."""
    temporary = folder.with_name(f"{_TEMPORARY}{folder.name}-{os.getpid()}")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        for name, tensors in checkpoint.tensors.items():
            whole = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
            save_file(whole, temporary / f"{name}.safetensors")
        progress = {"version": VERSION, **checkpoint.progress}
        (temporary / "state.json").write_text(json.dumps(progress, indent=1) + "\n", encoding="utf-8")
        for file in temporary.iterdir():
            _flush(file)
        _flush(temporary)
        if folder.exists():
            discard(folder)
        temporary.rename(folder)
        _flush(folder.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def finite(tensors: Mapping[str, Tensor]) -> bool:
    """Whether no weight is infinite or not a number."""
    return all(bool(value.isfinite().all()) for value in tensors.values() if value.is_floating_point())


def read_folder(folder: Path) -> Checkpoint:
    """Read a checkpoint, or say what is wrong with it."""
    try:
        progress = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        version = progress["version"]
        tensors = {file.stem: load_file(file) for file in sorted(folder.glob("*.safetensors"))}
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(
            f"{folder} is not a checkpoint of a training run ({error}); give a folder such as "
            f"{folder.parent / 'checkpoint-500'} that holds state.json and model.safetensors"
        ) from error
    if version != VERSION:
        raise CheckpointError(f"{folder} has checkpoint format {version}; this version reads {VERSION}")
    return Checkpoint(tensors, progress)


def checkpoint_folder(output: Path, step: int) -> Path:
    """Where the checkpoint of a step lies."""
    return output / f"checkpoint-{step}"


def checkpoints(output: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    if not output.is_dir():
        return []
    found = ((_NAME.fullmatch(path.name), path) for path in output.iterdir() if path.is_dir())
    numbered = [(int(match.group(1)), path) for match, path in found if match]
    return [path for _, path in sorted(numbered)]


def discard(folder: Path) -> None:
    """Delete a folder; renamed first, so that a kill half-way leaves nothing that looks whole."""
    doomed = folder.with_name(f"{_TEMPORARY}{folder.name}-{os.getpid()}-old")
    folder.rename(doomed)
    shutil.rmtree(doomed)


def sweep(output: Path) -> None:
    """Delete what a kill left unfinished."""
    for path in output.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)


def hold(model: nn.Module, names: Iterable[str]) -> None:
    """Say which weights a run never changes: they are not part of its checkpoints."""
    setattr(model, _HELD, frozenset(names))


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Every weight that is not held and every saved buffer by name; a weight that two places share appears once."""
    saved = model.state_dict().keys()
    held: frozenset[str] = getattr(model, _HELD, frozenset())
    weights: dict[str, Tensor] = {
        name: weight for name, weight in model.named_parameters() if name not in held
    }
    weights.update((name, buffer) for name, buffer in model.named_buffers() if name in saved)
    return weights


@torch.no_grad()
def set_weights(model: nn.Module, weights: Mapping[str, Tensor], source: Path) -> None:
    """Put weights back into the model they came from."""
    present = weights_of(model)
    if present.keys() != weights.keys():
        odd = sorted(present.keys() ^ weights.keys())
        raise CheckpointError(f"{source} is of another model: {len(odd)} names differ, such as {odd[:3]}")
    for name, weight in present.items():
        if weight.shape != weights[name].shape:
            raise CheckpointError(
                f"{source} is of another model: {name} is {list(weights[name].shape)} there and "
                f"{list(weight.shape)} here"
            )
        weight.copy_(like(weights[name], weight))


def optimiser_state(optimiser: Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimiser's tensors as `what/weight`."""
    names: dict[Tensor, str] = {weight: name for name, weight in model.named_parameters()}
    return {
        f"{what}/{names[weight]}": value
        for weight, state in optimiser.state.items()
        for what, value in state.items()
    }


def set_optimiser_state(
    optimiser: Optimizer, model: nn.Module, tensors: Mapping[str, Tensor], source: Path
) -> None:
    """Put the optimiser's tensors back."""
    weights = dict(model.named_parameters())
    trained = {weight for group in optimiser.param_groups for weight in group["params"]}
    optimiser.state.clear()
    for key, value in tensors.items():
        what, _, name = key.partition("/")
        weight = weights.get(name)
        if weight is None or weight not in trained:
            raise CheckpointError(
                f"{source} trained {name}, which this run does not: resume with the settings it began with"
            )
        # Counters stay where they were made; moments live beside their weight.
        device = weight.device if value.ndim or weight.device.type != "cpu" else torch.device("cpu")
        optimiser.state[weight][what] = like(value.to(device), weight)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
