"""A name, a folder or nothing -> the files of a reader, checked: what is needed is there and is what it should be."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from pocketbert.errors import CheckpointError, ConfigError, HubError, InputError
from pocketbert.runtime.manifest import check_manifest
from pocketbert.runtime.session import FILES, Precision
from pocketbert.text.calibration import FILE_NAME, Calibration
from pocketbert.text.loading import PATTERNS
from pocketbert.text.tokenizer import Tokenizer

EMBEDDED = Path(__file__).parent.parent / "assets" / "reader"
LARGEST_CONFIG = 1 << 20  # bytes


@dataclass(frozen=True)
class ReaderFolder:
    """Where a reader's files are, and what the small ones say."""

    path: Path
    calibration: Calibration
    calibrated: bool
    """Whether the folder has a calibration of its own; without one the scores are the model's bare softmax."""
    positions: int | None
    """The longest window that the model can read; None if config.json does not say."""
    tokenizer: Tokenizer


def find_reader(
    name_or_folder: str | os.PathLike[str] | None,
    *,
    precision: Precision | None = None,
    revision: str | None = None,
) -> ReaderFolder:
    """The files of a reader: of a folder, of a hub name, or, for None, of the model that comes with the package."""
    if name_or_folder is None:
        if not EMBEDDED.is_dir():
            raise CheckpointError(
                f"this installation has no embedded reader ({EMBEDDED} is missing); "
                "give the folder or the hub name of a model, or install the package again"
            )
        check_manifest(EMBEDDED, required=True)
        return _read(EMBEDDED, Tokenizer.load(None))
    if not isinstance(name_or_folder, (str, os.PathLike)) or not os.fspath(name_or_folder):
        raise InputError(
            f"the model is {name_or_folder!r}; give a folder, a hub name, or None for the embedded one"
        )
    path = _local(os.fspath(name_or_folder), precision, revision)
    check_manifest(path)
    return _read(path, Tokenizer.load(path))


def _local(name: str, precision: Precision | None, revision: str | None) -> Path:
    try:
        if Path(name).is_dir() and revision is None:
            return Path(name)  # the usual case, and huggingface_hub is slow to import
    except (OSError, ValueError):
        pass  # no path; `resolve` says what is wrong with it
    from pocketbert.hub import resolve

    # Only the files that may be opened, with their external data: many models come in ten precisions.
    wanted = [f"{file}*" for kind, file in FILES.items() if precision in (None, kind)]
    try:
        return resolve(name, revision=revision, patterns=("*.json", *PATTERNS, *wanted)).folder
    except HubError as error:
        if Path(name).is_file():
            raise HubError(
                f"{name} is a file; give the model folder that holds config.json and onnx/"
            ) from error
        raise


def _read(path: Path, tokenizer: Tokenizer) -> ReaderFolder:
    calibrated = (path / FILE_NAME).is_file()
    calibration = Calibration.load(path) if calibrated else Calibration()
    positions = _positions(path / "config.json")
    if positions is not None and positions < calibration.window:
        if calibrated:
            raise ConfigError(
                f"{path / FILE_NAME} asks for windows of {calibration.window} tokens, "
                f"but the model has {positions} positions; fit the calibration again"
            )
        calibration = replace(calibration, window=positions, overlap=min(calibration.overlap, positions // 3))
    return ReaderFolder(path, calibration, calibrated, positions, tokenizer)


def _positions(path: Path) -> int | None:
    """How many tokens a model reads at once; None if config.json does not say."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(LARGEST_CONFIG))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as JSON ({error}); get it again") from error
    positions = data.get("max_position_embeddings") if isinstance(data, dict) else None
    if positions is None:
        return None
    if not isinstance(positions, int) or isinstance(positions, bool) or positions < 1:
        raise ConfigError(
            f"{path}: max_position_embeddings is {positions!r}; it must be a whole number from 1 up"
        )
    if data.get("model_type") != "roberta":
        return positions
    padding = data.get("pad_token_id", 1)  # from which RoBERTa's positions count
    if not isinstance(padding, int) or not 0 <= padding < positions - 1:
        raise ConfigError(
            f"{path}: pad_token_id is {padding!r}; it must be a whole number that leaves some of {positions} positions"
        )
    return positions - padding - 1
