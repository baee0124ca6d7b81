"""The index of a folder: where it lies, and how it is opened or made."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pocketbert.errors import CheckpointError, SearchError
from pocketbert.runtime.embed import Embedder
from pocketbert.runtime.folder import EMBEDDED_EMBEDDER
from pocketbert.search.models import embedder_of, settings_for
from pocketbert.search.sqlite import SqliteStore
from pocketbert.search.sqlite.tables import EmptyIndexError

FILE_NAME = ".pocketbert.db"
BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite puts beside a file
WithVectors = Literal["yes", "no", "as it is"]
"""Whether a new index gets vectors; "as it is" if an embedder is embedded, and for old ones what they have."""


def index_above(folder: Path) -> Path:
    """The index of a folder, or of the nearest folder above it that has one."""
    for place in (folder.resolve(), *folder.resolve().parents):
        if (place / FILE_NAME).is_file():
            return place / FILE_NAME
    raise SearchError(
        f"there is no index in {folder.resolve()} or above it; make one with pocketbert index DIR, "
        "or say where it is: --index FILE"
    )


def open_index(
    file: Path, *, model: str | None = None, vectors: WithVectors = "yes", threads: int | None = None
) -> tuple[SqliteStore, Embedder | None]:
    """An index with its embedder; it is made if it is not there. One that was made with another model is an error."""
    if file.exists():
        try:
            store = SqliteStore(file)
        except EmptyIndexError:
            pass  # whoever made it was killed before it was one
        else:
            try:
                if vectors == "no":
                    store.settings.check(settings_for(None), store.name)
                return store, embedder_of(store, model, threads=threads)
            except BaseException:
                store.close()
                raise
    embedder = None
    if vectors == "yes" or (vectors == "as it is" and (model is not None or EMBEDDED_EMBEDDER.is_dir())):
        try:
            embedder = Embedder.load(model, threads=threads)
        except CheckpointError as error:
            if model is not None:
                raise
            raise CheckpointError(
                f"{error}; here with --model MODEL, or index words alone: --no-vectors"
            ) from error
    file.parent.mkdir(parents=True, exist_ok=True)
    return SqliteStore.create(file, settings_for(embedder, model)), embedder


def files_of(index: Path) -> list[Path]:
    """The files of an index, which are no documents."""
    return [index.with_name(index.name + end) for end in BESIDE]
