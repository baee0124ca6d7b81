"""`Filler`: the likeliest words for the gaps of a text, by a masked language model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import CheckpointError, InputError, check_count
from pocketbert.runtime.config import check_head
from pocketbert.runtime.folder import find_model
from pocketbert.runtime.inputs import is_list, listed, text_of
from pocketbert.runtime.rows import Row, per_token
from pocketbert.runtime.session import EngineName, Precision, Session
from pocketbert.text.gaps import with_gaps
from pocketbert.text.label_config import shares
from pocketbert.text.tokenizer import Tokenizer

AHEAD = 16  # every token of a masked language model has a number for each word of the vocabulary
HEADS = ("ForMaskedLM", "ForPreTraining")
OUTPUTS = ("logits", "masked_lm_logits")


@dataclass(frozen=True)
class Guess:
    """A word for a gap."""

    token: str
    id: int
    score: float
    """The probability that the model gives the word: its softmax, over all words."""
    text: str
    """All of the text with the word in the gap, as far as a tokenizer can put it together again."""


@dataclass(frozen=True)
class Gap:
    """What a model says of one gap: the tokens around it, and a probability for each word of the vocabulary."""

    ids: tuple[int, ...]
    """All tokens of the text, with the special ones."""
    place: int
    gaps: int
    """How many gaps the text has."""
    scores: NDArray[np.float64]  # (V,)

    def filled(self, token: int) -> tuple[int, ...]:
        """The tokens of the text with a word in this gap."""
        return (*self.ids[: self.place], token, *self.ids[self.place + 1 :])


class Filler:
    """Guesses hidden words with an exported masked language model, without torch.

    filler = Filler.load("runs/mobilebert-onnx")
    for guess in filler("The [MASK] barks."):
        print(guess.token, guess.score)
    """

    def __init__(self, session: Session, tokenizer: Tokenizer, *, positions: int | None = None) -> None:
        output = next((name for name in OUTPUTS if name in session.outputs), None)
        if output is None:
            raise CheckpointError(
                f"{session.path} gives {', '.join(session.outputs)}; a masked language model gives logits: take one "
                "that was saved with its masked-LM head"
            )
        self.session = session
        self.tokenizer = tokenizer
        self.positions = positions
        self._output = output

    @classmethod
    def load(
        cls,
        name_or_folder: str | os.PathLike[str],
        *,
        precision: Precision | None = None,
        threads: int | None = None,
        engine: EngineName = "onnxruntime",
        revision: str | None = None,
    ) -> Filler:
        """The masked language model of a folder or a hub name; see `Session.load` for the other choices."""
        found = find_model(name_or_folder, precision=precision, revision=revision)
        check_head(found.config, found.config_file, *HEADS)
        session = Session.load(found.path, precision=precision, threads=threads, engine=engine)
        return cls(session, found.tokenizer, positions=found.positions)

    @overload
    def __call__(self, text: str, *, top_k: int = 5) -> list[list[Guess]]: ...
    @overload
    def __call__(self, text: list[str] | tuple[str, ...], *, top_k: int = 5) -> list[list[list[Guess]]]: ...
    def __call__(
        self, text: str | Sequence[str], *, top_k: int = 5
    ) -> list[list[Guess]] | list[list[list[Guess]]]:
        """For each gap of a text the likeliest words, the likeliest first; a list of texts gives a list of that."""
        check_count("top_k", top_k)
        found = [[self._guesses(gap, top_k) for gap in gaps] for gaps in self.gaps(listed(text))]
        return found if is_list(text) else found[0]

    def gaps(self, texts: Iterable[str]) -> Iterator[list[Gap]]:
        """The gaps of texts as they come, in order."""
        stream = iter(texts)
        while taken := list(islice(stream, AHEAD)):
            framed = [self._framed(text_of(text)) for text in taken]
            rows = [Row(ids, types) for ids, types, _ in framed]
            found: dict[int, list[Gap]] = {}
            for number, logits in per_token(rows, self.session, self.tokenizer, self._output):
                ids, _, places = framed[number]
                scores = shares(logits[places])
                found[number] = [
                    Gap(tuple(ids), place, len(places), row)
                    for place, row in zip(places, scores, strict=True)
                ]
            yield from (found[number] for number in range(len(taken)))

    def _framed(self, text: str) -> tuple[list[int], list[int], list[int]]:
        """All tokens of a text, their segments, and the places of the gaps."""
        words, gaps = with_gaps(text, self.tokenizer)
        layout = self.tokenizer.layout
        length = len(words) + layout.special_tokens(1)
        if self.positions is not None and length > self.positions:
            raise InputError(
                f"the text has {length} tokens, and this model reads at most {self.positions} at once; "
                "give what stands around the gap only"
            )
        places = [len(layout.before) + gap for gap in gaps]
        return self.tokenizer.frame(words), layout.types(len(words)), places

    def _guesses(self, gap: Gap, top_k: int) -> list[Guess]:
        return [
            Guess(
                self.tokenizer.token(token),
                token,
                float(gap.scores[token]),
                self.tokenizer.decode(gap.filled(token), skip_special=gap.gaps == 1),
            )
            for token in likeliest(gap.scores[: self.tokenizer.size], top_k)
        ]

    def __repr__(self) -> str:
        return f"<Filler of {self.session.path}>"


def likeliest(scores: NDArray[np.floating], count: int) -> list[int]:
    """The places of the largest scores, the largest first; of equal ones the first."""
    count = min(count, len(scores))
    floor = np.partition(scores, len(scores) - count)[len(scores) - count]
    (kept,) = np.nonzero(scores >= floor)
    order: list[int] = kept[np.argsort(-scores[kept], kind="stable")[:count]].tolist()
    return order
