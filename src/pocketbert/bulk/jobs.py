"""What is done with each row: a vector, a label or an answer. A job is a few words; `open` loads its model."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pocketbert.errors import InputError, require
from pocketbert.runtime.embed import Embedder, Long
from pocketbert.runtime.manifest import sha256
from pocketbert.runtime.options import Options, Reading
from pocketbert.runtime.session import Precision, Session
from pocketbert.vectors.rounding import VectorPrecision

Texts: TypeAlias = tuple[str, ...]
"""The texts of a row that a job reads, in the order of its columns."""
Cells: TypeAlias = tuple[Any, ...]
"""What was said of a row, in the order of the columns that a job writes."""

# What decides the results beside the ONNX file: settings, words, and a layer after pooling.
DECISIVE = ("*.json", "*.txt", "*.model", "*_Dense/model.safetensors", "*_Pooling/config.json")


@dataclass(frozen=True)
class Opened:
    """A job whose model is loaded."""

    types: dict[str, Any]
    """The columns that are written, with pyarrow's types."""
    fingerprint: str
    """A hash of all files of the model that matter: machines must not mix two."""
    say: Callable[[Sequence[Texts]], tuple[list[Cells], int]]
    """Rows in, as many rows of cells out, and how many texts were cut."""


class Job(Protocol):
    """What a job has to be; it is sent to other machines, so it holds plain values only."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns with texts."""

    def described(self) -> dict[str, Any]:
        """All choices that decide the results, as JSON; the model's name is none, for its files may be moved."""

    def open(self, threads: int | None = None) -> Opened:
        """Load the model."""


@dataclass(frozen=True)
class Embed:
    """A vector for each text."""

    column: str
    model: str | None = None
    precision: Precision | None = None
    prompt_name: str | None = None
    normalize: bool = False
    truncate_dim: int | None = None
    form: VectorPrecision = "float32"
    long: Long = "windows"
    verb: str = "embed"

    def __post_init__(self) -> None:
        if self.form in ("int8", "uint8"):
            raise InputError(
                f"vectors as {self.form} need the least and the most of all vectors, which no part knows; write "
                "float32 and round later with quantize_embeddings, or write binary or ubinary"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column,)

    def described(self) -> dict[str, Any]:
        return _choices(self)

    def open(self, threads: int | None = None) -> Opened:
        import numpy as np

        from pocketbert.vectors.rounding import quantize_embeddings

        arrow = require("pyarrow", extra="parquet")
        embedder = Embedder.load(self.model, precision=self.precision, threads=threads)
        width = embedder.get_sentence_embedding_dimension()
        example = quantize_embeddings(
            np.zeros((1, min(self.truncate_dim or width, width)), np.float32), self.form
        )

        def say(rows: Sequence[Texts]) -> tuple[list[Cells], int]:
            with warnings.catch_warnings():  # how many were cut is counted here, and said once at the end
                warnings.filterwarnings("ignore", message=".* texts are longer than ", category=UserWarning)
                vectors, reading = embedder.encode(
                    [text for (text,) in rows],
                    prompt_name=self.prompt_name,
                    normalize_embeddings=self.normalize,
                    truncate_dim=self.truncate_dim,
                    long=self.long,
                    return_reading=True,
                )
            return [(vector,) for vector in quantize_embeddings(vectors, self.form)], reading.truncated

        say([("a",)])  # a prompt that does not exist is said now, and not once for every part
        kind = arrow.list_(arrow.from_numpy_dtype(example.dtype), example.shape[1])
        return Opened({"vector": kind}, fingerprint(embedder.session), say)


@dataclass(frozen=True)
class Classify:
    """A label, several or a score for each text or pair of texts."""

    model: str
    column: str
    pair_column: str | None = None
    precision: Precision | None = None
    window: int | None = None
    verb: str = "classify"

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column,) if self.pair_column is None else (self.column, self.pair_column)

    def described(self) -> dict[str, Any]:
        return _choices(self)

    def open(self, threads: int | None = None) -> Opened:
        from pocketbert.runtime.classify import Classifier

        arrow = require("pyarrow", extra="parquet")
        classifier = Classifier.load(self.model, precision=self.precision, threads=threads)
        classifier.window(self.window)
        kinds = {
            "single": {"prediction": arrow.string(), "probability": arrow.float64()},
            "multi": {"prediction": arrow.string(), "probability": arrow.string()},
            "regression": {"prediction": arrow.float64()},
        }

        def say(rows: Sequence[Texts]) -> tuple[list[Cells], int]:
            given: Any = (row[0] if len(row) == 1 else row for row in rows)
            results = list(classifier.stream(given, window=self.window))
            cells = [tuple(result.to_cells().values()) for result in results]
            return cells, sum(result.truncated > 0 for result in results)

        return Opened(kinds[classifier.problem], fingerprint(classifier.session), say)


@dataclass(frozen=True)
class Answer:
    """The answer to each question about its context; "" where there is none."""

    question_column: str = "question"
    context_column: str = "context"
    model: str | None = None
    read: Reading = "fast"
    threshold: float | None = None
    verb: str = "ask"

    def __post_init__(self) -> None:
        Options(read=self.read, threshold=self.threshold)

    @property
    def reads(self) -> tuple[str, ...]:
        return self.question_column, self.context_column

    def described(self) -> dict[str, Any]:
        return _choices(self)

    def open(self, threads: int | None = None) -> Opened:
        from pocketbert.runtime.questions import QuestionAnswerer

        arrow = require("pyarrow", extra="parquet")
        reader = QuestionAnswerer.load(self.model, threads=threads)

        def say(rows: Sequence[Texts]) -> tuple[list[Cells], int]:
            pairs = ((question, context) for question, context in rows)
            found = [
                (each.text, each.start, each.end, each.score, each.no_answer, each.read.windows, each.read.of)
                for each in reader.answers(pairs, read=self.read, threshold=self.threshold)
            ]
            return found, 0

        number, share = arrow.int64(), arrow.float64()
        types = {
            "answer": arrow.string(),
            "start": number,
            "end": number,
            "score": share,
            "no_answer": share,
            "windows_read": number,
            "windows": number,
        }
        return Opened(types, fingerprint(reader.session), say)


def fingerprint(session: Session) -> str:
    """A hash of the files that decide what a model says."""
    path = session.path
    folder = path.parent.parent if path.parent.name == "onnx" else path.parent
    files = {*path.parent.glob(f"{path.name}*"), *(file for name in DECISIVE for file in folder.glob(name))}
    parts = [f"{_relative(file, folder)} {sha256(file)}" for file in sorted(files) if file.is_file()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _relative(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()


def _choices(job: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(job).items() if name != "model"}
