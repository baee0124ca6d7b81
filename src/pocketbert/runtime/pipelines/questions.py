"""The question-answering pipeline that transformers had until version 5.3: its arguments, its dictionaries.

What it did wrong is mended: scores are probabilities over the whole document, so that windows can be compared; `top_k`
answers are given where there are so many; the first and the last word can be answers; `context[start:end]` is the
answer, always; a question is never cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from pocketbert.errors import InputError
from pocketbert.runtime.answer import Result
from pocketbert.runtime.inputs import AHEAD, is_collection, kind_of
from pocketbert.runtime.options import Options
from pocketbert.runtime.pipelines.arguments import made_of
from pocketbert.runtime.questions import QuestionAnswerer

TASK = "question-answering"
INPUTS: tuple[str, ...] = ("X", "data", "question", "context")

Row: TypeAlias = dict[str, Any]
"""{"score", "start", "end", "answer"}"""


class MissingKeyError(InputError, KeyError):
    """A dictionary without a question or a context; a KeyError too, as it was."""

    __str__ = Exception.__str__  # KeyError would put the message in quotes


class QuestionAnsweringPipeline:
    """Call it with `question=` and `context=`, each a text or a list, or with dictionaries that hold both.

    One question gives {"score", "start", "end", "answer"}, or a list of them if there are several answers; several
    questions give a list of that. The further arguments are the fields of `Arguments`.
    """

    task = TASK

    def __init__(self, reader: QuestionAnswerer, **defaults: Any) -> None:
        self.reader = reader
        self._defaults = defaults
        Arguments.of(defaults)

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        """Answer; a generator of dictionaries is answered by a generator."""
        named = {name: arguments.pop(name) for name in INPUTS if name in arguments}
        chosen = Arguments.of(self._defaults | arguments)
        examples = _examples(inputs, named)
        answered = self._answered(iter(examples), chosen)
        if not hasattr(examples, "__len__"):
            return answered
        rows = list(answered)
        return rows[0] if len(rows) == 1 else rows

    def _answered(self, examples: Iterator[object], arguments: Arguments) -> Iterator[Row | list[Row]]:
        options = arguments.options(self.reader)
        while pairs := [_pair(example) for example in islice(examples, AHEAD)]:
            for question, _ in pairs:
                arguments.check_question(question, self.reader)
            for result in self.reader.results(pairs, options, same=str.lower):
                rows = arguments.rows(result)
                yield rows[0] if len(rows) == 1 else rows


@dataclass(frozen=True)
class Arguments:
    """What the pipeline can be told with each call."""

    top_k: int = 1
    doc_stride: int | None = None
    """Tokens that neighbouring windows share: 128, or half of a shorter window. More than half of the room that the
    question leaves is half of it."""
    max_answer_len: int = 15
    max_seq_len: int | None = None
    """Tokens in a window; None is what the reader was calibrated for, or 384."""
    max_question_len: int | None = None
    """An error for questions of more tokens; None sets no limit but that of the window."""
    handle_impossible_answer: bool = False
    """Whether "" may be an answer, with the probability that there is none."""
    align_to_words: bool = True
    padding: str = "do_not_pad"
    """Without effect, as is the next: batches are made by length here."""
    batch_size: int = 1

    def __post_init__(self) -> None:
        for name in (
            "top_k",
            "max_answer_len",
            "max_seq_len",
            "max_question_len",
            "doc_stride",
            "batch_size",
        ):
            value = getattr(self, name)
            lowest = 0 if name == "doc_stride" else 1
            if value is None and name in ("doc_stride", "max_seq_len", "max_question_len"):
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
                raise InputError(f"{name} is {value!r}; it must be a whole number from {lowest} up")
        for name in ("handle_impossible_answer", "align_to_words"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {getattr(self, name)!r}; it must be True or False")
        self._check_stride(self.max_seq_len)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Arguments:
        """From keyword arguments; one that does not exist is an error that lists those that do."""
        return made_of(cls, given)

    def options(self, reader: QuestionAnswerer) -> Options:
        """The same in the reader's words."""
        window = self.max_seq_len or reader.calibration.window
        self._check_stride(window)
        return Options(
            top_k=self.top_k,
            read="all",
            max_answer_length=self.max_answer_len,
            window=window,
            overlap=min(window // 2, 128) if self.doc_stride is None else self.doc_stride,
            align_to_words=self.align_to_words,
            overlapping=True,
        )

    def _check_stride(self, window: int | None) -> None:
        if self.doc_stride is not None and window is not None and self.doc_stride > window:
            raise InputError(
                f"doc_stride is {self.doc_stride} and max_seq_len is {window}; "
                "windows cannot share more tokens than they have"
            )

    def check_question(self, question: object, reader: QuestionAnswerer) -> None:
        """Refuse a question that is longer than was asked for; it used to be cut."""
        if self.max_question_len is None or not isinstance(question, str):
            return
        length = sum(1 for _ in reader.tokenizer.stream(question))
        if length > self.max_question_len:
            raise InputError(
                f"the question has {length} tokens, and max_question_len is {self.max_question_len}; "
                "shorten the question, or raise the limit"
            )

    def rows(self, result: Result) -> list[Row]:
        """A result as dictionaries, the likeliest first."""
        rows: list[Row] = [
            {"score": answer.score, "start": answer.start, "end": answer.end, "answer": answer.text}
            for answer in result.candidates
        ]
        if self.handle_impossible_answer or not rows:
            rows.append({"score": result.no_answer, "start": 0, "end": 0, "answer": ""})
        return sorted(rows, key=lambda row: -row["score"])[: self.top_k]


def _examples(inputs: tuple[Any, ...], named: dict[str, Any]) -> Iterable[object]:
    """What is to be answered: from positions, from X or data, or from question and context."""
    if inputs and named:
        raise InputError(f"there are inputs both by position and as {', '.join(named)}; give one kind")
    if inputs:
        named = {"X": inputs[0] if len(inputs) == 1 else list(inputs)}
    if set(named) == {"question", "context"}:
        return _paired(named["question"], named["context"])
    if len(named) != 1 or set(named) <= {"question", "context"}:
        raise InputError(
            f"the input is {', '.join(named) or 'nothing'}; give question= and context=, or dictionaries with both"
        )
    (examples,) = named.values()
    if isinstance(examples, Mapping):
        return [examples]
    if not is_collection(examples):
        raise InputError(
            f"the input is {kind_of(examples)}; give a dictionary with question and context, or a list of them"
        )
    return examples


def _paired(question: Any, context: Any) -> list[object]:
    questions = question if isinstance(question, (list, tuple)) else [question]
    contexts = context if isinstance(context, (list, tuple)) else [context] * len(questions)
    if not isinstance(question, (list, tuple)) and isinstance(context, (list, tuple)):
        questions = [question] * len(contexts)
    if len(questions) != len(contexts):
        raise InputError(
            f"there are {len(questions)} questions and {len(contexts)} contexts; give as many of both, or one context"
        )
    return [{"question": each, "context": text} for each, text in zip(questions, contexts, strict=True)]


def _pair(example: object) -> tuple[str, str]:
    if not isinstance(example, Mapping):
        raise InputError(
            f"an example is {kind_of(example)}; it must be a dictionary with question and context"
        )
    for name in ("question", "context"):
        if name not in example:
            raise MissingKeyError(
                f"an example has no {name!r}; it has {', '.join(map(str, example)) or 'nothing'}"
            )
    return example["question"], example["context"]
