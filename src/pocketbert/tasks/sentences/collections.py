"""Read retrieval collections: folders as BEIR has them, ReQA's JSON, and Cranfield's three files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pocketbert.errors import InputError
from pocketbert.tables import read_rows
from pocketbert.tables.reading import open_lines
from pocketbert.tasks.sentences.retrieval import Collection

BEIR = ("corpus.jsonl", "queries.jsonl")
CRANFIELD = ("cran.all.1400", "cran.qry", "cranqrel")


def read_collection(files: Sequence[str], *, split: str = "test") -> Collection:
    """A collection: a folder (BEIR's or Cranfield's), a JSON file (ReQA's), or corpus, queries and judgements.

    BEIR: `corpus.jsonl` and `queries.jsonl` with `_id`, `text` and perhaps `title`, and `qrels/<split>.tsv` with
    query-id, corpus-id and score. ReQA: `questions`, `candidates`, and `ground_truths`, places in the candidates.
    """
    paths = [Path(file) for file in files]
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0]
        if all((folder / name).is_file() for name in BEIR):
            return _beir(folder / BEIR[0], folder / BEIR[1], folder / "qrels" / f"{split}.tsv")
        if all((folder / name).is_file() for name in CRANFIELD):
            return _cranfield(*(folder / name for name in CRANFIELD))
        raise InputError(
            f"{folder} holds neither {', '.join(BEIR)} and qrels (BEIR) nor {', '.join(CRANFIELD)} (Cranfield)"
        )
    if len(paths) == 1 and paths[0].suffix == ".json":
        return _reqa(paths[0])
    if len(paths) == 3:
        return _beir(*paths)
    raise InputError(
        f"{len(paths)} files were given; a collection is a folder, a JSON file of ReQA, or three files: corpus, "
        "queries, judgements"
    )


def _beir(corpus: Path, queries: Path, judgements: Path) -> Collection:
    if not judgements.is_file():
        raise InputError(
            f"{judgements}: there is no such file; the judgements are query-id, corpus-id, score"
        )
    texts, places = _named_texts(corpus)
    asked, numbers = _named_texts(queries)
    judged: list[dict[int, float]] = [{} for _ in asked]
    for row in read_rows(judgements, form="tsv", columns=("query-id", "corpus-id", "score")):
        query, text = (str(row.cells[name]) for name in ("query-id", "corpus-id"))
        if query not in numbers or text not in places:
            raise InputError(
                f"{row.place}: {query!r} and {text!r} must be ids of {queries.name} and {corpus.name}"
            )
        if row.number("score") > 0:
            judged[numbers[query]][places[text]] = row.number("score")
    return _of_judged(texts, asked, judged)


def _named_texts(path: Path) -> tuple[list[str], dict[str, int]]:
    texts: list[str] = []
    places: dict[str, int] = {}
    for row in read_rows(path, columns=("_id", "text")):
        title = str(row.cells.get("title") or "")
        places[str(row.cells["_id"])] = len(texts)
        texts.append(f"{title} {row.cells['text']}".strip())
    return texts, places


def _reqa(path: Path) -> Collection:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        texts, asked, truths = data["candidates"], data["questions"], data["ground_truths"]
        judged = [dict.fromkeys(map(int, places), 1.0) for places in truths]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path} is no set of ReQA, with questions, candidates and ground_truths ({error!r})"
        ) from error
    if any(not 0 <= place < len(texts) for places in judged for place in places):
        raise InputError(f"{path}: a ground truth is no place in the {len(texts)} candidates")
    return _of_judged(texts, asked, judged)


def _cranfield(corpus: Path, queries: Path, judgements: Path) -> Collection:
    """Abstracts with titles; queries count by their order, not by the numbers they have in their file."""
    documents = list(_cranfield_entries(corpus))
    texts = [entry.get("W") or entry.get("T", "") for entry in documents]
    places = {entry["I"]: place for place, entry in enumerate(documents)}
    asked = [entry.get("W", "") for entry in _cranfield_entries(queries)]
    judged: list[dict[int, float]] = [{} for _ in asked]
    for number, line in enumerate(open_lines(judgements), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 3 or not 1 <= int(fields[0]) <= len(asked):
            raise InputError(f"{judgements}, line {number}: {line.strip()!r} is no query, document and grade")
        # Grades 1 to 4 fall from a complete answer to slight interest; -1 is no interest.
        grade = int(fields[2])
        if grade > 0 and fields[1] in places:
            judged[int(fields[0]) - 1][places[fields[1]]] = 1.0
    return _of_judged(texts, asked, judged)


def _cranfield_entries(path: Path) -> Iterator[dict[str, str]]:
    entry: dict[str, str] = {}
    field = ""
    for line in open_lines(path):
        begin = re.match(r"\.([A-Z])(?:\s+(\d+))?\s*$", line)
        if begin is None:
            entry[field] = f"{entry.get(field, '')} {line.strip()}".strip()
            continue
        field = begin.group(1)
        if field == "I":
            if entry:
                yield entry
            entry = {"I": begin.group(2) or ""}
    if entry:
        yield entry


def _of_judged(texts: Sequence[str], asked: Sequence[str], judged: Sequence[dict[int, float]]) -> Collection:
    """Queries without a relevant text are left out: no order of the corpus is right for them."""
    kept = [number for number, places in enumerate(judged) if places]
    return Collection(
        tuple(texts), tuple(asked[number] for number in kept), tuple(judged[number] for number in kept)
    )
