"""The embedder of an index: known by a hash of its files, so that vectors of two models are never compared."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pocketbert.errors import PocketbertError, SearchError
from pocketbert.runtime.embed import Embedder
from pocketbert.runtime.manifest import sha256
from pocketbert.search.store import Settings, Store


def settings_for(embedder: Embedder | None, name: str | None = None) -> Settings:
    """The settings of an index that is made with an embedder, which was loaded by that name; or without one."""
    if embedder is None:
        return Settings()
    if name is not None and Path(name).is_dir():
        name = str(Path(name).resolve())  # the next search may be made from elsewhere
    return Settings(
        embedder=name or "",
        fingerprint=fingerprint(embedder),
        dimensions=embedder.get_sentence_embedding_dimension(),
    )


def embedder_of(store: Store, model: str | None = None, *, threads: int | None = None) -> Embedder | None:
    """The embedder that an index was made with, loaded from `model` if that is given; None for one without vectors.

    Another model than the index was made with is an error.
    """
    settings = store.settings
    if settings.embedder is None and model is None:
        return None
    try:
        embedder = Embedder.load(model or settings.embedder or None, threads=threads)
    except PocketbertError as error:
        if model is not None:
            raise
        raise SearchError(
            f"{store.name} was made with {settings.embedder_name}, which cannot be loaded: {error}. "
            f"Say once where it is now: pocketbert index DIR --index {store.name} --model MODEL; "
            f"or search by words alone: pocketbert search QUERY --index {store.name} --by words"
        ) from error
    settings.check(settings_for(embedder, model or settings.embedder), store.name)
    return embedder


def fingerprint(embedder: Embedder) -> str:
    """A hash of all that decides which vectors an embedder makes."""
    path = embedder.session.path
    folder = path.parent.parent if path.parent.name == "onnx" else path.parent
    names = (
        "tokenizer.json",
        "vocab.txt",
        "sentencepiece.bpe.model",
        "spiece.model",
        "*_Dense/model.safetensors",
    )
    files = [path, *(file for name in names for file in sorted(folder.glob(name)))]
    parts = [repr(embedder.config), *map(sha256, files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
