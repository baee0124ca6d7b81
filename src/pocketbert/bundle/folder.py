"""A bundle: a folder that holds a reader and all that a browser needs to run it, and lists all of it with hashes.

It is made in a hidden folder beside its place, which it takes when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pocketbert.bundle.model import Bundled, put_model
from pocketbert.bundle.targets import target_of
from pocketbert.bundle.web_files import put_web_files
from pocketbert.errors import InputError
from pocketbert.runtime.manifest import FILE_NAME, write_manifest
from pocketbert.runtime.session import Precision
from pocketbert.tasks.squad.questions import Question

TOLERANCE = 0.5
"""Points of F1 that a bundled model may lose."""
GRAPHICS = ("*webgpu*", "*asyncify*")
"""Files for graphics processors, which compute too little of a model in eight bits."""


@dataclass(frozen=True)
class Bundle:
    """A bundle that was written."""

    path: Path
    target: str
    files: int
    bytes: int
    model: Bundled


def make_bundle(
    name: str | None,
    out: str | Path,
    *,
    target: str = "page",
    precision: Precision | None = None,
    questions: Sequence[Question] | None = None,
    tolerance: float = TOLERANCE,
    progress: Callable[[str], object] = lambda _: None,
) -> Bundle:
    """Write a bundle to `out`; `name` is a model folder, a hub name, or None for the embedded reader.

    Raises `ExportError`, and leaves `out` as it was, if the bundled model answers otherwise than its source. An older
    bundle is replaced; anything else that is there is not.
    """
    kind, out = target_of(target), Path(out)
    _check(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as hidden:
        folder = Path(hidden) / "bundle"
        folder.mkdir()
        (folder / kind.model).parent.mkdir(parents=True, exist_ok=True)
        model = put_model(
            name, folder / kind.model, precision=precision, questions=questions, tolerance=tolerance,
            progress=progress,
        )  # fmt: skip
        left_out = GRAPHICS if model.precision.startswith("int8") else ()
        put_web_files(kind, folder, left_out=left_out, progress=progress)
        kind.finish(folder)
        write_manifest(folder)
        _mark(folder / FILE_NAME, target)
        if out.exists():
            out.replace(Path(hidden) / "old")
        folder.replace(out)
    sizes = [path.stat().st_size for path in out.rglob("*") if path.is_file()]
    return Bundle(out, target, len(sizes), sum(sizes), model)


def is_bundle(folder: Path) -> bool:
    """Whether a folder is one that `make_bundle` wrote."""
    try:
        data = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and "bundle" in data


def _check(out: Path) -> None:
    if out.is_dir() and not any(out.iterdir()):
        return
    if (out.exists() or out.is_symlink()) and not is_bundle(out):
        raise InputError(
            f"{out} is there and is no bundle; it is not touched. Give a folder that is not there yet"
        )


def _mark(manifest: Path, target: str) -> None:
    data = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({"bundle": target, **data}, indent=2) + "\n", encoding="utf-8")
