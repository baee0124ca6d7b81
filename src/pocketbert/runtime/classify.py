"""`Classifier`: labels for whole texts, or for pairs of texts, with scores that are probabilities."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import CheckpointError, InputError, check_count
from pocketbert.runtime.config import Problem, check_head
from pocketbert.runtime.folder import find_model
from pocketbert.runtime.inputs import AHEAD, is_list, kind_of, text_of
from pocketbert.runtime.rows import Row, per_text
from pocketbert.runtime.session import EngineName, Precision, Session
from pocketbert.text.label_config import LabelConfig, chances, shares
from pocketbert.text.tokenizer import Tokenizer

Texts: TypeAlias = str | tuple[str, str]
"""A text, or a text and a second one."""


@dataclass(frozen=True)
class Classification:
    """What a classifier says of a text."""

    problem: Problem
    scores: Mapping[str, float]
    """Every label with its probability; of a score, its name and the number."""
    truncated: int = 0
    """How many tokens at the end of the text were not read."""

    @property
    def label(self) -> str:
        """The likeliest label, or the name of the score."""
        return max(self.scores, key=self.scores.__getitem__)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that are given: the likeliest one, or, of several, all that are likelier than not."""
        if self.problem == "multi":
            return tuple(name for name, score in self.top() if score > 0.5)
        return (self.label,) if self.problem == "single" else ()

    @property
    def score(self) -> float:
        """The probability of the likeliest label, or the number that is the score."""
        return self.scores[self.label]

    def top(self, count: int | None = None) -> list[tuple[str, float]]:
        """The labels with their probabilities, the likeliest first; all, or so many."""
        return sorted(self.scores.items(), key=lambda entry: -entry[1])[:count]

    def to_json(self) -> dict[str, Any]:
        """The result as `pocketbert classify --json` prints it."""
        rounded = {name: round(score, 6) for name, score in self.top()}
        found: dict[str, Any]
        if self.problem == "regression":
            found = {"score": round(self.score, 6)}
        elif self.problem == "multi":
            found = {"labels": list(self.labels), "scores": rounded}
        else:
            found = {"label": self.label, "score": rounded[self.label], "scores": rounded}
        return found | ({"truncated": self.truncated} if self.truncated else {})

    def to_cells(self) -> dict[str, Any]:
        """The result as columns of a table."""
        if self.problem == "regression":
            return {"prediction": round(self.score, 6)}
        if self.problem == "multi":
            return {
                "prediction": ",".join(self.labels),
                "probability": ",".join(f"{self.scores[name]:.6f}" for name in self.labels),
            }
        return {"prediction": self.label, "probability": round(self.score, 6)}


class Classifier:
    """Labels texts with an exported model, without torch.

        classifier = Classifier.load("runs/reviews-onnx")
        result = classifier("The lid broke on the second day.")
        print(result.label, result.score)

    The scores are calibrated if the model was exported with data (`calibrated` tells), and the model's bare softmax or
    sigmoid if not.
    """

    def __init__(
        self,
        session: Session,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        *,
        problem: Problem = "single",
        config: LabelConfig | None = None,
        positions: int | None = None,
        declared: bool = True,
    ) -> None:
        if "logits" not in session.outputs:
            raise CheckpointError(
                f"{session.path} gives {', '.join(session.outputs)}; a classifier gives logits: "
                "take a model that was trained to label texts"
            )
        self.session = session
        self.tokenizer = tokenizer
        self.labels = tuple(labels)
        self.problem: Problem = problem
        self.config = config or LabelConfig(window=min(positions or 512, 512))
        self.positions = positions
        self.declared = declared
        """Whether the folder says what its labels are; if not, a single one is taken for a score."""

    @classmethod
    def load(
        cls,
        name_or_folder: str | os.PathLike[str],
        *,
        precision: Precision | None = None,
        threads: int | None = None,
        engine: EngineName = "onnxruntime",
        revision: str | None = None,
    ) -> Classifier:
        """The classifier of a model folder or a hub name; see `Session.load` for the other choices."""
        found = find_model(name_or_folder, precision=precision, revision=revision)
        check_head(found.config, found.config_file, "ForSequenceClassification")
        return cls(
            Session.load(found.path, precision=precision, threads=threads, engine=engine),
            found.tokenizer,
            found.labels,
            problem=found.problem,
            config=found.label_config(),
            positions=found.positions,
            declared=found.config.get("problem_type") is not None,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the cells that a result has as columns of a table."""
        return ("prediction",) if self.problem == "regression" else ("prediction", "probability")

    @property
    def calibrated(self) -> bool:
        """Whether the scores were fitted to what is true of texts; if not, they are the model's bare ones."""
        return self.config.temperature is not None

    @overload
    def __call__(self, text: str, pair: str | None = None, *, window: int | None = ...) -> Classification: ...
    @overload
    def __call__(
        self,
        text: list[str] | tuple[str, ...],
        pair: str | Sequence[str] | None = None,
        *,
        window: int | None = ...,
    ) -> list[Classification]: ...
    def __call__(
        self, text: str | Sequence[str], pair: str | Sequence[str] | None = None, *, window: int | None = None
    ) -> Classification | list[Classification]:
        """Label a text, or a text and a second one; lists of them give a list.

        A text of more tokens than `window` (by default what the model was trained with) is cut at its end, and the
        result's `truncated` says by how much.
        """
        if not is_list(text):
            if pair is not None and not isinstance(pair, str):
                raise InputError(f"there is one text, and the second is {kind_of(pair)}; give one of both")
            given: Any = text if pair is None else (text, pair)
            return next(self.stream([given], window=window))
        if pair is None:
            return list(self.stream(text, window=window))
        pairs: Sequence[Any] = pair if is_list(pair) else [pair] * len(text)
        if len(pairs) != len(text):
            raise InputError(
                f"there are {len(text)} texts and {len(pairs)} second texts; give as many of both"
            )
        return list(self.stream(zip(text, pairs, strict=True), window=window))

    def stream(
        self, texts: Iterable[Texts], *, window: int | None = None, ahead: int = AHEAD
    ) -> Iterator[Classification]:
        """Label texts, or pairs of them, as they come, in order; `ahead` are taken before the first is labelled."""
        check_count("ahead", ahead)
        return self._stream(iter(texts), self.window(window), ahead)

    def window(self, wanted: int | None) -> int:
        """How many tokens are read of a text."""
        if wanted is None:
            return self.config.window
        check_count("window", wanted)
        if self.positions is not None and wanted > self.positions:
            raise InputError(f"window is {wanted}; this model reads at most {self.positions} tokens at once")
        return wanted

    def logits(self, texts: Sequence[Texts], *, window: int) -> tuple[NDArray[np.float32], list[int]]:
        """What the model itself says (N, labels), and how many tokens of each text were cut."""
        rows, cut = [], []
        for given in texts:
            text, pair = _split(given)
            encoding = self.tokenizer.encode(text, pair, max_length=window)
            rows.append(Row(encoding.ids, encoding.type_ids))
            cut.append(encoding.truncated)
        found = np.zeros((len(rows), len(self.labels)), dtype=np.float32)
        for number, logits in per_text(rows, self.session, self.tokenizer, "logits"):
            if len(logits) != len(self.labels):
                raise CheckpointError(
                    f"{self.session.path} gives {len(logits)} logits a text, but config.json names "
                    f"{len(self.labels)} labels ({', '.join(self.labels[:10])}); export the model again"
                )
            found[number] = logits
        return found, cut

    def _stream(self, texts: Iterator[Texts], window: int, ahead: int) -> Iterator[Classification]:
        while given := list(islice(texts, ahead)):
            logits, cut = self.logits(given, window=window)
            for row, truncated in zip(self._scores(logits), cut, strict=True):
                scores = dict(zip(self.labels, row.tolist(), strict=True))
                yield Classification(self.problem, scores, truncated)

    def _scores(self, logits: NDArray[np.float32]) -> NDArray[np.floating]:
        if self.problem == "regression":
            return logits
        return (shares if self.problem == "single" else chances)(logits, self.config.heat)

    def __repr__(self) -> str:
        return f"<Classifier of {self.session.path}>"


def _split(given: object) -> tuple[str, str | None]:
    if isinstance(given, tuple) and len(given) == 2:
        return text_of(given[0]), text_of(given[1], "the second text")
    return text_of(given), None
