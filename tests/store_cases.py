"""Documents for stores, made up from a seed."""

from __future__ import annotations

import hashlib

import numpy as np

from pocketbert.search.passages import passages
from pocketbert.search.places import Places
from pocketbert.search.store import Document, Entry, Settings
from pocketbert.text.pages import page_from_text

DIMENSIONS = 8
SETTINGS = Settings(embedder="toy", fingerprint="f" * 64, dimensions=DIMENSIONS, words=8, overlap=4)
WITHOUT = Settings(words=8, overlap=4)


def entry(
    path: str, text: str, *, modified: int = 10**18, vectors: bool = True, towards: int | None = None
) -> Entry:
    """A document; its vectors are random, or all along one axis."""
    page = page_from_text(text)
    parts = passages(text, words=8, overlap=4)
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big"))
    numbers = rng.normal(size=(len(parts), DIMENSIONS)).astype(np.float32)
    if towards is not None:
        numbers = np.eye(DIMENSIONS, dtype=np.float32)[[towards] * len(parts)]
    data = text.encode()
    document = Document(
        path, "plain", "", hashlib.sha256(data).hexdigest(), len(data), modified,
        len(text), len(parts), places=Places.of(page),
    )  # fmt: skip
    return Entry(document, parts, numbers if vectors else None)
