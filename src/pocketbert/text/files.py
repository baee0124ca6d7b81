"""Tokenizer files in and out: nothing in a file that is too large, torn or crafted gets past this door."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

from pocketbert.errors import TokenizerError

LARGEST = 32 * 2**20  # bytes; the largest vocabulary in use, 500,000 words, makes a tokenizer.json of 10 MB


def read_bytes(path: Path) -> bytes:
    """What a regular file of sensible size holds; it is not empty."""
    try:
        if not path.is_file():
            raise TokenizerError(
                f"{path} is not a file; give a tokenizer.json, vocab.txt, vocab.json or spiece.model"
            )
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise TokenizerError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise TokenizerError(f"{path} is larger than {LARGEST // 2**20} MB: that is no tokenizer")
    if not data:
        raise TokenizerError(f"{path} is empty; get the file again from where the model came from")
    return data


def read_text(path: Path) -> str:
    """The text of a UTF-8 file."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TokenizerError(
            f"{path} is not UTF-8 (byte {error.start}); get the file again, or convert it to UTF-8"
        ) from error


def read_json(path: Path) -> dict[str, object]:
    """The object in a JSON file; a key that stands there twice is an error, not the last one's."""
    try:
        data = json.loads(read_text(path), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise TokenizerError(f"{path} holds a {type(data).__name__}; a JSON object was expected")
    return data


def write_json(path: Path, data: object) -> None:
    """Write a JSON file in the same way."""
    write_text(path, json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file so that at any moment there is the old one or the new one, never a torn one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found
