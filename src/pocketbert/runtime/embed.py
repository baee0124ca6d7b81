"""`Embedder`: one vector for a text of any length, by an exported model and without torch."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pocketbert.errors import CheckpointError, InputError, check_count
from pocketbert.runtime.folder import find_embedder
from pocketbert.runtime.inputs import check_without_torch, kind_of
from pocketbert.runtime.pooling import DenseLayer, Floats, Part, parts_of, pooled
from pocketbert.runtime.session import EngineName, Precision, Session
from pocketbert.runtime.whole_texts import room_of
from pocketbert.text.sentence_config import SentenceConfig, Similarity
from pocketbert.text.tokenizer import Tokenizer
from pocketbert.vectors.progress import Progress
from pocketbert.vectors.rounding import VectorPrecision, check_precision, quantize_embeddings
from pocketbert.vectors.similarity import similarity, similarity_pairwise, unit

Long = Literal["windows", "truncate"]
"""What becomes of a text that is longer than the model reads at once."""
AHEAD = 2048
"""Texts that are read together, so that batches of equal length can be made of them."""
USUAL_TOKENS = 16  # of a sentence, by which a batch size in sentences is one in tokens
OUTPUT = "last_hidden_state"
LONGEST = 512  # tokens at once, of a model that knows no limit


@dataclass(frozen=True)
class Reading:
    """How much of some texts was read."""

    texts: int = 0
    windows: int = 0
    """As many as there are texts, if none is long."""
    truncated: int = 0
    """Texts whose ends were not read."""
    truncated_tokens: int = 0
    """Tokens of them that were not read."""

    def __add__(self, other: Reading) -> Reading:
        return Reading(
            self.texts + other.texts,
            self.windows + other.windows,
            self.truncated + other.truncated,
            self.truncated_tokens + other.truncated_tokens,
        )


@dataclass(frozen=True)
class _Choices:
    """What `encode` and `stream` were told, checked."""

    prompt: str
    tokens: int  # of a batch
    normalize: bool
    width: int  # numbers of a vector that are kept
    long: Long


class Embedder:
    """Turns texts into vectors that are near each other where the texts mean the same.

        embedder = Embedder.load("runs/sentences-onnx")
        vectors = embedder.encode(["A man is eating.", "Somebody eats."])
        print(embedder.similarity(vectors, vectors))

    The names, defaults and results are those of sentence-transformers, but for long texts: these are read in windows,
    to their end, and all their tokens are pooled.
    """

    def __init__(
        self,
        session: Session,
        tokenizer: Tokenizer,
        config: SentenceConfig,
        *,
        dense: DenseLayer | None = None,
        positions: int | None = None,
        truncate_dim: int | None = None,
    ) -> None:
        if truncate_dim is not None:
            check_count("truncate_dim", truncate_dim)
        if OUTPUT not in session.outputs:
            raise CheckpointError(
                f"{session.path} gives {', '.join(session.outputs)}; an embedder gives {OUTPUT}: export the model "
                "without its head, pocketbert export MODEL DIR --head none"
            )
        self.session = session
        self.tokenizer = tokenizer
        self.config = config
        self.positions = positions
        self.truncate_dim = truncate_dim
        self._dense = dense

    @classmethod
    def load(
        cls,
        name_or_folder: str | os.PathLike[str] | None = None,
        *,
        precision: Precision | None = None,
        threads: int | None = None,
        engine: EngineName = "onnxruntime",
        revision: str | None = None,
        truncate_dim: int | None = None,
    ) -> Embedder:
        """The embedded embedder, or that of a model folder or a hub name; see `Session.load` for the other choices.

        With `truncate_dim` only the first so many numbers of a vector are kept, unless `encode` is told otherwise.
        """
        found = find_embedder(name_or_folder, precision=precision, revision=revision)
        config = found.sentence_config()
        return cls(
            Session.load(found.path, precision=precision, threads=threads, engine=engine),
            found.tokenizer,
            config,
            dense=None if config.dense is None else DenseLayer.load(found.path, config.dense),
            positions=found.positions,
            truncate_dim=truncate_dim,
        )

    @property
    def max_seq_length(self) -> int:
        """Tokens that are read at once, special ones included."""
        return self.config.max_seq_length or self.positions or LONGEST

    @property
    def prompts(self) -> dict[str, str]:
        """Texts by name that can be put before a sentence; those for queries and documents are empty unless set."""
        return {"query": "", "document": "", **self.config.prompts}

    @property
    def similarity_fn_name(self) -> Similarity:
        """How two vectors of the model are meant to be compared."""
        return self.config.similarity

    def get_embedding_dimension(self) -> int:
        """Numbers in a vector."""
        return min(self.truncate_dim or self.config.dimensions, self.config.dimensions)

    def get_sentence_embedding_dimension(self) -> int:
        """Numbers in a vector, by the older name."""
        return self.get_embedding_dimension()

    def encode(
        self,
        sentences: str | Iterable[str],
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        output_value: Literal["sentence_embedding"] = "sentence_embedding",
        precision: VectorPrecision = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Literal["cpu"] | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        long: Long = "windows",
        return_reading: bool = False,
    ) -> Any:
        """The vectors (N, D) of texts, or the vector (D,) of one.

        `batch_size` is meant in sentences of usual length: shorter ones are read more at a time, longer ones fewer.
        `normalize_embeddings` makes vectors one long, which most models do anyway. `truncate_dim` keeps the first
        numbers only. `long` texts are read in "windows", to their end, or with "truncate" cut as sentence-transformers
        does it; a warning then says how many were. `return_reading` gives (vectors, `Reading`), which says it too.
        `output_value`, `convert_to_tensor` and `device` are there for programs that were written for
        sentence-transformers; what needs torch is refused.
        """
        choices = self._choices(prompt, prompt_name, batch_size, normalize_embeddings, truncate_dim, long)
        check_precision(precision)
        check_without_torch(device, convert_to_tensor)
        if output_value != "sentence_embedding":
            raise InputError(
                f"output_value is {output_value!r}; an embedder gives 'sentence_embedding': for a vector a token, see "
                "pocketbert features"
            )
        one = isinstance(sentences, str)
        texts = [sentences] if isinstance(sentences, str) else sentences
        total = len(texts) if isinstance(texts, Sequence) else None
        blocks, reading = [], Reading()
        with Progress(show_progress_bar, "texts", total) as progress:
            for vectors, read in self._blocks(texts, choices, AHEAD):
                blocks.append(vectors)
                reading += read
                progress.add(read.texts)
        self._warn(reading)
        whole = np.concatenate(blocks) if blocks else np.zeros((0, choices.width), dtype=np.float32)
        made = quantize_embeddings(whole, precision) if precision != "float32" else whole
        result: Any = made[0] if one else made if convert_to_numpy else list(made)
        return (result, reading) if return_reading else result

    def encode_query(self, sentences: str | Iterable[str], **options: Any) -> Any:
        """As `encode`, with the model's prompt for queries."""
        return self.encode(sentences, **{"prompt_name": "query", **options})

    def encode_document(self, sentences: str | Iterable[str], **options: Any) -> Any:
        """As `encode`, with the model's prompt for documents."""
        return self.encode(sentences, **{"prompt_name": "document", **options})

    def stream(
        self,
        sentences: Iterable[str],
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        long: Long = "windows",
        ahead: int = AHEAD,
    ) -> Iterator[Floats]:
        """The vectors of texts as they come, in order; `ahead` are taken before the first is read, and no more held."""
        check_count("ahead", ahead)
        choices = self._choices(prompt, prompt_name, batch_size, normalize_embeddings, truncate_dim, long)
        return self._stream(self._blocks(sentences, choices, ahead))

    def similarity(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Floats:
        """How alike each of the first is to each of the second, (N, M), by the model's own measure."""
        return similarity(embeddings1, embeddings2, similarity_fn_name=self.similarity_fn_name)

    def similarity_pairwise(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Floats:
        """How alike the first two are, the second two and so on, (N,), by the model's own measure."""
        return similarity_pairwise(embeddings1, embeddings2, similarity_fn_name=self.similarity_fn_name)

    def _stream(self, blocks: Iterator[tuple[Floats, Reading]]) -> Iterator[Floats]:
        reading = Reading()
        for vectors, read in blocks:
            reading += read
            yield from vectors
        self._warn(reading)

    def _choices(
        self,
        prompt: str | None,
        prompt_name: str | None,
        batch_size: int,
        normalize: bool,
        truncate_dim: int | None,
        long: Long,
    ) -> _Choices:
        check_count("batch_size", batch_size)
        if truncate_dim is not None:
            check_count("truncate_dim", truncate_dim)
        if long not in get_args(Long):
            raise InputError(f"long is {long!r}; allowed are {', '.join(map(repr, get_args(Long)))}")
        width = min(truncate_dim or self.truncate_dim or self.config.dimensions, self.config.dimensions)
        return _Choices(self._prompt(prompt, prompt_name), batch_size * USUAL_TOKENS, normalize, width, long)

    def _blocks(
        self, sentences: Iterable[str], choices: _Choices, ahead: int
    ) -> Iterator[tuple[Floats, Reading]]:
        """The vectors of so many texts at a time."""
        if not isinstance(sentences, Iterable) or isinstance(sentences, (str, bytes)):
            raise InputError(f"the sentences are {kind_of(sentences)}; give a text, or several of them")
        texts = enumerate(sentences)

        def blocks() -> Iterator[tuple[Floats, Reading]]:
            while given := [
                self._text(number, text, choices.prompt) for number, text in islice(texts, ahead)
            ]:
                vectors, reading = self._read(given, choices.tokens, choices.long)
                vectors = vectors[:, : choices.width]
                yield (unit(vectors) if choices.normalize else vectors), reading

        return blocks()

    def _read(self, texts: list[str], tokens: int, long: Long) -> tuple[Floats, Reading]:
        parts, reading = self._parts(self.tokenizer.ids(texts), long)
        vectors = pooled(
            parts,
            len(texts),
            self.session,
            self.tokenizer,
            self.config.pooling,
            output=OUTPUT,
            width=self.config.width,
            tokens=tokens,
        )
        if self._dense is not None:
            vectors = self._dense(vectors)
        return (unit(vectors) if self.config.normalize else vectors), reading

    def _parts(self, rows: list[list[int]], long: Long) -> tuple[list[Part], Reading]:
        """Rows for the model, and how much of the texts they hold."""
        room = step = self.max_seq_length - self.tokenizer.layout.special_tokens(1)
        cut = [len(ids) - room for ids in rows if len(ids) > room]
        reading = Reading(len(rows), len(rows))
        if cut and long == "truncate":
            rows = [ids[:room] for ids in rows]
            reading = replace(reading, truncated=len(cut), truncated_tokens=sum(cut))
        elif cut:
            room, step = room_of(self.tokenizer, self.max_seq_length, None, positions=self.positions)
        parts = [
            part
            for number, ids in enumerate(rows)
            for part in parts_of(number, ids, self.tokenizer, room=room, step=step)
        ]
        return parts, replace(reading, windows=len(parts))

    def _text(self, number: int, text: object, prompt: str) -> str:
        if not isinstance(text, str):
            raise InputError(f"sentence {number} is {kind_of(text)}; every one must be a text (str)")
        whole = prompt + text
        return whole.lower() if self.config.lower_case else whole

    def _prompt(self, prompt: str | None, name: str | None) -> str:
        if prompt is not None:
            if not isinstance(prompt, str):
                raise InputError(f"prompt is {kind_of(prompt)}; it must be a text (str)")
            return prompt
        name = self.config.default_prompt if name is None else name
        if name is None:
            return ""
        if name not in self.prompts:
            known = ", ".join(map(repr, self.prompts))
            raise InputError(f"prompt_name is {name!r}; the model's prompts are: {known}")
        return self.prompts[name]

    def _warn(self, reading: Reading) -> None:
        if reading.truncated:
            warnings.warn(
                f"{reading.truncated} of {reading.texts} texts are longer than {self.max_seq_length} tokens: "
                f"{reading.truncated_tokens} tokens at their ends were not read; long='windows' reads them",
                stacklevel=3,
            )

    def __repr__(self) -> str:
        return f"<Embedder of {self.session.path}, {self.get_embedding_dimension()} dimensions>"
