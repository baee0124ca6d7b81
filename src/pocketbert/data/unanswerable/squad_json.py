"""Questions from and to files in SQuAD's JSON form."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pocketbert.data.unanswerable.example import Answerable, Span, Unanswerable
from pocketbert.errors import InputError


def read_squad_json(path: str | os.PathLike[str]) -> list[Answerable]:
    """All answerable questions of a file, in its order; those marked impossible are left out."""
    file = Path(path)
    try:
        articles = json.loads(file.read_text(encoding="utf-8"))["data"]
        return [
            Answerable(
                id=str(asked["id"]),
                title=article.get("title", file.stem),
                question=asked["question"],
                context=paragraph["context"],
                answers=tuple(Span(answer["text"], answer["answer_start"]) for answer in asked["answers"]),
            )
            for article in articles
            for paragraph in article["paragraphs"]
            for asked in paragraph["qas"]
            if asked["answers"] and not asked.get("is_impossible")
        ]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} is not in SQuAD's form ({error!r}); expected data > paragraphs > context and qas, each with id, "
            "question and answers of text and answer_start"
        ) from error


def squad_json(items: Iterable[Answerable | Unanswerable]) -> dict[str, Any]:
    """The questions as SQuAD 2.0 stores them, each with its `kind`; paragraphs and articles in order of first use."""
    articles: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for item in items:
        articles.setdefault(item.title, {}).setdefault(item.context, []).append(_entry(item))
    return {
        "version": "v2.0",
        "data": [
            {
                "title": title,
                "paragraphs": [{"context": text, "qas": asked} for text, asked in paragraphs.items()],
            }
            for title, paragraphs in articles.items()
        ],
    }


def write_squad_json(path: str | os.PathLike[str], items: Iterable[Answerable | Unanswerable]) -> None:
    Path(path).write_text(json.dumps(squad_json(items), ensure_ascii=False), encoding="utf-8")


def _entry(item: Answerable | Unanswerable) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": item.id, "question": item.question, "kind": item.kind}
    if isinstance(item, Answerable):
        return entry | {"answers": [_span(span) for span in item.answers], "is_impossible": False}
    plausible = [_span(item.plausible)] if item.plausible else []
    return entry | {"answers": [], "plausible_answers": plausible, "is_impossible": True}


def _span(span: Span) -> dict[str, Any]:
    return {"text": span.text, "answer_start": span.start}
