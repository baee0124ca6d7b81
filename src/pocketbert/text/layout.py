"""Layouts: which special tokens stand where around one text or two, and how rows are padded.

BERT, MobileBERT, DistilBERT and ALBERT write `[CLS] a [SEP] b [SEP]`, RoBERTa `<s> a </s></s> b </s>` without segments,
and XLNet `a <sep> b <sep> <cls>` with a segment of its own for the last, padded on the left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from pocketbert.errors import TokenizerError

Mark = tuple[Literal["cls", "sep"], int]
"""A special token and its segment id."""


@dataclass(frozen=True)
class Layout:
    """The frame around texts; the defaults are BERT's."""

    before: tuple[Mark, ...] = (("cls", 0),)
    after_one: tuple[Mark, ...] = (("sep", 0),)
    """Behind a text that stands alone."""
    between: tuple[Mark, ...] = (("sep", 0),)
    after_two: tuple[Mark, ...] = (("sep", 1),)
    """Behind the second of two texts."""
    second: int = 1
    """The segment id of the second text; that of the first is 0."""
    document: Literal["first", "second"] = "second"
    """Which text the document is where the other is a question."""
    padding: Literal["right", "left"] = "right"
    padding_type: int = 0
    """The segment id of padding."""

    def special_tokens(self, texts: int) -> int:
        """How many special tokens stand around one text or two."""
        inner = self.after_one if texts == 1 else (*self.between, *self.after_two)
        return len(self.before) + len(inner)

    def types(self, first: int, second: int | None = None) -> list[int]:
        """The segment ids of a text of so many tokens, or of two, and of the special tokens around them."""
        before, between, after_one, after_two = (
            [kind for _, kind in part] for part in (self.before, self.between, self.after_one, self.after_two)
        )
        if second is None:
            return [*before, *[0] * first, *after_one]
        return [*before, *[0] * first, *between, *[self.second] * second, *after_two]

    def null(self, length: int) -> int:
        """The place of `[CLS]` in a row of so many tokens: what a reader points to when there is no answer."""
        return 0 if self.before else length - 1

    def place(self, length: int, width: int) -> slice:
        """Where a row of so many tokens stands in a padded row."""
        return slice(0, length) if self.padding == "right" else slice(width - length, width)

    def template(self, cls: str, sep: str) -> dict[str, object]:
        """The layout as a `TemplateProcessing` of a tokenizer.json."""
        names = {"cls": cls, "sep": sep}

        def marks(part: tuple[Mark, ...]) -> Iterator[dict[str, object]]:
            return ({"SpecialToken": {"id": names[role], "type_id": kind}} for role, kind in part)

        first, second = (
            {"Sequence": {"id": name, "type_id": kind}} for name, kind in (("A", 0), ("B", self.second))
        )
        return {
            "single": [*marks(self.before), first, *marks(self.after_one)],
            "pair": [*marks(self.before), first, *marks(self.between), second, *marks(self.after_two)],
        }


BERT = Layout()
ROBERTA = Layout(between=(("sep", 0), ("sep", 0)), after_two=(("sep", 0),), second=0)
# XLNet was trained and fine-tuned on `paragraph <sep> question <sep> <cls>`.
XLNET = Layout(
    before=(),
    after_one=(("sep", 0), ("cls", 2)),
    after_two=(("sep", 1), ("cls", 2)),
    document="first",
    padding="left",
    padding_type=3,
)


def read_layout(processor: object) -> tuple[Layout, str, str]:
    """Layout and names of [CLS] and [SEP] from the post_processor of a tokenizer.json."""
    fields: Any = processor  # whatever its shape, it fits or is refused
    with suppress(LookupError, TypeError, ValueError):
        fixed = {"BertProcessing": BERT, "RobertaProcessing": ROBERTA}.get(fields["type"])
        if fixed is not None:
            cls, sep = fields["cls"][0], fields["sep"][0]
            if isinstance(cls, str) and isinstance(sep, str):
                return fixed, cls, sep
        given = {name: fields[name] for name in ("single", "pair")}
        names = [part["SpecialToken"]["id"] for part in given["single"] if "SpecialToken" in part]
        for layout in (BERT, ROBERTA, XLNET):
            cls, sep = names if layout.before else reversed(names)
            if isinstance(cls, str) and isinstance(sep, str) and given == layout.template(cls, sep):
                return layout, cls, sep
    raise TokenizerError(
        "the post_processor does not frame texts as [CLS] A [SEP] B [SEP], as <s> A </s></s> B </s> or as "
        "A <sep> B <sep> <cls>; only these frames are supported"
    )
