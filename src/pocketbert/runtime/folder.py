"""A name, a folder or nothing -> the files of a model, checked: what is needed is there and is what it should be."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pocketbert import hub
from pocketbert.errors import CheckpointError, ConfigError, HubError, InputError
from pocketbert.runtime.config import Problem, labels_of, positions_of, problem_of, read_config
from pocketbert.runtime.manifest import check_manifest
from pocketbert.runtime.session import FILES, Precision
from pocketbert.text.calibration import FILE_NAME, Calibration
from pocketbert.text.label_config import FILE_NAME as LABEL_FILE
from pocketbert.text.label_config import LabelConfig
from pocketbert.text.loading import PATTERNS
from pocketbert.text.sentence_config import SentenceConfig, read_sentence_config
from pocketbert.text.tokenizer import Tokenizer

EMBEDDED = hub.EMBEDDED["reader"]
EMBEDDED_EMBEDDER = hub.EMBEDDED["embedder"]

DENSE_PATTERNS = ("*_Dense/model.safetensors",)
"""The one kind of weights that the runtime reads beside ONNX files: a small layer after pooling."""


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


@dataclass(frozen=True)
class ModelFolder:
    """Where the files of any other model are, and what the small ones say."""

    path: Path
    config: dict[str, Any] = field(repr=False)
    tokenizer: Tokenizer

    @property
    def config_file(self) -> Path:
        return self.path / "config.json"

    @property
    def positions(self) -> int | None:
        """The most tokens that the model can read at once; None if there is no limit, or none is known."""
        return positions_of(self.config, self.config_file)

    @property
    def labels(self) -> tuple[str, ...]:
        return labels_of(self.config, self.config_file)

    @property
    def problem(self) -> Problem:
        return problem_of(self.config, self.config_file)

    def label_config(self) -> LabelConfig:
        """The folder's own, or one that reads as much at once as the model can, up to 512 tokens."""
        positions = self.positions
        if not (self.path / LABEL_FILE).is_file():
            return LabelConfig(window=min(positions or 512, 512))
        found = LabelConfig.load(self.path)
        if positions is not None and positions < found.window:
            raise ConfigError(
                f"{self.path / LABEL_FILE} asks for windows of {found.window} tokens, "
                f"but the model has {positions} positions; export the model again"
            )
        return found

    def sentence_config(self) -> SentenceConfig:
        """How the folder makes one vector of a sentence."""
        found = read_sentence_config(self.path)
        if found is None:
            raise CheckpointError(
                f"{self.path} does not say how to make one vector of a sentence (it has no modules.json of "
                "sentence-transformers' kind); give a model that was trained for sentence vectors"
            )
        positions = self.positions
        if positions is not None and positions < (found.max_seq_length or 0):
            raise ConfigError(
                f"{self.path} reads {found.max_seq_length} tokens of a sentence, but the model has {positions} "
                "positions; export the model again"
            )
        return found


def find_model(
    name_or_folder: str | os.PathLike[str],
    *,
    precision: Precision | None = None,
    revision: str | None = None,
) -> ModelFolder:
    """The files of a model in a folder or under a hub name."""
    if not isinstance(name_or_folder, (str, os.PathLike)) or not os.fspath(name_or_folder):
        raise InputError(f"the model is {name_or_folder!r}; give a folder or a hub name")
    path = _local(os.fspath(name_or_folder), precision, revision)
    check_manifest(path)
    return ModelFolder(path, read_config(path / "config.json"), Tokenizer.load(path))


def find_embedder(
    name_or_folder: str | os.PathLike[str] | None,
    *,
    precision: Precision | None = None,
    revision: str | None = None,
) -> ModelFolder:
    """The files of an embedder: of a folder, of a hub name, or, for None, of the model that comes with the package."""
    if name_or_folder is not None:
        return find_model(name_or_folder, precision=precision, revision=revision)
    if not EMBEDDED_EMBEDDER.is_dir():
        raise CheckpointError(
            "this installation has no embedded embedder; give the folder or the hub name of a model that makes "
            "sentence vectors, such as one that pocketbert export wrote"
        )
    check_manifest(EMBEDDED_EMBEDDER, required=True)
    has_words = any((EMBEDDED_EMBEDDER / name).is_file() for name in ("tokenizer.json", "vocab.txt"))
    tokenizer = Tokenizer.load(EMBEDDED_EMBEDDER if has_words else None)
    return ModelFolder(EMBEDDED_EMBEDDER, read_config(EMBEDDED_EMBEDDER / "config.json"), tokenizer)


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
    # Only the files that may be opened, with their external data: many models come in ten precisions.
    wanted = [f"{file}*" for kind, file in FILES.items() if precision in (None, kind)]
    try:
        return hub.resolve(
            name, revision=revision, patterns=("*.json", *PATTERNS, *DENSE_PATTERNS, *wanted)
        ).folder
    except HubError as error:
        if Path(name).is_file():
            raise HubError(
                f"{name} is a file; give the model folder that holds config.json and onnx/"
            ) from error
        raise


def _read(path: Path, tokenizer: Tokenizer) -> ReaderFolder:
    calibrated = (path / FILE_NAME).is_file()
    calibration = Calibration.load(path) if calibrated else Calibration()
    positions = positions_of(read_config(path / "config.json"), path / "config.json")
    if positions is not None and positions < calibration.window:
        if calibrated:
            raise ConfigError(
                f"{path / FILE_NAME} asks for windows of {calibration.window} tokens, "
                f"but the model has {positions} positions; fit the calibration again"
            )
        calibration = replace(calibration, window=positions, overlap=min(calibration.overlap, positions // 3))
    return ReaderFolder(path, calibration, calibrated, positions, tokenizer)
