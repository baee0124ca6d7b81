"""Where an index is, in a file or on a server, and how it is opened or made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pocketbert.errors import CheckpointError, SearchError, needing
from pocketbert.runtime.embed import Embedder
from pocketbert.runtime.folder import EMBEDDED_EMBEDDER
from pocketbert.search.models import embedder_of, settings_for
from pocketbert.search.sqlite import SqliteStore
from pocketbert.search.store import NoIndexError, Settings, Store, is_address

if TYPE_CHECKING:
    from pocketbert.search.postgres import PostgresStore

FILE_NAME = ".pocketbert.db"
BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite puts beside a file
WithVectors = Literal["yes", "no", "as it is"]
"""Whether a new index gets vectors; "as it is" if an embedder is embedded, and for old ones what they have."""


def nearest_index(folder: Path) -> Path:
    """The index of a folder, or of the nearest one above it that has one, or else of the only one right below it."""
    here = folder.resolve()
    for place in (here, *here.parents):
        if (place / FILE_NAME).is_file():
            return place / FILE_NAME
    below = sorted(folder.glob(f"*/{FILE_NAME}"))
    if len(below) == 1:
        return below[0]
    if below:
        names = ", ".join(place.parent.name for place in below)
        raise SearchError(
            f"there is no index in {here} or above it, and several below: {names}; say which: --index DIR"
        )
    raise SearchError(
        f"there is no index in {here}, above it or right below; make one with pocketbert index DIR, "
        "or say where it is: --index FILE"
    )


@dataclass(frozen=True)
class Place:
    """A file, or the address of a database."""

    file: Path | None = None
    address: str = ""

    @classmethod
    def of(cls, written: str | Path) -> Place:
        """From what was given for --index; a folder stands for the index in it."""
        if is_address(written):
            return cls(address=str(written))
        file = Path(written)
        return cls(file=file / FILE_NAME if file.is_dir() else file)

    @property
    def base(self) -> Path | None:
        """The folder that paths are relative to; on a server they are whole."""
        return None if self.file is None else self.file.parent

    @property
    def files(self) -> list[Path]:
        """The files of the index, which are no documents."""
        return [] if self.file is None else [self.file.with_name(self.file.name + end) for end in BESIDE]

    def open(self) -> Store:
        """An index that is there."""
        return self._server()(self.address) if self.file is None else SqliteStore(self.file)

    def create(self, settings: Settings) -> Store:
        """An index that is there, or a new one."""
        if self.file is None:
            return self._server().create(self.address, settings)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        return SqliteStore.create(self.file, settings)

    @staticmethod
    def _server() -> type[PostgresStore]:
        with needing("postgres"):
            from pocketbert.search.postgres import PostgresStore
        return PostgresStore


def open_index(
    place: Place, *, model: str | None = None, vectors: WithVectors = "yes", threads: int | None = None
) -> tuple[Store, Embedder | None]:
    """An index with its embedder; it is made if it is not there. One that was made with another model is an error.

    If `model` is the same embedder in another place, the index knows it by that from now on.
    """
    try:
        store = place.open()
    except NoIndexError:
        pass  # or whoever made it was killed before it was one
    else:
        try:
            if vectors == "no":
                store.settings.check(settings_for(None), store.name)
            return store, _embedder_at(store, model, threads=threads)
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
    return place.create(settings_for(embedder, model)), embedder


def _embedder_at(store: Store, model: str | None, *, threads: int | None) -> Embedder | None:
    """The embedder of an index; that it is `model` by now is noted there."""
    embedder = embedder_of(store, model, threads=threads)
    place = None if model is None else settings_for(embedder, model).embedder
    if place is not None and place != store.settings.embedder:
        store.place_embedder(place)
    return embedder
