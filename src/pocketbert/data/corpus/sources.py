"""A corpus: files, folders, patterns or sets of the hub, in one of a few forms, as documents in a fixed order."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from pocketbert.data.corpus import plain, tables
from pocketbert.data.corpus.plain import Document
from pocketbert.errors import InputError
from pocketbert.tables import open_set

Format = Literal["auto", "sentences", "documents", "file", "wiki", "jsonl", "parquet", "hub"]
"""`sentences`: one a line, a blank line between documents; `documents`: one a line; `file`: one a file."""

_READERS: dict[str, Callable[[Path], Iterator[Document]]] = {
    "sentences": plain.by_sentence,
    "documents": plain.by_line,
    "file": plain.by_file,
    "wiki": plain.from_wiki,
}
_TABLES: dict[str, Callable[[Path, str], Iterator[Document]]] = {
    "jsonl": tables.from_json_lines,
    "parquet": tables.from_parquet,
}
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True)
class Source:
    """One file or set: what it is called, how it is read, and what it holds, to recognise it again."""

    name: str
    format: str
    sha256: str
    bytes: int


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents from files in the order of their names, or from sets in their own order."""

    files: tuple[tuple[Path, str], ...]
    sets: tuple[str, ...] = ()
    field: str = "text"
    split: str = "train"

    def documents(self) -> Iterator[Document]:
        """Every document that has a sentence, each as the list of its sentences."""
        for path, kind in self.files:
            found = _READERS[kind](path) if kind in _READERS else _TABLES[kind](path, self.field)
            yield from filter(None, found)
        for name, table in self._tables.items():
            yield from filter(None, tables.from_table(table, name, self.field))

    def texts(self) -> Iterable[str]:
        """Every sentence, to be gone through as often as one likes."""
        return _Sentences(self)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """All files and sets with their hashes; a set has the fingerprint that `datasets` gives it."""
        found = [Source(str(path), kind, *_hash(path)) for path, kind in self.files]
        for name, table in self._tables.items():
            found.append(Source(name, "hub", str(table._fingerprint), int(table.dataset_size or 0)))
        return tuple(found)

    def describe(self) -> dict[str, Any]:
        """What the documents follow from."""
        sources = [asdict(source) for source in self.sources]
        return {"sources": sources, "field": self.field, "split": self.split}

    @cached_property
    def _tables(self) -> dict[str, Any]:
        return {name: open_set(name, self.split) for name in self.sets}


@dataclass(frozen=True, eq=False)
class _Sentences:
    corpus: Corpus

    def __iter__(self) -> Iterator[str]:
        return (sentence for document in self.corpus.documents() for sentence in document)


def open_corpus(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    format: Format = "auto",  # noqa: A002 - the word everybody uses
    *,
    field: str = "text",
    split: str = "train",
) -> Corpus:
    """The documents in some files, folders (with all that is in them), patterns such as `texts/*.txt`, or hub sets.

    `field` is the one with the text in JSON lines, Parquet files and sets, `split` the part of a set. Without a
    `format` every file is looked at; only whether lines are sentences or documents must be said where no blank line
    tells.
    """
    if format not in get_args(Format):
        raise InputError(f"format is {format!r}; allowed are {', '.join(get_args(Format))}")
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise InputError("no corpus was given; name files, folders, patterns or a set of the hub")
    files: list[Path] = []
    sets: list[str] = []
    for name in map(str, given):
        found = [] if format == "hub" else _files(name)
        if not found and not _could_be_a_set(name, format):
            raise InputError(
                f"{name}: there is no such file or folder, and no file matches it; a set of the hub is written "
                "owner/name, or needs format=hub"
            )
        files += found
        sets += [] if found else [name]
    return Corpus(
        files=tuple((path, _detect(path) if format == "auto" else format) for path in files),
        sets=tuple(sets),
        field=field,
        split=split,
    )


def _files(name: str) -> list[Path]:
    path = Path(name).expanduser()
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        found = [
            file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts)
        ]
        if not found:
            raise InputError(f"the folder {name} holds no file")
        return found
    anchor = Path(path.anchor)
    pattern = str(path.relative_to(anchor))
    return sorted(file for file in anchor.glob(pattern) if file.is_file()) if glob.has_magic(pattern) else []


def _could_be_a_set(name: str, kind: Format) -> bool:
    """Whether a name may be asked of the hub: `owner/name`, unless there is a folder of the owner's name here."""
    if kind == "hub":
        return True
    place = name.partition(":")[0]  # configurations have dots, such as 20231101.en
    owner, slash, rest = place.partition("/")
    return (
        kind == "auto"
        and bool(slash and rest)
        and "/" not in rest
        and not place.startswith((".", "~"))
        and not Path(place).suffix
        and not Path(owner).is_dir()
    )


def _detect(path: Path) -> str:
    """The form of a file, told by its name or its first lines."""
    if path.suffix.lower() in _SUFFIXES:
        return _SUFFIXES[path.suffix.lower()]
    start = list(islice(plain.lines(path), 10_000))
    first = next(filter(None, start), "")
    if first.startswith("<doc "):
        return "wiki"
    if first.startswith("{"):
        return "jsonl"
    while start and not start[-1]:
        start.pop()
    if "" in start or not first:
        return "sentences"
    raise InputError(
        f"{path} has no blank line that ends a document, so that nobody can tell what a line is; say it: "
        "format=sentences, format=documents (one a line) or format=file (the whole file is one)"
    )


def _hash(path: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
                size += len(piece)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    return digest.hexdigest(), size
