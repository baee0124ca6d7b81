"""Which words are hidden, and what stands in their place (arXiv 1810.04805, section 3.1).

Of the chosen tokens 80 % become [MASK], 10 % another word and 10 % stay as they are; all of them are to be guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pocketbert.data.objectives.examples import Array
from pocketbert.errors import InputError
from pocketbert.text import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Masking:
    """How much is hidden: a `share` of the tokens, `most` of a sequence at most; token by token or whole words."""

    share: float = 0.15
    most: int | None = None
    whole_words: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InputError(f"the share of words to mask is {self.share}; it must lie between 0 and 1")
        if self.most is not None and self.most < 1:
            raise InputError(
                f"at most {self.most} words of a sequence are to be masked; give 1 or more, or none"
            )

    def count(self, length: int) -> int:
        """How many tokens of a sequence are hidden; special ones count for its length, as in BERT's own code."""
        wanted = max(1, round(length * self.share))
        return wanted if self.most is None else min(wanted, self.most)


class Masker:
    """Hides words of a tokenizer's sequences."""

    def __init__(self, tokenizer: Tokenizer, masking: Masking) -> None:
        self.masking = masking
        self._mask = tokenizer.mask_id
        self._frame = np.asarray([tokenizer.cls_id, tokenizer.sep_id])
        ordinary = set(range(tokenizer.size)) - tokenizer.special_ids
        self._words = np.asarray(sorted(ordinary), dtype=np.int64)
        self._joins = lru_cache(maxsize=1 << 18)(tokenizer.joins)

    def __call__(self, ids: Array, random: np.random.Generator) -> tuple[Array, Array]:
        """The ids with some of them replaced, and the places (P,) of those to be guessed, in their order."""
        places = np.flatnonzero(~np.isin(ids, self._frame))
        count = min(self.masking.count(len(ids)), len(places))
        if self.masking.whole_words:
            chosen = self._whole_words(ids, places, count, random)
        else:
            chosen = np.sort(random.choice(places, count, replace=False))
        masked = ids.copy()
        kind = random.random(len(chosen))
        masked[chosen[kind < 0.8]] = self._mask
        other = chosen[kind >= 0.9]
        masked[other] = random.choice(self._words, len(other))
        return masked, chosen

    def _whole_words(self, ids: Array, places: Array, count: int, random: np.random.Generator) -> Array:
        """Words by chance, each with all its tokens, as long as they fit; the shortest if none does."""
        begins = [
            number
            for number, place in enumerate(places)
            if number == 0
            or places[number - 1] != place - 1
            or not self._joins(int(ids[place - 1]), int(ids[place]))
        ]
        words = np.split(places, begins[1:])
        chosen: list[Array] = []
        left = count
        for number in random.permutation(len(words)):
            if len(words[number]) <= left:
                chosen.append(words[number])
                left -= len(words[number])
        return np.sort(np.concatenate(chosen or [min(words, key=len)]))
