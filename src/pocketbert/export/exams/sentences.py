"""Embedders: how near the vectors of an export are to torch's, and how well they agree with what people say of pairs.

The score is the mean cosine of each text's two vectors, in percent; with pairs that people scored, Spearman's
correlation counts too, and the one of both that lost more is held against the tolerance. `equal` is how many texts
have the same nearest neighbour among the others as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.export.exams.labels import batches_of
from pocketbert.export.exams.words import read_texts
from pocketbert.export.gate import COMPARED, Comparison, Exam, Scores, divide
from pocketbert.heads import load_sentences
from pocketbert.runtime.session import Session
from pocketbert.tables import read_rows
from pocketbert.tasks.sentences.metrics import cosines, likeness
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.text import Tokenizer
from pocketbert.vectors.similarity import unit

Pair = tuple[str, str, float]
NEIGHBOURS = 2000  # texts whose neighbours are compared at most


def examine(
    files: Sequence[str],
    source: Path,
    tokenizer: Tokenizer,
    *,
    text: str | None,
    pair: str | None,
    label: str | None,
    header: Sequence[str] | None,
    limit: int | None,
) -> Exam:
    """Ask torch for the vectors of texts, or of pairs of texts that people scored."""
    embedder = TorchEmbedder(load_sentences(source), tokenizer)
    if pair is None and label is None:
        asked, others = divide(read_texts(files, column=text, header=header)[:limit], "text")
        return SentenceExam(embedder, asked, others, None)
    if text is None or pair is None or label is None:
        raise InputError(
            "pairs of texts need three columns; name them by --text, --text_pair and --label, or leave out the last "
            "two, and texts alone are compared"
        )
    pairs = [
        (row.text(text), row.text(pair), row.number(label))
        for file in files
        for row in read_rows(file, columns=[text, pair, label], header=header, split="validation")
    ]
    scored, unscored = divide(pairs[:limit], "pair")
    return SentenceExam(embedder, _sides(scored), _sides(unscored), np.array([row[2] for row in scored]))


class SentenceExam:
    """Texts that an embedder and its exports turn into vectors; with `truth`, every two of them are a pair."""

    labels = None

    def __init__(
        self,
        embedder: TorchEmbedder,
        asked: Sequence[str],
        others: Sequence[str],
        truth: NDArray[np.floating] | None,
    ) -> None:
        self._embedder, self._truth = embedder, truth
        self._texts = embedder.pack(asked)
        pad_id = embedder.tokenizer.pad_id
        self.shown = batches_of(list(embedder.pack(others)), pad_id)
        self.asked = batches_of([self._texts[place] for place in range(min(COMPARED, len(asked)))], pad_id)
        self._said = embedder.read(self._texts)

    def compare(self, session: Session, error: float) -> Comparison:
        exported = TorchEmbedder(self._embedder.model, self._embedder.tokenizer, runner=session)
        said = exported.read(self._texts)
        near = 100 * cosines(self._said, said)
        before: Scores = {"cosine": 100.0, "least_cosine": 100.0} | self._spearman(self._said)
        after: Scores = {"cosine": float(near.mean()), "least_cosine": float(near.min())}
        after |= self._spearman(said)
        judged = [name for name in before if name != "least_cosine"]
        worst = max(judged, key=lambda name: before[name] - after[name])
        same = _nearest(self._said) == _nearest(said)
        return Comparison(error, before, after, 100 * float(same.mean()), worst)

    def _spearman(self, vectors: NDArray[np.float32]) -> Scores:
        if self._truth is None:
            return {}
        return {"spearman": likeness(vectors[::2], vectors[1::2], self._truth)["spearman"]}


def _sides(pairs: Sequence[Pair]) -> list[str]:
    return [side for row in pairs for side in row[:2]]


def _nearest(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    """Which of the others is nearest to each vector."""
    some = unit(vectors[:NEIGHBOURS])
    products = some @ some.T
    np.fill_diagonal(products, -np.inf)
    found: NDArray[np.int64] = products.argmax(axis=1)
    return found
