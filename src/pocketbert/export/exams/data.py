"""What a model is examined with: files, which of their columns hold what, and the exam that fits its head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from pocketbert.errors import InputError
from pocketbert.export.exams import classes, questions, sentences, tags, words
from pocketbert.export.gate import Exam
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.tasks.tags.sentences import Form
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import read_sentence_config

Examine = Callable[[Any, Tokenizer, Path], Exam]
"""Model, tokenizer and the folder that they are from -> its exam."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """Files or sets that the model has not learnt from, and how to read them."""

    files: tuple[str, ...]
    limit: int | None = None
    text: str | None = None
    text_pair: str | None = None
    label: str | None = None
    columns: tuple[str, ...] | None = None
    format: Form | None = None
    column: str | None = None


# Head -> how its data is read, and which fields of `Data` it knows besides files and limit.
Kind = Literal[
    "question-answering", "classification", "tags", "masked-lm", "pretraining", "sentences", "none"
]
_TABLE = ("text", "columns")
_KNOWN: dict[Kind, tuple[str, ...]] = {
    "question-answering": (),
    "classification": (*_TABLE, "text_pair", "label"),
    "tags": ("format", "column"),
    "masked-lm": _TABLE,
    "pretraining": _TABLE,
    "sentences": (*_TABLE, "text_pair", "label"),
    "none": _TABLE,
}


def examine(data: Data) -> Examine:
    """How a model, whatever its head, is examined with data."""

    def make(model: Any, tokenizer: Tokenizer, source: Path) -> Exam:
        head: Any = getattr(model, "kind", None) or "none"
        if head == "none" and read_sentence_config(source) is not None:
            head = "sentences"
        if head not in _KNOWN:
            raise InputError(
                f"the model's head is {head}, and there is no exam for it; heads with one are {', '.join(_KNOWN)}. "
                "Leave the data out, and outputs alone are compared"
            )
        known = ("files", "limit", *_KNOWN[head])
        for field in fields(data):
            if getattr(data, field.name) is not None and field.name not in known:
                raise InputError(
                    f"--{field.name} is given, but the model's head is {head}; its data is read with "
                    f"{', '.join(f'--{name}' for name in _KNOWN[head]) or 'none of these options'}"
                )
        return _EXAMS[head](data, model, tokenizer, source)

    return make


def _questions(data: Data, model: Any, tokenizer: Tokenizer, source: Path) -> Exam:
    asked = list(read_questions(data.files, split="validation").questions)[: data.limit]
    return questions.examine(asked)(model, tokenizer, source)


def _classes(data: Data, model: Any, tokenizer: Tokenizer, source: Path) -> Exam:
    given = classes.read_labelled(
        model, source, data.files, text=data.text, pair=data.text_pair, label=data.label, columns=data.columns
    )
    return classes.examine(given, model, tokenizer, source, limit=data.limit)


def _tags(data: Data, model: Any, tokenizer: Tokenizer, source: Path) -> Exam:
    sentences = tags.read_tagged(model, source, data.files, form=data.format, column=data.column)
    return tags.examine(sentences[: data.limit], model, tokenizer, source)


def _sentences(data: Data, _model: Any, tokenizer: Tokenizer, source: Path) -> Exam:
    return sentences.examine(
        data.files,
        source,
        tokenizer,
        text=data.text,
        pair=data.text_pair,
        label=data.label,
        header=data.columns,
        limit=data.limit,
    )


def _words(data: Data, model: Any, tokenizer: Tokenizer, _source: Path) -> Exam:
    texts = words.read_texts(data.files, column=data.text, header=data.columns)[: data.limit]
    return words.examine(texts, model, tokenizer)


_EXAMS: dict[Kind, Callable[[Data, Any, Tokenizer, Path], Exam]] = {
    "question-answering": _questions,
    "classification": _classes,
    "tags": _tags,
    "masked-lm": _words,
    "pretraining": _words,
    "sentences": _sentences,
    "none": _words,
}
