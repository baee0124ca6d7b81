"""`pipeline("fill-mask")` as transformers has it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from pocketbert.errors import InputError, check_count
from pocketbert.runtime.fill import Filler, Gap, likeliest
from pocketbert.runtime.inputs import is_list, listed
from pocketbert.runtime.pipelines.arguments import answered, made_of

TASK = "fill-mask"
logger = logging.getLogger("pocketbert")
Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Arguments:
    """What the pipeline can be told with each call."""

    top_k: int | None = None
    """How many words for each gap; None is 5."""
    targets: str | list[str] | None = None
    """The only words to choose from; of one that the vocabulary lacks, its first token counts."""
    batch_size: int = 1
    """Without effect: batches are made by length here."""

    def __post_init__(self) -> None:
        check_count("top_k", 5 if self.top_k is None else self.top_k)
        check_count("batch_size", self.batch_size)
        if self.targets is not None and not all(isinstance(word, str) for word in listed(self.targets)):
            raise InputError(f"targets is {self.targets!r}; give a word or a list of words")


class FillMaskPipeline:
    """Call it with a text that has a gap, `[MASK]` or the vocabulary's own name for it, or with a list of texts.

    A text gives [{"score", "token", "token_str", "sequence"}], one with several gaps a list of that for each.
    """

    task = TASK

    def __init__(self, filler: Filler, **defaults: Any) -> None:
        self.filler = filler
        self._defaults = defaults
        made_of(Arguments, defaults)

    def __call__(self, inputs: Any, **arguments: Any) -> Any:
        """Fill; a generator of texts is answered by a generator."""
        chosen = made_of(Arguments, self._defaults | arguments)
        targets = None if chosen.targets is None else self._targets(listed(chosen.targets))
        found = answered(inputs, lambda stream: self._filled(stream, chosen.top_k or 5, targets))
        return found[0] if is_list(inputs) and len(inputs) == 1 else found

    def _filled(
        self, stream: Iterator[Any], top_k: int, targets: list[int] | None
    ) -> Iterator[Rows | list[Rows]]:
        for gaps in self.filler.gaps(stream):
            rows = [self._rows(gap, top_k, targets) for gap in gaps]
            yield rows[0] if len(rows) == 1 else rows

    def _rows(self, gap: Gap, top_k: int, targets: list[int] | None) -> Rows:
        tokenizer = self.filler.tokenizer
        scores = gap.scores[: tokenizer.size] if targets is None else gap.scores[targets]
        places = likeliest(scores, top_k)
        return [
            {
                "score": float(scores[place]),
                "token": token,
                "token_str": tokenizer.decode([token], skip_special=False),
                # Of several gaps the others would be lost with the special tokens.
                "sequence": tokenizer.decode(gap.filled(token), skip_special=gap.gaps == 1),
            }
            for place, token in zip(
                places, places if targets is None else [targets[at] for at in places], strict=True
            )
        ]

    def _targets(self, words: Any) -> list[int]:
        """The ids of the words to choose from."""
        tokenizer = self.filler.tokenizer
        known = tokenizer.vocabulary()
        found: list[int] = []
        for word in words:
            ids = [known[word]] if word in known else tokenizer.encode(word, special=False).ids[:1]
            if word not in known and ids:
                logger.warning(
                    "the target %r is no word of the vocabulary: %r is taken", word, tokenizer.token(ids[0])
                )
            found += [token for token in ids if token not in found]
        if not found:
            raise InputError(f"targets is {list(words)!r}; at least one word with a letter is needed")
        return found
