"""Which files of folders may be documents; those that are passed over are named, and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

WhySkipped = Literal["hidden", "binary", "special", "failed"]

# Kinds of files that hold no text, by their endings; of any other file the content decides.
BINARY = {
    "pictures": "png jpg jpeg gif bmp tif tiff webp ico heic avif psd raw svgz",
    "sound and film": "mp3 wav flac ogg opus m4a aac mid mp4 mkv avi mov webm wmv m4v mpg mpeg",
    "archives": "zip gz bz2 xz zst 7z rar tar tgz jar whl iso dmg deb rpm apk",
    "programs": "exe dll so dylib o a obj lib class pyc pyd wasm bin",
    "office files": "doc docx xls xlsx ppt pptx odt ods odp epub mobi",
    "data": "db sqlite sqlite3 parquet npy npz onnx safetensors pt pth pkl h5 hdf5 gguf tflite pack idx",
    "fonts": "ttf otf woff woff2 eot",
}
BY_ENDING = {f".{ending}": kind for kind, endings in BINARY.items() for ending in endings.split()}


@dataclass(frozen=True)
class File:
    """A file that may be a document."""

    path: Path
    name: str
    """As the index calls it."""
    size: int
    modified: int


@dataclass(frozen=True)
class Skipped:
    """A file or folder that is not in the index, and why."""

    path: str
    reason: str
    kind: WhySkipped
    unknown: bool = False
    """Whether it could not be looked at, as on a disk that is away: what the index has of it may still be true."""


def files_in(
    folders: Sequence[Path], base: Path | None, *, without: Iterable[Path] = (), skipped: list[Skipped]
) -> Iterator[File]:
    """The files of folders, folder by folder in the order of names; what is passed over goes to `skipped`."""
    passed = {path.resolve() for path in without}
    seen: set[str] = set()
    for folder in folders:
        root = folder.resolve()
        for path in [root] if root.is_file() else _walk(root, base, skipped):
            name = stored_name(path, base)
            if name in seen or path in passed:
                continue
            seen.add(name)
            file = _file(path, name, skipped)
            if file is not None:
                yield file


def stored_name(path: Path, base: Path | None) -> str:
    """How an index calls a file: relative to its own folder, if it has one and the file lies there, else in full."""
    if base is not None and path.is_relative_to(base):
        return path.relative_to(base).as_posix()
    return path.as_posix()


def is_within(name: str, base: Path | None, root: Path) -> bool:
    """Whether the file that an index calls by that name lies in a folder, or is that file."""
    return (Path(name) if base is None else base / name).is_relative_to(root)


def _walk(root: Path, base: Path | None, skipped: list[Skipped]) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        skipped.append(unreadable(stored_name(Path(error.filename), base), error))

    for folder, folders, names in os.walk(root, onerror=failed):
        for name in [name for name in folders if name.startswith(".")]:
            folders.remove(name)
            skipped.append(Skipped(stored_name(Path(folder, name), base), "is hidden", "hidden"))
        for name in [name for name in folders if Path(folder, name).is_symlink()]:
            folders.remove(name)
            skipped.append(Skipped(stored_name(Path(folder, name), base), "is a link to a folder", "special"))
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _file(path: Path, name: str, skipped: list[Skipped]) -> File | None:
    """What is known of a file without reading it; None if it is not to be read."""
    found = _seen(path, name)
    if isinstance(found, File):
        return found
    skipped.append(found)
    return None


def _seen(path: Path, name: str) -> File | Skipped:
    if path.name.startswith("."):
        return Skipped(name, "is hidden", "hidden")
    if path.suffix.lower() in BY_ENDING:
        return Skipped(name, f"holds no text ({BY_ENDING[path.suffix.lower()]})", "binary")
    try:
        name.encode()
        found = path.stat()
    except UnicodeEncodeError:
        printable = name.encode(errors="backslashreplace").decode()
        return Skipped(printable, "has a name that is not UTF-8; rename it", "failed")
    except OSError as error:
        return unreadable(name, error)
    if not stat.S_ISREG(found.st_mode):
        return Skipped(name, "is no ordinary file", "special")
    return File(path, name, found.st_size, found.st_mtime_ns)


def unreadable(name: str, error: OSError) -> Skipped:
    """A file or folder that the system does not give; one that is gone is known to be."""
    gone = isinstance(error, FileNotFoundError | NotADirectoryError)
    return Skipped(name, f"cannot be read: {error.strerror or error}", "failed", unknown=not gone)
