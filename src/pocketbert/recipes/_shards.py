"""What a teacher says, kept on disk in shards: whose it is of what, written in one step each, shared by processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from pocketbert import checkpoint
from pocketbert.checkpoint.files import replacing
from pocketbert.errors import InputError, check_folder
from pocketbert.train.together import main_first, processes


def begin(index: Path, name: str, described: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """Note in `index` what its folder will hold of the teacher `name`, or refuse a folder that holds something else.

    `reasons` say what is wrong if a key of `described` differs; that of the teacher is known.
    """
    check_folder(index.parent)
    with main_first():
        if not index.is_file():
            index.parent.mkdir(parents=True, exist_ok=True)
            checkpoint.write_json(index, {**described, "name": name})
            return
        saved = checkpoint.read_json(index)
    found = {"teacher": f"are of another teacher ({saved.get('name')}) than {name}", **reasons}
    for key, reason in found.items():
        if saved.get(key) != described[key]:
            raise InputError(
                f"the {index.stem} in {index.parent} {reason}: give another --cache_dir, or delete that folder"
            )


def left_to_do(files: Sequence[Path]) -> list[int]:
    """The numbers of the shards that are missing and that this process is to make."""
    process = processes()
    missing = [number for number, file in enumerate(files) if not file.is_file()]
    return missing[process.process_index :: process.num_processes]


@contextmanager
def written(file: Path) -> Iterator[BinaryIO]:
    """A stream to write a shard to, which is there when it is whole."""
    with replacing(file.parent) as stage, stage(file.name) as stream:
        yield stream


def show(done: int, of: int) -> None:
    """Say how far the teacher is, on a terminal."""
    if sys.stderr.isatty() and processes().is_main_process:
        sys.stderr.write(f"\r\x1b[2Kthe teacher reads: {done:,} of {of:,} shards" + "\n" * (done == of))
        sys.stderr.flush()
