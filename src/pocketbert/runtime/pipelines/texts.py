"""`pipeline("text-classification")`, also called "sentiment-analysis", as transformers has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError, check_count
from pocketbert.runtime.classify import Classifier, Texts
from pocketbert.runtime.inputs import AHEAD, is_list, kind_of, text_of
from pocketbert.runtime.pipelines.arguments import answered, check_cut, check_fits, longest, made_of
from pocketbert.runtime.rows import Row, per_text
from pocketbert.text.label_config import chances, shares

TASK = "text-classification"
Function = Literal["sigmoid", "softmax", "none"]
Labels: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Arguments:
    """What the pipeline can be told with each call."""

    top_k: int | Literal[""] | None = ""
    """How many labels, the likeliest first, or None for all; not given, the likeliest by itself."""
    function_to_apply: Function | None = None
    """What makes scores of logits; None: as the model's labels need it."""
    truncation: bool | str | None = None
    """Whether a text that is too long is cut at its end; if not, it is an error."""
    max_length: int | None = None
    padding: bool | str | None = None
    """Without effect, as is the next: batches are made by length here."""
    batch_size: int = 1

    def __post_init__(self) -> None:
        if self.top_k is not None and self.top_k != "":
            check_count("top_k", self.top_k)
        name = self.function_to_apply
        if name is not None and (not isinstance(name, str) or name.lower() not in get_args(Function)):
            allowed = ", ".join(map(repr, get_args(Function)))
            raise InputError(f"function_to_apply is {name!r}; allowed are {allowed}")
        check_cut(self.truncation, self.max_length)
        check_count("batch_size", self.batch_size)


class TextClassificationPipeline:
    """Call it with a text, a dictionary of "text" and "text_pair", or a list of either.

    A text gives [{"label", "score"}], a list of texts a list of {"label", "score"}; with `top_k`, lists of them. The
    scores are the model's bare softmax or sigmoid, equal to those of transformers; `Classifier` has calibrated ones.
    """

    task = TASK

    def __init__(self, classifier: Classifier, **defaults: Any) -> None:
        self.classifier = classifier
        self._defaults = defaults
        made_of(Arguments, defaults)

    def __call__(self, inputs: Any, **arguments: Any) -> Any:
        """Label; a generator of inputs is answered by a generator."""
        chosen = made_of(Arguments, self._defaults | arguments)
        found = answered(inputs, lambda stream: self._labels(stream, chosen))
        # A text by itself has always been answered with a list of one.
        return [found] if isinstance(inputs, str) and "top_k" not in arguments else found

    def _labels(self, stream: Iterator[Any], chosen: Arguments) -> Iterator[dict[str, Any] | Labels]:
        while given := [_texts(entry) for entry in islice(stream, AHEAD)]:
            for logits in self._logits(given, chosen):
                yield self._rows(logits, chosen)

    def _logits(self, given: list[Texts], chosen: Arguments) -> list[NDArray[np.float32]]:
        classifier = self.classifier
        size = longest(chosen.truncation, chosen.max_length, classifier.positions)
        rows = []
        for entry in given:
            text, pair = entry if isinstance(entry, tuple) else (entry, None)
            encoding = classifier.tokenizer.encode(text, pair, max_length=size)
            check_fits(len(encoding), classifier.positions)
            rows.append(Row(encoding.ids, encoding.type_ids))
        found = dict(per_text(rows, classifier.session, classifier.tokenizer, "logits"))
        return [found[number] for number in range(len(rows))]

    def _rows(self, logits: NDArray[np.float32], chosen: Arguments) -> dict[str, Any] | Labels:
        scores = self._scores(logits, chosen.function_to_apply).tolist()
        rows = [
            {"label": label, "score": score}
            for label, score in zip(self.classifier.labels, scores, strict=True)
        ]
        best_first = sorted(rows, key=lambda row: -row["score"])
        return best_first[0] if chosen.top_k == "" else best_first[: chosen.top_k]

    def _scores(self, logits: NDArray[np.float32], function: Function | None) -> NDArray[np.floating]:
        problem, declared = self.classifier.problem, self.classifier.declared
        if function is None:
            function = {
                "single": "softmax",
                "multi": "sigmoid",
                "regression": "none" if declared else "sigmoid",
            }[problem]
        match str(function).lower():
            case "softmax":
                return shares(logits)
            case "sigmoid":
                return chances(logits)
        return logits


def _texts(entry: object) -> Texts:
    """A text, or a pair in one of the ways in which pairs have been given."""
    if isinstance(entry, Mapping):
        if not {"text"} <= set(entry) <= {"text", "text_pair"}:
            raise InputError(
                f"a dictionary has {', '.join(map(str, entry)) or 'nothing'}; give text, and text_pair if there are two"
            )
        text, pair = text_of(entry["text"]), entry.get("text_pair")
        return text if pair is None else (text, text_of(pair, "the second text"))
    if is_list(entry):
        if len(entry) == 1 and is_list(entry[0]) and len(entry[0]) == 2:
            return text_of(entry[0][0]), text_of(entry[0][1], "the second text")
        raise InputError(
            f"an input is {kind_of(entry)}; give a text, or a pair as {{'text': …, 'text_pair': …}}"
        )
    return text_of(entry)
