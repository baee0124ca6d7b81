"""Whether the files of a model folder are those that were put there: `manifest.json` holds their SHA-256.

{"sha256": {"config.json": "…", "onnx/model_quantized.onnx": "…"}, "bytes": {"config.json": 822, …}}

The sizes are for whoever shows how much of a download is left.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path, PurePosixPath

from pocketbert.errors import CheckpointError

FILE_NAME = "manifest.json"
KEY = "sha256"
SIZES = "bytes"


def write_manifest(folder: Path) -> Path:
    """List every file of a folder with its hash and its size."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / FILE_NAME)
    hashes = {path.relative_to(folder).as_posix(): sha256(path) for path in files}
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    path = folder / FILE_NAME
    path.write_text(json.dumps({KEY: hashes, SIZES: sizes}, indent=2) + "\n", encoding="utf-8")
    return path


def check_manifest(folder: Path, *, required: bool = False) -> None:
    """Compare the files that a folder's manifest lists with their hashes; a folder without one passes.

    A `manifest.json` without hashes is somebody else's and says nothing; `required` accepts neither.
    """
    path = folder / FILE_NAME
    if not path.is_file() and not required:
        return
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); {_ADVICE}") from error
    hashes = data.get(KEY) if isinstance(data, dict) else None
    if not isinstance(hashes, dict):
        if required:
            raise CheckpointError(f"{path} holds no hashes; {_ADVICE}")
        return
    for name, expected in hashes.items():
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            raise CheckpointError(f"{path} names {name!r}, which is not in the folder; {_ADVICE}")
        if not (folder / name).is_file():
            raise CheckpointError(f"{folder / name} is missing; {_ADVICE}")
        found = sha256(folder / name)
        if found != expected:
            raise CheckpointError(
                f"{folder / name} is not the file it should be: its SHA-256 is {found}, "
                f"the manifest says {expected}; {_ADVICE}"
            )


def sha256(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    return digest.hexdigest()


_ADVICE = "get the folder again from where it came from, or install the package again"
