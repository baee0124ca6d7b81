"""From the vectors of tokens to one vector a text, whatever number of windows it was read in.

Every token of a text counts once: from the window that gives it the most context. The special tokens count as if the
text had been read in one go: those before it are of the first window, those behind it of the last. What is kept of a
text while its windows come in is one sum, or one maximum.

Shapes: N texts, B rows of a batch, S tokens of a row, W numbers of a token's vector, D numbers of a text's vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import CheckpointError
from pocketbert.runtime.documents import stretches
from pocketbert.runtime.rows import Row, per_batch
from pocketbert.runtime.session import Session
from pocketbert.text.layout import Layout
from pocketbert.text.sentence_config import Dense, Pooling
from pocketbert.text.tokenizer import Tokenizer

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Part:
    """A window over a text, or all of it: its row of tokens, and which of them count."""

    text: int
    row: Row
    counts: NDArray[np.bool_]  # (S,)


def parts_of(text: int, ids: Sequence[int], tokenizer: Tokenizer, *, room: int, step: int) -> list[Part]:
    """A text of any number of tokens as windows of at most `room`, special tokens aside."""
    layout = tokenizer.layout
    if len(ids) <= room:
        row = Row.of(ids, tokenizer)
        return [Part(text, row, np.ones(len(row), dtype=np.bool_))]
    found = []
    for window in stretches(len(ids), room, step):
        before, after = ([edge] * count for edge, count in _edges(window.first, window.last, ids, layout))
        counts = np.array([*before, *window.best, *after])
        found.append(Part(text, Row.of(ids[window.first : window.last], tokenizer), counts))
    return found


def _edges(first: int, last: int, ids: Sequence[int], layout: Layout) -> tuple[tuple[bool, int], ...]:
    """Whether the special tokens before and behind a window count, and how many there are."""
    return (first == 0, len(layout.before)), (last == len(ids), len(layout.after_one))


def pooled(
    parts: Sequence[Part],
    texts: int,
    session: Session,
    tokenizer: Tokenizer,
    how: Pooling,
    *,
    output: str,
    width: int,
    tokens: int,
) -> Floats:
    """The vectors (N, W) of texts from all their parts; batches hold about so many tokens."""
    found = np.full((texts, width), -np.inf if how == "max" else 0.0, dtype=np.float32)
    weights = np.zeros(texts, dtype=np.float32)
    rows = [part.row for part in parts]
    layout = tokenizer.layout
    for places, last, length in per_batch(rows, session, tokenizer, output, rank=3, tokens=tokens):
        if last.shape[-1] != width:
            raise CheckpointError(
                f"{session.path} gives {last.shape[-1]} numbers a token, but the folder's settings speak of {width}; "
                "export the model again"
            )
        counts = np.zeros((len(places), length), dtype=np.float32)
        firsts = []
        for number, place in enumerate(places):
            inside = layout.place(len(rows[place]), length)
            counts[number, inside] = parts[place].counts
            firsts.append(inside.start)
        numbers = [parts[place].text for place in places]
        sizes = counts.sum(axis=1)  # (B,)
        if how == "max":
            best = np.where(counts[..., None] > 0, last, -np.inf).max(axis=1)  # (B, W)
            np.maximum.at(found, numbers, best)
        else:
            if how == "cls":  # each window speaks for the tokens that count in it
                sums = last[np.arange(len(places)), firsts] * sizes[:, None]
            else:
                sums = np.matmul(counts[:, None], last)[:, 0]  # (B, W)
            np.add.at(found, numbers, sums)
        np.add.at(weights, numbers, sizes)
    if how != "max":
        found /= (np.sqrt(weights) if how == "mean-sqrt" else weights)[:, None]
    return found


class DenseLayer:
    """The layer after pooling: activation(weight · vector + bias)."""

    def __init__(self, settings: Dense, weight: Floats, bias: Floats | None) -> None:
        self._settings = settings
        self._weight = weight  # (D, W)
        self._bias = bias  # (D,)

    @classmethod
    def load(cls, folder: Path, settings: Dense) -> DenseLayer:
        """Read the weights that lie in a model folder."""
        from safetensors.numpy import load_file

        path = folder / settings.file
        try:
            held = load_file(path)
        except Exception as error:  # the library's own kinds, and those of the file system
            raise CheckpointError(
                f"{path} cannot be read as safetensors ({error}); export the model again"
            ) from error
        shapes: dict[str, tuple[int, ...]] = {"linear.weight": (settings.out_features, settings.in_features)}
        if settings.bias:
            shapes["linear.bias"] = (settings.out_features,)
        given = {name: array.shape for name, array in held.items()}
        if given != shapes:
            raise CheckpointError(
                f"{path} holds {given}, but its config.json asks for {shapes}; export the model again"
            )
        weights = {name: array.astype(np.float32) for name, array in held.items()}
        return cls(settings, weights["linear.weight"], weights.get("linear.bias"))

    def __call__(self, vectors: Floats) -> Floats:
        """(N, W) -> (N, D)."""
        made = vectors @ self._weight.T
        if self._bias is not None:
            made += self._bias
        return np.tanh(made) if self._settings.activation == "tanh" else made
