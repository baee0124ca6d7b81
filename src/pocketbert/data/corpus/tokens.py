"""A prepared corpus: its tokens, mapped from disk, by document and sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pocketbert.data.corpus.shards import Ids, Places, Shard, shard_folder
from pocketbert.errors import InputError
from pocketbert.text import Tokenizer

INDEX = "index.json"
VERSION = 1
_AT_ONCE = 1 << 22  # tokens that are counted together


class Tokens:
    """The documents of a prepared corpus, or some of them, in a fixed order.

    `len` counts documents, `size` tokens. Made by `prepare`, opened by `Tokens.open`; `select` and `split` give
    parts of it that share the mapped files.
    """

    def __init__(self, shards: Sequence[Shard], chosen: NDArray[np.int64], vocabulary: int) -> None:
        self._shards = tuple(shards)
        self._firsts = np.cumsum([0, *(len(shard.documents) for shard in shards)])
        self._chosen = chosen
        self.vocabulary = vocabulary

    @classmethod
    def open(cls, folder: str | Path, tokenizer: Tokenizer | None = None) -> Tokens:
        """Map the shards of a folder; with a tokenizer, only if they were made with it."""
        folder = Path(folder)
        index = read_index(folder)
        if tokenizer is not None and index["tokenizer"] != tokenizer.fingerprint:
            raise InputError(
                f"{folder} was prepared with another tokenizer, of {index['vocabulary']:,} words; this one has "
                f"{tokenizer.size:,}. Use that one, or prepare the corpus again in another folder"
            )
        return cls.from_shards(folder, index)

    @classmethod
    def from_shards(cls, folder: Path, index: dict[str, Any]) -> Tokens:
        """Map the shards that an index counts."""
        shards = [Shard.open(shard_folder(folder, number)) for number in range(index["shards"])]
        documents = sum(len(shard.documents) for shard in shards)
        return cls(shards, np.arange(documents), index["vocabulary"])

    def __len__(self) -> int:
        return len(self._chosen)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many tokens each document has."""
        of_shards = [np.diff(shard.sentences[shard.documents - 1], prepend=0) for shard in self._shards]
        return np.concatenate([np.empty(0, dtype=np.int64), *of_shards])[self._chosen]

    @property
    def size(self) -> int:
        """How many tokens there are."""
        return int(self.lengths.sum())

    def document(self, number: int) -> list[Ids]:
        """The sentences of a document, each an array of token ids."""
        return np.split(self.span(number), self.ends(number)[:-1])

    def ends(self, number: int) -> Places:
        """Where each sentence of a document ends, counted in tokens from the start of the document."""
        shard, first, last = self._place(number)
        ends = shard.sentences[first:last]
        return np.asarray(ends - (shard.sentences[first - 1] if first else 0))

    def span(self, number: int, start: int = 0, end: int | None = None) -> Ids:
        """The tokens of a document from one place to another; nothing else is read."""
        shard, first, last = self._place(number)
        origin = int(shard.sentences[first - 1]) if first else 0
        stop = int(shard.sentences[last - 1]) if end is None else origin + end
        return shard.tokens[origin + start : stop]

    def select(self, numbers: Sequence[int] | NDArray[np.int64]) -> Tokens:
        """Some of the documents."""
        return Tokens(self._shards, self._chosen[np.asarray(numbers, dtype=np.int64)], self.vocabulary)

    def split(self, share: float, *, seed: int, least: int = 1) -> tuple[Tokens, Tokens]:
        """All documents but a share, and that share, drawn by the seed: never one in both, `least` in each."""
        if not 0 < share < 1:
            raise InputError(f"the share to hold out is {share}; it must lie between 0 and 1")
        count = max(least, round(share * len(self)))
        if len(self) - count < least:
            raise InputError(
                f"the corpus has {len(self)} document(s), too few to hold out {count} of them; check its format, or "
                "name another text to evaluate on"
            )
        drawn = np.random.default_rng([seed, len(self)]).permutation(len(self))
        return self.select(np.sort(drawn[count:])), self.select(np.sort(drawn[:count]))

    def counts(self) -> NDArray[np.int64]:
        """How often each word of the vocabulary stands in the documents."""
        total = np.zeros(self.vocabulary, dtype=np.int64)
        batches = np.cumsum(self.lengths) // _AT_ONCE
        for batch in range(int(batches[-1]) + 1 if len(self) else 0):
            first, last = np.searchsorted(batches, [batch, batch + 1])
            spans = [self.span(number) for number in range(first, last)]
            if spans:
                total += np.bincount(np.concatenate(spans), minlength=self.vocabulary)
        return total

    def _place(self, number: int) -> tuple[Shard, int, int]:
        """The shard of a document, and its first and last sentence there."""
        chosen = int(self._chosen[number])
        place = int(np.searchsorted(self._firsts, chosen, side="right")) - 1
        shard, inside = self._shards[place], chosen - int(self._firsts[place])
        return shard, int(shard.documents[inside - 1]) if inside else 0, int(shard.documents[inside])


def read_index(folder: Path) -> dict[str, Any]:
    """What a folder of tokens was made of."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        version = index["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{folder} holds no prepared corpus, or one that is not finished ({error}); prepare it again: "
            "shards that are there are kept"
        ) from error
    if version != VERSION:
        raise InputError(
            f"{folder} is of format {version}; this version reads {VERSION}. Prepare the corpus again"
        )
    return dict(index)
