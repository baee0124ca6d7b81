"""`Tagger`: names and other entities of a text, or what each of its words is, exactly where they stand.

A text of any length is read in windows that overlap. Every word is tagged in one of them, the one that gives it the
most context, and only then are words joined to entities: at a seam nothing is lost and nothing is found twice.

Shapes: T tokens of a text, L labels.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import CheckpointError, check_count
from pocketbert.runtime.config import check_head
from pocketbert.runtime.documents import Document
from pocketbert.runtime.folder import find_model
from pocketbert.runtime.inputs import AHEAD, is_list, listed, text_of
from pocketbert.runtime.session import EngineName, Precision, Session
from pocketbert.runtime.tag_words import words_of
from pocketbert.runtime.whole_texts import Progress, read_tokens, room_of
from pocketbert.text.label_config import LabelConfig, shares
from pocketbert.text.tokenizer import Tokenizer

OUTSIDE = "O"


@dataclass(frozen=True)
class TaggedWord:
    """A word of a text, `text[start:end] == word.text`, its likeliest tag and the tag's probability."""

    text: str
    start: int
    end: int
    tag: str
    score: float


@dataclass(frozen=True)
class Entity:
    """Words of a text that belong together, `text[start:end] == entity.text`, and what they are."""

    text: str
    start: int
    end: int
    label: str
    score: float
    """The probability of the tag that is the least sure of all that the entity is made of."""


@dataclass(frozen=True)
class Tags(Sequence[Entity]):
    """The entities of a text in their order; of a tagger that knows none, every word with its tag."""

    entities: tuple[Entity, ...]
    words: tuple[TaggedWord, ...]
    """Every word with its tag, also those of no entity."""

    def to_json(self) -> dict[str, Any]:
        """The result as `pocketbert tag --json` prints it."""
        return {"entities": [asdict(entity) | {"score": round(entity.score, 6)} for entity in self]}

    def __len__(self) -> int:
        return len(self.entities)

    def __iter__(self) -> Iterator[Entity]:
        return iter(self.entities)

    @overload
    def __getitem__(self, place: int) -> Entity: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Entity]: ...
    def __getitem__(self, place: int | slice) -> Entity | Sequence[Entity]:
        return self.entities[place]


class Tagger:
    """Finds entities in texts of any length with an exported model, without torch.

        tagger = Tagger.load("runs/names-onnx")
        for entity in tagger("Mira Holt sailed from Tarbert."):
            print(entity.label, entity.text, entity.start, entity.end, entity.score)

    Tags B-…, I-… and O make entities; with all others, such as parts of speech, each word is given with its own.
    """

    def __init__(
        self,
        session: Session,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        *,
        config: LabelConfig | None = None,
        positions: int | None = None,
    ) -> None:
        if "logits" not in session.outputs:
            raise CheckpointError(
                f"{session.path} gives {', '.join(session.outputs)}; a tagger gives logits: "
                "take a model that was trained to tag words"
            )
        self.session = session
        self.tokenizer = tokenizer
        self.labels = tuple(labels)
        self.config = config or LabelConfig(window=min(positions or 512, 512))
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
    ) -> Tagger:
        """The tagger of a model folder or a hub name; see `Session.load` for the other choices."""
        found = find_model(name_or_folder, precision=precision, revision=revision)
        check_head(found.config, found.config_file, "ForTokenClassification")
        return cls(
            Session.load(found.path, precision=precision, threads=threads, engine=engine),
            found.tokenizer,
            found.labels,
            config=found.label_config(),
            positions=found.positions,
        )

    @property
    def calibrated(self) -> bool:
        """Whether the scores were fitted to what is true of words; if not, they are the model's bare softmax."""
        return self.config.temperature is not None

    @overload
    def __call__(
        self,
        text: str,
        *,
        window: int | None = ...,
        overlap: int | None = ...,
        progress: Progress | None = ...,
    ) -> Tags: ...
    @overload
    def __call__(
        self,
        text: list[str] | tuple[str, ...],
        *,
        window: int | None = ...,
        overlap: int | None = ...,
        progress: Progress | None = ...,
    ) -> list[Tags]: ...
    def __call__(
        self,
        text: str | Sequence[str],
        *,
        window: int | None = None,
        overlap: int | None = None,
        progress: Progress | None = None,
    ) -> Tags | list[Tags]:
        """Tag a text; a list of texts gives a list.

        `window` is how many tokens are read at once, by default as many as in training, and `overlap` how many of them
        neighbours share, by default a quarter.
        """
        found = list(self.stream(listed(text), window=window, overlap=overlap, progress=progress))
        return found if is_list(text) else found[0]

    def stream(
        self,
        texts: Iterable[str],
        *,
        window: int | None = None,
        overlap: int | None = None,
        progress: Progress | None = None,
        ahead: int = AHEAD,
    ) -> Iterator[Tags]:
        """Tag texts as they come, in order; `ahead` are taken before the first is tagged."""
        check_count("ahead", ahead)
        overlap = self.config.overlap if overlap is None and window is None else overlap
        size = self.config.window if window is None else window
        room, step = room_of(self.tokenizer, size, overlap, positions=self.positions)
        return self._stream(iter(texts), room, step, progress, ahead)

    def logits(
        self, documents: Sequence[Document], *, room: int, step: int, progress: Progress | None = None
    ) -> list[NDArray[np.float32]]:
        """What the model itself says of every token of each text, (T, L)."""
        found = read_tokens(
            documents, self.session, self.tokenizer, "logits", room=room, step=step, progress=progress
        )
        for rows in found:
            if len(rows) and rows.shape[1] != len(self.labels):
                raise CheckpointError(
                    f"{self.session.path} gives {rows.shape[1]} logits a token, but config.json names "
                    f"{len(self.labels)} labels ({', '.join(self.labels[:10])}); export the model again"
                )
        return found

    def _stream(
        self, texts: Iterator[str], room: int, step: int, progress: Progress | None, ahead: int
    ) -> Iterator[Tags]:
        while documents := [Document.of(text_of(text), self.tokenizer) for text in islice(texts, ahead)]:
            logits = self.logits(documents, room=room, step=step, progress=progress)
            for document, rows in zip(documents, logits, strict=True):
                words = words_of(document)
                firsts = [first for first, _ in words]
                yield self._tags(document, words, shares(rows[firsts], self.config.heat) if words else rows)

    def _tags(
        self, document: Document, places: Sequence[tuple[int, int]], scores: NDArray[np.floating]
    ) -> Tags:
        words = []
        starts = [*(int(document.starts[first]) for first, _ in places), len(document.text)]
        for (first, last), row, following in zip(places, scores, starts[1:], strict=True):
            start, end = document.characters(first, last, whole_words=False)
            # A mark behind the word may be a word of its own, where the tokenizer drops no marks.
            end = max(min(end, following), int(document.ends[last]))
            best = int(row.argmax())
            words.append(
                TaggedWord(document.text[start:end], start, end, self.labels[best], float(row[best]))
            )
        group = entities if has_entities(self.labels) else one_by_one
        return Tags(tuple(group(document.text, words)), tuple(words))

    def __repr__(self) -> str:
        return f"<Tagger of {self.session.path}>"


def has_entities(labels: Iterable[str]) -> bool:
    """Whether tags mark entities: all of them are O, B-… or I-…."""
    rest = [label for label in labels if label != OUTSIDE]
    return bool(rest) and all(label[:2] in ("B-", "I-") and label[2:] for label in rest)


def entities(text: str, words: Sequence[TaggedWord]) -> Iterator[Entity]:
    """Words joined by their tags: B- begins an entity, I- goes on with one of its kind, or begins one if there is none.

    >>> words = [TaggedWord("Mira", 0, 4, "B-person", 0.9), TaggedWord("Holt", 5, 9, "I-person", 0.8)]
    >>> list(entities("Mira Holt", words))
    [Entity(text='Mira Holt', start=0, end=9, label='person', score=0.8)]
    """
    open_words: list[TaggedWord] = []
    for word in [*words, TaggedWord("", 0, 0, OUTSIDE, 1.0)]:
        goes_on = word.tag[:2] == "I-" and bool(open_words) and open_words[-1].tag[2:] == word.tag[2:]
        if open_words and not goes_on:
            start, end = open_words[0].start, open_words[-1].end
            score = min(each.score for each in open_words)
            yield Entity(text[start:end], start, end, open_words[0].tag[2:], score)
            open_words = []
        if word.tag != OUTSIDE:
            open_words.append(word)


def one_by_one(_text: str, words: Sequence[TaggedWord]) -> Iterator[Entity]:
    """Every word that has a tag."""
    return (
        Entity(word.text, word.start, word.end, word.tag, word.score) for word in words if word.tag != OUTSIDE
    )
