"""`Features`: a vector for every token of a text of any length, for a model of one's own.

A long text is read in windows that overlap, and each token's vector is from the window that gives it the most context.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import CheckpointError, check_count
from pocketbert.runtime.documents import Document
from pocketbert.runtime.folder import find_model
from pocketbert.runtime.inputs import is_list, listed, text_of
from pocketbert.runtime.session import EngineName, Precision, Session
from pocketbert.runtime.whole_texts import read_tokens, room_of
from pocketbert.text.tokenizer import Tokenizer

AHEAD = 32
OUTPUT = "last_hidden_state"


@dataclass(frozen=True, eq=False)
class TokenFeatures:
    """The tokens of a text, where they stand in it, and the vector of each. T tokens, W numbers in a vector."""

    tokens: tuple[str, ...]
    offsets: NDArray[np.int32]  # (T, 2)
    vectors: NDArray[np.float32]  # (T, W)

    def __len__(self) -> int:
        return len(self.tokens)

    def to_json(self) -> dict[str, Any]:
        """The result as `pocketbert features --json` prints it."""
        return {
            "tokens": list(self.tokens),
            "offsets": self.offsets.tolist(),
            "features": [[round(number, 6) for number in row] for row in self.vectors.tolist()],
        }


class Features:
    """Token features of an exported encoder, without torch.

    features = Features.load("runs/encoder-onnx")
    found = features("A text of any length.")
    print(found.tokens, found.vectors.shape)
    """

    def __init__(self, session: Session, tokenizer: Tokenizer, *, positions: int | None = None) -> None:
        if OUTPUT not in session.outputs:
            raise CheckpointError(
                f"{session.path} gives {', '.join(session.outputs)}; an encoder gives {OUTPUT}: export the model "
                "without its head, pocketbert export MODEL DIR --head none"
            )
        self.session = session
        self.tokenizer = tokenizer
        self.positions = positions

    @classmethod
    def load(
        cls,
        name_or_folder: str | os.PathLike[str],
        *,
        precision: Precision | None = None,
        threads: int | None = None,
        engine: EngineName = "onnxruntime",
        revision: str | None = None,
    ) -> Features:
        """The encoder of a model folder or a hub name; see `Session.load` for the other choices."""
        found = find_model(name_or_folder, precision=precision, revision=revision)
        session = Session.load(found.path, precision=precision, threads=threads, engine=engine)
        return cls(session, found.tokenizer, positions=found.positions)

    @overload
    def __call__(
        self, text: str, *, window: int | None = ..., overlap: int | None = ...
    ) -> TokenFeatures: ...
    @overload
    def __call__(
        self, text: list[str] | tuple[str, ...], *, window: int | None = ..., overlap: int | None = ...
    ) -> list[TokenFeatures]: ...
    def __call__(
        self, text: str | Sequence[str], *, window: int | None = None, overlap: int | None = None
    ) -> TokenFeatures | list[TokenFeatures]:
        """The features of a text; a list of texts gives a list.

        `window` is how many tokens are read at once, by default 512 or what the model can, and `overlap` how many of
        them neighbours share, by default a quarter.
        """
        found = list(self.stream(listed(text), window=window, overlap=overlap))
        return found if is_list(text) else found[0]

    def stream(
        self,
        texts: Iterable[str],
        *,
        window: int | None = None,
        overlap: int | None = None,
        ahead: int = AHEAD,
    ) -> Iterator[TokenFeatures]:
        """The features of texts as they come, in order; `ahead` are taken before the first is read."""
        check_count("ahead", ahead)
        size = min(self.positions or 512, 512) if window is None else window
        room, step = room_of(self.tokenizer, size, overlap, positions=self.positions)
        return self._stream(iter(texts), room, step, ahead)

    def _stream(self, texts: Iterator[str], room: int, step: int, ahead: int) -> Iterator[TokenFeatures]:
        while documents := [Document.of(text_of(text), self.tokenizer) for text in islice(texts, ahead)]:
            found = read_tokens(documents, self.session, self.tokenizer, OUTPUT, room=room, step=step)
            for document, vectors in zip(documents, found, strict=True):
                tokens = tuple(map(self.tokenizer.token, document.ids.tolist()))
                yield TokenFeatures(tokens, np.stack([document.starts, document.ends], axis=1), vectors)

    def __repr__(self) -> str:
        return f"<Features of {self.session.path}>"
