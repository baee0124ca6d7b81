"""Folders into an index: what is new or changed is read, what is gone is taken out, the rest is left alone.

Documents are read and embedded in batches, and each batch is one transaction. Whoever stops in between, or is killed,
loses at most the batch at hand; the next run goes on from there. What cannot be looked at just now, because a disk is
away or nobody may, stays as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from pocketbert.errors import InputError, SearchError
from pocketbert.runtime.embed import Embedder
from pocketbert.search.passages import passages
from pocketbert.search.places import Places
from pocketbert.search.store import Document, Entry, Store
from pocketbert.search.walk import File, Skipped, files_in, is_within, unreadable
from pocketbert.text.pages import read_page
from pocketbert.text.pages.reading import LARGEST

BATCH = 256  # passages that are embedded and written together; a document is never parted
Progress = Callable[[int, int, str], object]
"""Called with the number of a file, how many there are, and its path."""


@dataclass
class Report:
    """What became of the files."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    """Those that were not read, and why."""

    @property
    def changed(self) -> bool:
        """Whether the index is another than before."""
        return bool(self.added or self.updated or self.removed)

    @property
    def failed(self) -> list[Skipped]:
        """Files that are meant to be read but could not be."""
        return [skipped for skipped in self.skipped if skipped.kind == "failed"]


class Indexer:
    """Keeps an index up to date with folders; paths in it are relative to `base`, or whole if it is None."""

    def __init__(self, store: Store, base: Path | None = None, embedder: Embedder | None = None) -> None:
        if (embedder is None) != (store.settings.embedder is None):
            has = "no vectors" if store.settings.embedder is None else "vectors"
            raise SearchError(f"{store.name} has {has}; {'give' if embedder is None else 'give no'} embedder")
        self.store = store
        self.base = None if base is None else base.resolve()
        self._embedder = embedder
        self._failed: dict[str, tuple[File, Skipped]] = {}
        """Files that could not be read as they are, so that watching does not read them for ever."""

    def update(
        self, folders: Sequence[Path], *, without: Iterable[Path] = (), progress: Progress | None = None
    ) -> Report:
        """Bring the index in line with folders or single files; `without` are files to pass over."""
        for folder in folders:
            if not folder.exists():
                raise InputError(f"there is no folder {folder}; give one that exists")
        report = Report()
        known = {document.path: document for document in self.store.documents()}
        found = list(files_in(folders, self.base, without=without, skipped=report.skipped))
        for batch in self._batches(found, known, report, progress):
            self.store.replace(batch)
            for entry in batch:
                path = entry.document.path
                (report.updated if path in known else report.added).append(path)
        self._remove_missing(folders, known, report)
        return report

    def _remove_missing(self, folders: Sequence[Path], known: dict[str, Document], report: Report) -> None:
        """Take out what lies in the folders by its path but was not found there, or is no document any more."""
        seen = {*report.added, *report.updated, *report.unchanged}
        roots = [folder.resolve() for folder in folders]
        unknown = [PurePosixPath(skipped.path) for skipped in report.skipped if skipped.unknown]
        gone = [
            path
            for path in known
            if path not in seen
            and any(is_within(path, self.base, root) for root in roots)
            and not any(PurePosixPath(path).is_relative_to(place) for place in unknown)
        ]
        if gone:
            self.store.remove(gone)
        report.removed += gone

    def _batches(
        self, files: Sequence[File], known: dict[str, Document], report: Report, progress: Progress | None
    ) -> Iterator[list[Entry]]:
        batch: list[Entry] = []
        for number, file in enumerate(files, start=1):
            if progress is not None:
                progress(number, len(files), file.name)
            entry = self._read(file, known.get(file.name), report)
            if entry is not None:
                batch.append(entry)
            if sum(len(entry.passages) for entry in batch) >= BATCH:
                yield self._embedded(batch)
                batch = []
        if batch:
            yield self._embedded(batch)

    def _read(self, file: File, known: Document | None, report: Report) -> Entry | None:
        """A document, not yet embedded; None if it is known already or cannot be read."""
        if known is not None and (known.size, known.modified) == (file.size, file.modified):
            report.unchanged.append(file.name)
            return None
        if file.name in self._failed and self._failed[file.name][0] == file:
            report.skipped.append(self._failed[file.name][1])
            return None
        try:
            data = _bytes_of(file)
            code = hashlib.sha256(data).hexdigest()
            if known is not None and known.hash == code:
                self.store.touch(file.name, size=len(data), modified=file.modified)
                report.unchanged.append(file.name)
                return None
            page = read_page(data, name=str(file.path))
            page.text.encode()  # half a character of UTF-16 is none
        except OSError as error:
            report.skipped.append(unreadable(file.name, error))
            return None
        except UnicodeEncodeError as error:
            self._fail(file, f"holds what is no character: {error.reason}", report)
            return None
        except InputError as error:
            self._fail(file, str(error).removeprefix(f"{file.path} "), report)
            return None
        settings = self.store.settings
        parts = passages(page.text, words=settings.words, overlap=settings.overlap)
        document = Document(
            path=file.name,
            kind=page.kind,
            title=page.title,
            hash=code,
            size=len(data),
            modified=file.modified,
            characters=len(page.text),
            passages=len(parts),
            notes=page.notes,
            places=Places.of(page),
        )
        return Entry(document, parts, None)

    def _fail(self, file: File, reason: str, report: Report) -> None:
        skipped = Skipped(file.name, reason, "failed")
        self._failed[file.name] = file, skipped
        report.skipped.append(skipped)

    def _embedded(self, batch: list[Entry]) -> list[Entry]:
        if self._embedder is None:
            return batch
        texts = [passage.text.strip() for entry in batch for passage in entry.passages]
        vectors = np.asarray(self._embedder.encode_document(texts), dtype=np.float32)
        made, start = [], 0
        for entry in batch:
            end = start + len(entry.passages)
            made.append(Entry(entry.document, entry.passages, vectors[start:end]))
            start = end
        return made


def _bytes_of(file: File) -> bytes:
    if file.size > LARGEST:
        raise InputError(f"{file.path} has more than {LARGEST // 2**20} MB; split it")
    return file.path.read_bytes()
