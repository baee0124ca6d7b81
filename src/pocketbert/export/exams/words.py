"""Masked language models: how many hidden words of plain texts they guess. Of bare encoders outputs are compared.

Of a row of tokens every seventh is hidden, the usual 15 per cent, always the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from pocketbert.errors import InputError
from pocketbert.export.exams.labels import batches_of
from pocketbert.export.gate import COMPARED, Comparison, Exam, OutputsOnly, divide
from pocketbert.runtime.session import Session
from pocketbert.tables.reading import FORMS, open_lines, read_rows
from pocketbert.tasks.predict import batches, padded, reading
from pocketbert.text import Tokenizer
from pocketbert.text.layout import Layout

WINDOW = 128
HIDDEN = 7  # one token of so many
BATCH_TOKENS = 1024  # logits for every word of the vocabulary are large
OUTPUTS = {"masked-lm": "logits", "pretraining": "masked_lm_logits"}


@dataclass(frozen=True, eq=False)
class TokenRow:
    """A text in the model's frame; the words at `places` are hidden, and were `truth`."""

    input_ids: NDArray[np.int32]  # (S,)
    token_type_ids: NDArray[np.int64]  # (S,)
    layout: Layout
    places: NDArray[np.int64]  # (P,)
    truth: NDArray[np.int32]  # (P,)

    def __len__(self) -> int:
        return len(self.input_ids)


def read_texts(files: Sequence[str], *, column: str | None, header: Sequence[str] | None) -> list[str]:
    """The texts of tables, by column, or the lines of text files that are not empty."""
    found: list[str] = []
    for file in files:
        before = len(found)
        if Path(file).suffix.lower() in FORMS:
            if column is None:
                raise InputError(f"which column of {file} holds the text? Name it by --text")
            found += [row.text(column) for row in read_rows(file, columns=[column], header=header)]
        else:
            found += [line.strip() for line in open_lines(Path(file)) if line.strip()]
        if len(found) == before:
            raise InputError(f"{file} holds no texts; a line of a text file, or a row of a table, is one")
    return found


def examine(texts: Sequence[str], model: Any, tokenizer: Tokenizer) -> Exam:
    """Ask torch for the hidden words, if the model guesses any."""
    length = model.config.at_most(WINDOW)
    asked, others = ([_row(text, tokenizer, length) for text in part] for part in divide(texts, "text"))
    output = OUTPUTS.get(getattr(model, "kind", None) or "")
    if output is None:
        return OutputsOnly(
            batches_of(others, tokenizer.pad_id), batches_of(asked[:COMPARED], tokenizer.pad_id)
        )
    hidden, shown = ([_hide(row, tokenizer) for row in part] for part in (asked, others))
    return WordExam(model, hidden, shown, output, tokenizer.pad_id)


class WordExam:
    """Texts with hidden words that a masked language model and its exports are to guess."""

    labels = None

    def __init__(
        self,
        model: nn.Module,
        asked: Sequence[TokenRow],
        others: Sequence[TokenRow],
        output: str,
        pad_id: int,
    ) -> None:
        self._rows, self._output, self._pad_id = asked, output, pad_id
        self._truth = np.concatenate([row.truth for row in asked])
        if not len(self._truth):
            raise InputError("the given texts are too short to hide words of them; give longer ones")
        self.shown = batches_of(others, pad_id)
        self.asked = batches_of(asked[:COMPARED], pad_id)
        self._said = self._ask(model)

    def compare(self, session: Session, error: float) -> Comparison:
        said = self._ask(session)
        before, after = (
            {"accuracy": 100 * float((guesses == self._truth).mean())} for guesses in (self._said, said)
        )
        return Comparison(error, before, after, 100 * float((self._said == said).mean()), "accuracy")

    def _ask(self, model: nn.Module | Session) -> NDArray[np.int64]:
        """The likeliest word for each that is hidden."""
        found: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * len(self._rows)
        with reading(model, (self._output,)) as read:
            for numbers in batches([len(row) for row in self._rows], BATCH_TOKENS):
                batch, places = padded([self._rows[number] for number in numbers], pad_id=self._pad_id)
                (logits,) = read(batch)
                for at, (number, place) in enumerate(zip(numbers, places, strict=True)):
                    found[number] = logits[at, place.start + self._rows[number].places].argmax(axis=-1)
        return np.concatenate(found)


def _row(text: str, tokenizer: Tokenizer, length: int) -> TokenRow:
    encoding = tokenizer.encode(text, max_length=length)
    nothing = np.empty(0, dtype=np.int64)
    return TokenRow(
        np.array(encoding.ids, dtype=np.int32),
        np.array(encoding.type_ids, dtype=np.int64),
        tokenizer.layout,
        nothing,
        nothing.astype(np.int32),
    )


def _hide(row: TokenRow, tokenizer: Tokenizer) -> TokenRow:
    words = np.flatnonzero(~np.isin(row.input_ids, list(tokenizer.special_ids)))
    places = words[HIDDEN // 2 :: HIDDEN]
    ids = row.input_ids.copy()
    ids[places] = tokenizer.mask_id
    return replace(row, input_ids=ids, places=places, truth=row.input_ids[places])
