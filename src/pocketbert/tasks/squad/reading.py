"""SQuAD files in and out: every slip is reported with its file, its question and what is allowed.

A source is a JSON file in the form of SQuAD 1.1 or 2.0, a CSV or TSV file with a question a row, or anything that the
`datasets` library reads in the form of the hub's `squad` and `squad_v2` (see `pocketbert.tables`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from pocketbert.errors import InputError
from pocketbert.tables import Row, check_columns, open_set, read_rows
from pocketbert.tables.reading import FORMS
from pocketbert.tasks.squad.questions import Answer, Question, QuestionSet

OnBad = Literal["error", "skip"]
Kind = TypeVar("Kind")


def read_questions(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    split: str = "train",
    on_bad: OnBad = "error",
) -> QuestionSet:
    """Read the questions of one or several sources, checked field by field.

    `split` matters only to sources that `datasets` reads. With `on_bad="skip"` a question that breaks a rule is left
    out and its message kept in `skipped`; a file that is no SQuAD file at all, or a table that lacks a column, is an
    error either way.
    """
    if on_bad not in ("error", "skip"):
        raise InputError(f"on_bad is {on_bad!r}; allowed are 'error' and 'skip'")
    gathering = _Gathering(on_bad)
    for source in [sources] if isinstance(sources, (str, os.PathLike)) else sources:
        name = os.fspath(source)
        if name.endswith(".json"):
            _gather_file(Path(name), gathering)
        elif FORMS.get(Path(name).suffix.lower()) in ("csv", "tsv"):
            _gather_rows(name, gathering)
        else:
            _gather_table(name, split, gathering)
    return QuestionSet(tuple(gathering.questions), tuple(gathering.skipped))


def write_questions(
    path: str | os.PathLike[str], questions: Iterable[Question], *, version: str = "v2.0"
) -> None:
    """Write questions as SQuAD 2.0 JSON: one article per title, one paragraph per context, first come first."""
    articles: dict[str, dict[str, list[object]]] = {}
    for row in questions:
        answers = [{"text": answer.text, "answer_start": answer.start} for answer in row.answers]
        entry = {"id": row.id, "question": row.question, "answers": answers, "is_impossible": row.impossible}
        articles.setdefault(row.title, {}).setdefault(row.context, []).append(entry)
    data = [
        {
            "title": title,
            "paragraphs": [{"context": text, "qas": entries} for text, entries in paragraphs.items()],
        }
        for title, paragraphs in articles.items()
    ]
    # ASCII escapes keep lone surrogates, which UTF-8 cannot hold, readable on the way back.
    Path(path).write_text(json.dumps({"version": version, "data": data}, indent=1) + "\n", encoding="utf-8")


class _Gathering:
    """Collects questions and skipped slips over all sources, so that an id is unique in the whole set."""

    def __init__(self, on_bad: OnBad) -> None:
        self.questions: list[Question] = []
        self.skipped: list[str] = []
        self._on_bad = on_bad
        self._homes: dict[str, str] = {}
        self._contexts: dict[str, str] = {}

    @contextmanager
    def guard(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            if self._on_bad == "error":
                raise
            self.skipped.append(str(error))

    def add(self, question: Question, place: str) -> None:
        if question.id in self._homes:
            raise InputError(
                f"{place}: question {question.id!r}: the id is taken by {self._homes[question.id]}; "
                "ids must be unique over all files that are read together"
            )
        self._homes[question.id] = place
        self.questions.append(question)

    def shared(self, context: str) -> str:
        """One string object per distinct context: tables repeat it for every question."""
        return self._contexts.setdefault(context, context)


def _gather_file(path: Path, gathering: _Gathering) -> None:
    try:
        document = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such file; give a SQuAD JSON file or a data set's name"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a SQuAD JSON file") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a JSON file in UTF-8 ({error}); give a SQuAD JSON file") from error
    articles = _field(document, "data", list, f"{path}: the top level")
    for a, article in enumerate(articles):
        place = f"{path}: data[{a}]"
        with gathering.guard():
            title = _field(article, "title", str, place) if "title" in _mapping(article, place) else ""
            for p, paragraph in enumerate(_field(article, "paragraphs", list, place)):
                with gathering.guard():
                    _gather_paragraph(paragraph, title, f"{place}.paragraphs[{p}]", gathering)


def _gather_paragraph(paragraph: object, title: str, place: str, gathering: _Gathering) -> None:
    context = _context(paragraph, place)
    for q, entry in enumerate(_field(paragraph, "qas", list, place)):
        with gathering.guard():
            where = f"{place}.qas[{q}]"
            gathering.add(_question(entry, title, context, where), where)


def _gather_table(name: str, split: str, gathering: _Gathering) -> None:
    table = open_set(name, split)
    check_columns(name, ("id", "question", "context", "answers"), table.column_names)
    for r, row in enumerate(table):
        place = f"{name}[{split!r}] row {r}"
        with gathering.guard():
            title = _field(row, "title", str, place) if row.get("title") is not None else ""
            context = gathering.shared(_context(row, place))
            answers = row.get("answers")
            if isinstance(
                answers, Mapping
            ):  # the hub keeps answers as columns: {"text": […], "answer_start": […]}
                texts = _field(answers, "text", list, f"{place}: answers")
                starts = _field(answers, "answer_start", list, f"{place}: answers")
                if len(texts) != len(starts):
                    raise InputError(
                        f"{place}: answers has {len(texts)} texts and {len(starts)} starts; each text needs its start"
                    )
                pairs = zip(texts, starts, strict=True)
                row = {**row, "answers": [{"text": text, "answer_start": start} for text, start in pairs]}
            gathering.add(_question(row, title, context, place), place)


def _gather_rows(name: str, gathering: _Gathering) -> None:
    """Rows of text: `question`, `context` and `answer`; `id`, `title` and `answer_start` may be there too."""
    for row in read_rows(name, columns=("question", "context", "answer")):
        with gathering.guard():
            context = gathering.shared(_context(row.cells, row.place))
            entry = {
                "id": row.cells.get("id") or row.place,
                "question": row.cells["question"],
                "answers": _answers_of(row, context),
            }
            gathering.add(_question(entry, row.cells.get("title") or "", context, row.place), row.place)


def _answers_of(row: Row, context: str) -> list[dict[str, object]]:
    """The answer of a row and its place, which is looked for if the row does not say it; none if it is empty."""
    text, start = row.cells["answer"], (row.cells.get("answer_start") or "").strip()
    if not text.strip():
        return []
    if start:
        if not start.isdecimal():
            raise InputError(f"{row.place}: 'answer_start' is {start!r}; it must be a whole number, or empty")
        return [{"text": text, "answer_start": int(start)}]
    text = text.strip()
    found = context.find(text)
    if found < 0:
        raise InputError(
            f"{row.place}: 'answer' is {_short(text)}, which is nowhere in 'context'; it must stand there word for "
            "word, or be empty if the context does not answer the question"
        )
    if context.find(text, found + 1) >= 0:
        raise InputError(
            f"{row.place}: 'answer' is {_short(text)}, which stands in 'context' more than once; say which is meant "
            "by a column 'answer_start', the number of characters before it"
        )
    return [{"text": text, "answer_start": found}]


def _context(paragraph: object, place: str) -> str:
    context = _field(paragraph, "context", str, place)
    if not context.strip():
        raise InputError(f"{place}: 'context' is empty; it must hold the text that is asked about")
    return context


def _question(entry: object, title: str, context: str, place: str) -> Question:
    row = _mapping(entry, place)
    identity = row.get("id")
    if isinstance(identity, bool) or not isinstance(identity, (str, int)):
        raise InputError(f"{place}: 'id' is {identity!r}; it must be a string or a whole number")
    place = f"{place}: question {str(identity)!r}"
    question = _field(row, "question", str, place)
    if not question.strip():
        raise InputError(f"{place}: 'question' is empty; it must hold a text")
    golds = [
        _answer(answer, context, f"{place}: answers[{n}]")
        for n, answer in enumerate(_field(row, "answers", list, place))
    ]
    # SQuAD 1.1 and the hub's tables have no flag: there, a question without answers is an impossible one.
    impossible = not golds if row.get("is_impossible") is None else _field(row, "is_impossible", bool, place)
    if impossible and golds:
        raise InputError(
            f"{place}: 'is_impossible' is true, yet 'answers' holds {len(golds)}; "
            "an impossible question has no answers (plausible ones go to 'plausible_answers')"
        )
    if not impossible and not golds:
        raise InputError(
            f"{place}: 'answers' is empty, yet 'is_impossible' is false; give an answer or say true"
        )
    return Question(str(identity), title, question, context, tuple(golds), impossible)


def _answer(entry: object, context: str, place: str) -> Answer:
    text = _field(entry, "text", str, place)
    start = _field(entry, "answer_start", int, place)
    if not text.strip():
        raise InputError(f"{place}: 'text' is empty; an answer holds words of the context")
    if not 0 <= start <= len(context) - len(text):
        raise InputError(
            f"{place}: 'answer_start' is {start}; for a text of {len(text)} characters in a context of "
            f"{len(context)}, allowed is 0 to {len(context) - len(text)}"
        )
    if not context.startswith(text, start):
        found = context.find(text)
        hint = (
            f"the first place of the text is {found}" if found >= 0 else "the text is nowhere in the context"
        )
        raise InputError(
            f"{place}: 'text' is {_short(text)}, but at 'answer_start' {start} the context has "
            f"{_short(context[start : start + len(text)])}; they must be equal ({hint})"
        )
    return Answer(text, start)


_KINDS: dict[type, str] = {str: "a string", int: "a whole number", bool: "true or false", list: "a list"}


def _field(entry: object, key: str, kind: type[Kind], place: str) -> Kind:
    row = _mapping(entry, place)
    if key not in row:
        raise InputError(
            f"{place} has no {key!r}; it must be {_KINDS[kind]}. It has: {', '.join(map(str, row))}"
        )
    value = row[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InputError(f"{place}: {key!r} is {_short(value)}; it must be {_KINDS[kind]}")
    return value


def _mapping(entry: object, place: str) -> Mapping[str, object]:
    if not isinstance(entry, Mapping):
        raise InputError(f"{place} is {_short(entry)}; it must be an object with named fields")
    return entry


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
