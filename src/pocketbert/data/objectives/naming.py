"""The objectives by name: one parameter of a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, get_args

from torch import Tensor

from pocketbert.data.corpus import Tokens
from pocketbert.data.objectives.bert import Bert
from pocketbert.data.objectives.examples import Example, Examples, Plan
from pocketbert.data.objectives.masked import Masked
from pocketbert.data.objectives.masking import Masker, Masking
from pocketbert.data.objectives.permutation import Permutation
from pocketbert.data.objectives.sentence_order import SentenceOrder
from pocketbert.errors import InputError
from pocketbert.model import HeadKind
from pocketbert.text import Tokenizer

ObjectiveName = Literal["bert", "full-sentences", "sentence-order", "masked", "permutation"]
"""BERT's, RoBERTa's, ALBERT's, DistilBERT's and XLNet's."""


HEADS: dict[ObjectiveName, HeadKind] = {
    "bert": Bert.head,
    "full-sentences": Masked.head,
    "sentence-order": SentenceOrder.head,
    "masked": Masked.head,
    "permutation": Permutation.head,
}
"""The head that a model needs for each."""


class Objective(Protocol):
    """What to learn from a corpus: examples, and the tensors that a model with this head takes."""

    @property
    def head(self) -> HeadKind:
        """The head that a model needs."""

    def examples(self, tokens: Tokens, *, seed: int, passes: int = 1, rows: Plan | None = None) -> Examples:
        """The examples of so many passes over a corpus; with the `rows` of an earlier plan, as they were planned."""

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """The tensors of a batch, labels among them."""


def objective(
    name: ObjectiveName,
    tokenizer: Tokenizer,
    *,
    length: int = 128,
    masking: Masking = Masking(),  # noqa: B008 - frozen
    short: float = 0.1,
) -> Objective:
    """An objective by its name: sequences of `length` tokens at most, `short` of the pairs shorter by chance."""
    if name not in get_args(ObjectiveName):
        raise InputError(f"there is no objective {name!r}; there are {', '.join(get_args(ObjectiveName))}")
    if length < 8:
        raise InputError(f"sequences of {length} tokens leave no room for words; give a length of 8 or more")
    if not 0 <= short <= 1:
        raise InputError(f"the share of short pairs is {short}; it must lie in 0 … 1")
    if name == "permutation":
        return Permutation(tokenizer, length)
    masker = Masker(tokenizer, masking)
    if name == "bert":
        return Bert(tokenizer, masker, length, short)
    if name == "sentence-order":
        return SentenceOrder(tokenizer, masker, length, short)
    return Masked(tokenizer, masker, length, cross=name == "full-sentences")
