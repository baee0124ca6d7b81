"""Tokenise a corpus once: shards that follow from the texts and the tokenizer alone, however many workers make them.

A run that was stopped goes on with the shards that are missing, and a shard that was deleted is made again. A folder
that holds the shards of other texts or of another tokenizer is refused.
"""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from filelock import FileLock

from pocketbert.data.corpus.plain import Document
from pocketbert.data.corpus.shards import UNFINISHED, shard_folder, shards_in, write_shard
from pocketbert.data.corpus.sources import Corpus
from pocketbert.data.corpus.tokens import INDEX, VERSION, Tokens
from pocketbert.errors import InputError, TrainingError, check_folder
from pocketbert.text import Tokenizer
from pocketbert.text.files import write_json

_PLAN = "plan.json"
_LOCK = ".lock"
SHARD_CHARACTERS = 1 << 24  # about four million tokens of English: seconds of work, and eight megabytes


@dataclass(frozen=True)
class Progress:
    """How far the preparation is."""

    shards: int
    documents: int
    characters: int


def prepare(
    corpus: Corpus,
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    workers: int = 1,
    shard_characters: int = SHARD_CHARACTERS,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Tokens:
    """The corpus as mapped tokens in a folder; what is there already is not done again.

    `workers` are processes: guard a script of yours with `if __name__ == "__main__"`. The shards of another corpus are
    refused, or deleted with `overwrite`. `progress` is called after every shard.
    """
    if workers < 1 or shard_characters < 1:
        raise InputError(
            f"workers is {workers} and shard_characters {shard_characters}; both must be 1 or more"
        )
    folder = Path(folder)
    check_folder(folder)
    identity = _identity(corpus, tokenizer, shard_characters)
    others = overwrite and bool(_differing(folder, identity))
    if not others and _is_whole(folder, identity):
        return Tokens.open(folder, tokenizer)
    texts = _some(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / _LOCK):  # who comes second waits, and finds it done
        if others and _differing(folder, identity):
            _discard(folder)
        if not _is_whole(folder, identity):
            _make(corpus, texts, tokenizer, folder, identity, workers, progress)
    return Tokens.open(folder, tokenizer)


def _make(
    corpus: Corpus,
    texts: Iterator[Document],
    tokenizer: Tokenizer,
    folder: Path,
    identity: dict[str, Any],
    workers: int,
    progress: Callable[[Progress], None] | None,
) -> None:
    """Write the shards that are missing, and the index when all are there."""
    write_json(folder / _PLAN, identity)
    for path in folder.glob(f"{UNFINISHED}*"):
        shutil.rmtree(path, ignore_errors=True)
    number = documents = characters = 0
    with _deaths_told(folder, workers), _Workers(workers, folder, tokenizer) as pool:
        for number, chunk in enumerate(_chunks(texts, identity["shard_characters"]), start=1):
            if not shard_folder(folder, number - 1).is_dir():
                pool.write(number - 1, chunk)
            documents += len(chunk)
            characters += sum(map(_characters, chunk))
            if progress is not None:
                progress(Progress(number, documents, characters))
    index = {**identity, **corpus.describe(), "shards": number}
    tokens = Tokens.from_shards(folder, index)
    if not len(tokens):
        _discard(folder)
        raise InputError(
            f"the corpus is empty: {documents} documents hold nothing that the tokenizer can read"
        )
    write_json(folder / INDEX, {**index, "documents": len(tokens), "tokens": tokens.size})


class _Workers:
    """Processes that write shards, or this process where one is enough; never more texts in memory than are needed."""

    def __init__(self, count: int, folder: Path, tokenizer: Tokenizer) -> None:
        self._count = count
        self._writer = _Writer(folder, tokenizer)
        self._pool = None
        self._running: deque[Future[None]] = deque()
        if count > 1:
            # Spawned, not forked: the tokenizer's library has threads, and a fork would copy their locks.
            self._pool = ProcessPoolExecutor(
                count, mp_context=get_context("spawn"), initializer=_equip, initargs=(folder, tokenizer)
            )

    def write(self, number: int, documents: list[Document]) -> None:
        if self._pool is None:
            self._writer.write(number, documents)
            return
        while len(self._running) > self._count:
            self._running.popleft().result()
        self._running.append(self._pool.submit(_write_equipped, number, documents))

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=kind is not None)
            if kind is None:
                for future in self._running:
                    future.result()


@dataclass(frozen=True)
class _Writer:
    folder: Path
    tokenizer: Tokenizer

    def write(self, number: int, documents: list[Document]) -> None:
        write_shard(self.folder, number, documents, self.tokenizer)


_equipped: list[
    _Writer
] = []  # of a worker process: a tokenizer takes long to build, so each has one for all shards


def _equip(folder: Path, tokenizer: Tokenizer) -> None:
    _equipped[:] = [_Writer(folder, tokenizer)]


def _write_equipped(number: int, documents: list[Document]) -> None:
    _equipped[0].write(number, documents)


def _identity(corpus: Corpus, tokenizer: Tokenizer, shard_characters: int) -> dict[str, Any]:
    described = corpus.describe()
    return {
        "version": VERSION,
        "tokenizer": tokenizer.fingerprint,
        "vocabulary": tokenizer.size,
        # Without their names: a corpus that has moved is the same corpus.
        "texts": [[source["format"], source["sha256"]] for source in described["sources"]],
        "field": described["field"],
        "split": described["split"],
        "shard_characters": shard_characters,
    }


def _is_whole(folder: Path, wanted: dict[str, Any]) -> bool:
    """Whether all shards of the corpus are there; those of another one are refused, its mere plan is not."""
    if differing := _differing(folder, wanted):
        raise InputError(f"{folder} holds {differing}; give another folder, or delete this one")
    index = _described(folder / INDEX)
    return bool(index) and all(shard_folder(folder, number).is_dir() for number in range(index["shards"]))


def _described(path: Path) -> dict[str, Any]:
    """What a file says of the shards beside it; nothing if it is not there or damaged."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _differing(folder: Path, wanted: dict[str, Any]) -> str:
    """What a folder holds that is not of this corpus; nothing where all is, or where there is no shard."""
    index = _described(folder / INDEX)
    if not index and not shards_in(folder):
        return ""
    there = index or _described(folder / _PLAN)
    if not there:
        return f"shards, but neither {INDEX} nor {_PLAN} tells of which corpus"
    names = [name for name, value in wanted.items() if there.get(name) != value]
    return f"the shards of another corpus: {' and '.join(names)} differ" if names else ""


def _discard(folder: Path) -> None:
    """Delete the shards of a corpus, and what is said of them first, so that no half of it passes for a whole."""
    for name in (INDEX, _PLAN):
        (folder / name).unlink(missing_ok=True)
    for path in shards_in(folder):
        shutil.rmtree(path)


def _some(corpus: Corpus) -> Iterator[Document]:
    """The documents, of which there is one at least."""
    documents = corpus.documents()
    first = next(documents, None)
    if first is None:
        names = ", ".join(source.name for source in corpus.sources[:3])
        raise InputError(f"the corpus is empty: there is no sentence in {names}")
    return chain([first], documents)


@contextmanager
def _deaths_told(folder: Path, workers: int) -> Iterator[None]:
    """Within, a worker that the system has killed ends the preparation with a clear error."""
    try:
        yield
    except BrokenProcessPool as error:
        raise TrainingError(
            f"one of {workers} workers died while tokenising, probably for want of memory; the shards in {folder} are "
            "whole: run it again with fewer workers, and it goes on where it ended"
        ) from error


def _chunks(documents: Iterator[Document], size: int) -> Iterator[list[Document]]:
    """The documents of one shard after the other; where a shard ends depends on the texts alone."""
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        chunk.append(document)
        characters += _characters(document)
        if characters >= size:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _characters(document: Document) -> int:
    return sum(map(len, document))
