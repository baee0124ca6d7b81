"""A dataclass of settings as a JSON file of a model folder: written whole or not at all, read strictly."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pocketbert.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")


def write_settings(path: Path, settings: DataclassInstance) -> Path:
    """Write the file; a reader of the old one never sees half of the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.draft")
    draft.write_text(json.dumps(asdict(settings), indent=2) + "\n", encoding="utf-8")
    draft.replace(path)
    return path


def read_settings(path: Path, kind: type[Settings], *, mend: str) -> Settings:
    """Read the file, which has every field of `kind` and nothing else; `mend` says how one gets such a file."""
    names = [field.name for field in fields(kind)]
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; {mend}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read as JSON ({error}); {mend}") from error
    if not isinstance(values, dict) or set(values) != set(names):
        given = ", ".join(map(str, values)) if isinstance(values, dict) else type(values).__name__
        raise ConfigError(f"{path}: it has {given}; it must have exactly {', '.join(names)}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
