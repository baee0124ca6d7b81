"""A text and several that may follow it, of which one does: rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tables import Row, read_rows
from pocketbert.tables.rows import unknown_label
from pocketbert.tasks.classify.examples import Example
from pocketbert.tasks.classify.features import Feature as TextFeature
from pocketbert.tasks.classify.features import feature_of, say_what_was_cut
from pocketbert.tasks.classify.splitting import stratified
from pocketbert.text import Tokenizer


@dataclass(frozen=True, slots=True)
class Choice:
    """A text, the candidates, and which of them is right, counted from 0."""

    text: str
    candidates: tuple[str, ...]
    label: int


@dataclass(frozen=True, eq=False, slots=True)
class Feature:
    """A row of tokens for each candidate."""

    rows: tuple[TextFeature, ...]
    label: int

    def __len__(self) -> int:
        return max(map(len, self.rows)) * len(self.rows)


def read_choices(
    sources: Iterable[str],
    *,
    text: str,
    candidates: Sequence[str],
    label: str,
    header: Sequence[str] | None = None,
    split: str = "train",
) -> list[Choice]:
    """The rows of some tables; `candidates` are columns, and `label` is the one that says which is right.

    It does so by a column's name, by its number from 0, or by a letter, A for the first.
    """
    if len(candidates) < 2:
        raise InputError(
            f"candidates are {', '.join(candidates) or 'none'}; a choice needs two columns or more"
        )
    found: list[Choice] = []
    for source in sources:
        before = len(found)
        for row in read_rows(source, columns=[text, *candidates, label], header=header, split=split):
            texts = tuple(row.text(column) for column in candidates)
            found.append(Choice(row.text(text), texts, _place(row, label, candidates)))
        if len(found) == before:
            raise InputError(f"{source} holds no rows; a header alone is not enough")
    return found


def hold_out(
    choices: Sequence[Choice], *, fraction: float, seed: int = 0
) -> tuple[list[Choice], list[Choice]]:
    """Split into (kept, held out) by whole texts, each right place in the same share."""
    rows = [Example(choice.text, label=np.array(choice.label, dtype=np.int64)) for choice in choices]
    _, held = stratified(rows, problem="single", fraction=fraction, seed=seed)
    texts = {row.text for row in held}
    return [row for row in choices if row.text not in texts], [row for row in choices if row.text in texts]


def featurise(choices: Sequence[Choice], tokenizer: Tokenizer, *, max_length: int) -> list[Feature]:
    """A row of tokens for every candidate behind its text; how many were cut is logged."""
    features = [
        Feature(
            tuple(
                feature_of(Example(choice.text, candidate), tokenizer, max_length=max_length)
                for candidate in choice.candidates
            ),
            choice.label,
        )
        for choice in choices
    ]
    say_what_was_cut([row for feature in features for row in feature.rows], max_length)
    return features


def evaluate(features: Sequence[Feature], logits: NDArray[np.float32]) -> dict[str, float]:
    """The share of the choices that are right, in percent."""
    truth = np.array([feature.label for feature in features])
    return {"accuracy": 100.0 * float((logits.argmax(axis=1) == truth).mean())}


def _place(row: Row, column: str, candidates: Sequence[str]) -> int:
    label = row.label(column)
    letters = [chr(ord("A") + number) for number in range(len(candidates))]
    numbers = [str(number) for number in range(len(candidates))]
    for names in (list(candidates), numbers, letters):
        if label in names:
            return names.index(label)
    raise InputError(f"{row.place}: {unknown_label(label, [*candidates, *numbers, *letters])}")
