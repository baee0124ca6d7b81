"""Small files read with suspicion, and files of any size replaced in one step."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from pocketbert.errors import CheckpointError

JSON_LIMIT = 4 * 2**20  # bytes; parsed JSON takes up to twenty times its size, so the cap bounds memory too
PARTIAL = ".partial"


def read_json(path: Path, *, limit: int = JSON_LIMIT) -> dict[str, Any]:
    """The JSON object in a file; duplicate keys, NaN, deep nesting and more than `limit` bytes are errors."""
    try:
        if not path.is_file():
            raise CheckpointError(f"there is no file {path}")
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror or error}") from error
    if len(content) > limit:
        raise CheckpointError(f"{path} is larger than {limit:,} bytes, which no file of its kind is")
    return parse_object(content, str(path))


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON object in one step; whatever `read_json` would refuse is refused here already."""
    content = dump_object(data, str(path))
    with replacing(path.parent) as stage, stage(path.name) as file:
        file.write(content)


def parse_object(content: bytes, source: str) -> dict[str, Any]:
    """Parse a strict JSON object; `source` says in errors where it came from."""
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short,
        )
    except RecursionError:
        raise CheckpointError(f"{source} is nested too deeply to be meant seriously") from None
    except ValueError as error:
        raise CheckpointError(f"{source} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{source} must hold a JSON object, not {type(value).__name__}")
    return value


def dump_object(data: Mapping[str, Any], source: str) -> bytes:
    """The bytes of a JSON object that `parse_object` reads back."""
    try:
        content = (json.dumps(dict(data), indent=2, allow_nan=False) + "\n").encode()
    except RecursionError:
        raise CheckpointError(f"{source} cannot be written: the data is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{source} cannot be written as JSON: {error}") from error
    if len(content) > JSON_LIMIT:
        raise CheckpointError(
            f"{source} would take {len(content):,} bytes; at most {JSON_LIMIT:,} are read again"
        )
    parse_object(content, source)  # 1 and "1" are two keys in Python and one in JSON
    return content


@contextmanager
def replacing(folder: Path) -> Iterator[Callable[[str], AbstractContextManager[BinaryIO]]]:
    """Replace files of a folder together: `stage(name)` writes beside the place, leaving the block moves all.

    They are moved in the order in which they were staged. When anything fails before, a full disk above all,
    the folder holds what it held.
    """
    staged: list[tuple[Path, Path]] = []

    @contextmanager
    def stage(name: str) -> Iterator[BinaryIO]:
        temporary = folder / f".{name}.{secrets.token_hex(4)}{PARTIAL}"
        with temporary.open("xb") as file:
            staged.append((temporary, folder / name))
            yield file
            file.flush()
            os.fsync(file.fileno())

    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield stage
        for temporary, final in staged:
            temporary.replace(final)
    except OSError as error:
        raise CheckpointError(
            f"cannot write into {folder}: {error.strerror or error}; what was there before is intact. "
            "Make room or give another folder, then do it again"
        ) from error
    finally:
        for temporary, _ in staged:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    _sync_folder(folder)


def shown(name: str) -> str:
    """A name from a file, safe and short enough for an error message."""
    text = repr(name)
    return text if len(text) <= 120 else f"{text[:100]}… ({len(name):,} characters)"


def _sync_folder(folder: Path) -> None:
    """Make the renames survive a power cut, where the system can; they have happened either way."""
    if os.name == "posix":
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {shown(key)} stands there twice")
            seen.add(key)
    return mapping


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _short(text: str) -> int:
    if len(text) > 100:  # reading a number of a million digits takes minutes
        raise ValueError(f"the number {text[:40]}… has {len(text):,} digits")
    return int(text)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
