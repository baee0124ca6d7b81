"""One shard on disk: the tokens of some documents in a row, and where sentences and documents end.

    shard-00000/
      tokens.npy     every token, 16 bits each where the vocabulary allows it
      sentences.npy  where each sentence ends, counted in tokens
      documents.npy  where each document ends, counted in sentences

A shard is written under another name and renamed, so that it is whole or not there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pocketbert.data.corpus.plain import Document
from pocketbert.errors import InputError
from pocketbert.text import Tokenizer

Ids = NDArray[np.unsignedinteger[Any]]
Places = NDArray[np.int64]
UNFINISHED = ".unfinished-"


@dataclass(frozen=True, eq=False)
class Shard:
    """The mapped arrays of a shard."""

    tokens: Ids
    sentences: Places
    documents: Places

    @classmethod
    def open(cls, folder: Path) -> Shard:
        """Map the files; nothing is read before it is used."""
        try:
            arrays = [
                np.load(folder / f"{name}.npy", mmap_mode="r")
                for name in ("tokens", "sentences", "documents")
            ]
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"{folder} is damaged ({error}); delete it and prepare the corpus again: other shards are kept"
            ) from error
        return cls(*arrays)


def shard_folder(folder: Path, number: int) -> Path:
    """Where a shard lies."""
    return folder / f"shard-{number:05d}"


def shards_in(folder: Path) -> list[Path]:
    """All shards that are there."""
    return sorted(folder.glob("shard-*"))


def write_shard(folder: Path, number: int, documents: Iterable[Document], tokenizer: Tokenizer) -> None:
    """Tokenise documents into a shard. A sentence or document of which no token is left is dropped."""
    kind: type[np.unsignedinteger[Any]] = np.uint16 if tokenizer.size <= 1 << 16 else np.uint32
    tokens: list[NDArray[Any]] = []
    sentence_ends: list[int] = []
    document_ends: list[int] = []
    total = 0
    for document in documents:
        before = len(sentence_ends)
        for sentence in document:
            # With the blank that stands before it in a text, which byte-level BPE makes part of the first word.
            text = f" {sentence}" if len(sentence_ends) > before else sentence
            ids = np.fromiter((token for token, _ in tokenizer.stream(text)), dtype=kind)
            if ids.size:
                tokens.append(ids)
                total += ids.size
                sentence_ends.append(total)
        if len(sentence_ends) > before:
            document_ends.append(len(sentence_ends))
    final = shard_folder(folder, number)
    temporary = folder / f"{UNFINISHED}{final.name}-{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    empty = np.empty(0, dtype=kind)
    _save(temporary / "tokens.npy", np.concatenate([empty, *tokens]))
    _save(temporary / "sentences.npy", np.asarray(sentence_ends, dtype=np.int64))
    _save(temporary / "documents.npy", np.asarray(document_ends, dtype=np.int64))
    temporary.rename(final)


def _save(path: Path, array: NDArray[np.generic]) -> None:
    with path.open("wb") as file:
        np.save(file, array)
        file.flush()
        os.fsync(file.fileno())
