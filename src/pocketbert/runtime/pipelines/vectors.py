"""`pipeline("feature-extraction")` as transformers has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pocketbert.errors import InputError, check_count
from pocketbert.runtime.features import AHEAD, OUTPUT, Features
from pocketbert.runtime.inputs import text_of
from pocketbert.runtime.pipelines.arguments import (
    answered,
    check_cut,
    check_fits,
    longest,
    made_of,
    token_kwargs,
)
from pocketbert.runtime.rows import Row, per_token

TASK = "feature-extraction"


@dataclass(frozen=True)
class Arguments:
    """What the pipeline can be told with each call."""

    truncation: bool | str | None = None
    """Whether a text that is too long is cut at its end; if not, it is an error."""
    tokenize_kwargs: Mapping[str, Any] | None = None
    """The same, and max_length, as a dictionary."""
    return_tensors: bool | None = None
    """An array (numpy's) instead of lists."""
    batch_size: int = 1
    """Without effect: batches are made by length here."""

    def __post_init__(self) -> None:
        inner, size = token_kwargs(self.tokenize_kwargs, "tokenize_kwargs")
        if self.truncation is not None and inner is not None:
            raise InputError("truncation is given twice, by itself and in tokenize_kwargs; give it once")
        check_cut(self.cut, size)
        if self.return_tensors not in (None, True, False):
            raise InputError(f"return_tensors is {self.return_tensors!r}; it must be True or False")
        check_count("batch_size", self.batch_size)

    @property
    def cut(self) -> Any:
        return (
            token_kwargs(self.tokenize_kwargs, "tokenize_kwargs")[0]
            if self.truncation is None
            else self.truncation
        )

    @property
    def max_length(self) -> Any:
        return token_kwargs(self.tokenize_kwargs, "tokenize_kwargs")[1]


class FeatureExtractionPipeline:
    """Call it with a text or a list of texts: [[vector, …]] for each, special tokens included, as nested lists."""

    task = TASK

    def __init__(self, features: Features, **defaults: Any) -> None:
        self.features = features
        self._defaults = defaults
        made_of(Arguments, defaults)

    def __call__(self, inputs: Any, **arguments: Any) -> Any:
        """Read; a generator of texts is answered by a generator."""
        chosen = made_of(Arguments, self._defaults | arguments)
        return answered(inputs, lambda stream: self._vectors(stream, chosen))

    def _vectors(self, stream: Iterator[Any], chosen: Arguments) -> Iterator[Any]:
        model = self.features
        size = longest(chosen.cut, chosen.max_length, model.positions)
        while texts := [text_of(entry) for entry in islice(stream, AHEAD)]:
            rows = []
            for text in texts:
                encoding = model.tokenizer.encode(text, max_length=size)
                check_fits(len(encoding), model.positions)
                rows.append(Row(encoding.ids, encoding.type_ids))
            found = dict(per_token(rows, model.session, model.tokenizer, OUTPUT))
            for number in range(len(rows)):
                vectors = found[number][None]  # (1, S, W)
                yield vectors.copy() if chosen.return_tensors else vectors.tolist()
