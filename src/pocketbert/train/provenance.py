"""Where weights come from: settings, data, versions and seed, saved beside them."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pocketbert
from pocketbert.errors import InputError

_PACKAGES = ("torch", "accelerate", "numpy", "safetensors", "tokenizers", "datasets")


def describe_run(settings: Mapping[str, Any], data_files: Iterable[Path], **more: Any) -> dict[str, Any]:
    """All that one needs to do a run again."""
    return {
        "settings": dict(settings),
        "seed": settings.get("seed"),
        "data": {str(file): {"sha256": sha256(file), "bytes": file.stat().st_size} for file in data_files},
        "versions": versions(),
        "command": sys.argv,
        **more,
    }


def sha256(file: Path) -> str:
    """The hash of a file, read in pieces."""
    try:
        with file.open("rb") as stream:
            digest = hashlib.sha256()
            while piece := stream.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise InputError(f"cannot read the data file {file}: {error.strerror or error}") from error
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Versions of Python, the machine and the packages, and our commit when run from a repository."""
    found = {
        "pocketbert": pocketbert.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    commit = git_commit(Path(pocketbert.__file__).parent)
    if commit:
        found["commit"] = commit
    return found


def git_commit(folder: Path) -> str | None:
    """The commit of the repository a folder lies in, with `+changes` if files differ from it."""
    git = shutil.which("git")
    if git is None:
        return None

    def ask(*words: str) -> str | None:
        asked = subprocess.run([git, "-C", str(folder), *words], capture_output=True, text=True, check=False)  # noqa: S603
        return asked.stdout.strip() if asked.returncode == 0 else None

    commit = ask("rev-parse", "HEAD")
    if commit and ask("status", "--porcelain", "--untracked-files=no", "."):
        commit += "+changes"
    return commit


def write_json(file: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON file as a whole."""
    temporary = file.with_name(f".{file.name}.unfinished")
    temporary.write_text(json.dumps(document, indent=1, sort_keys=False) + "\n", encoding="utf-8")
    temporary.replace(file)
