"""Whether the right paragraph is found, and the right answer read, by words, by vectors and by both.

Every paragraph of the data is a document of its own. A question that has an answer finds its paragraph if a passage of
it is among the best 1, 5 or 20, and its answer if one of these passages holds it where it stands in the data. Then the
reader reads the best passages with their neighbours and has to answer; its words are scored as SQuAD does it. Words
that another paragraph would have allowed, too, count as wrong, so all numbers are lower bounds.

`--beside` names more files: their paragraphs are in the index, too, and nobody asks about them.

On a smaller sample of paragraphs the same is compared with reading all of them for every question.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from pocketbert.runtime.embed import Embedder
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.search.ask import Library
from pocketbert.search.index import Indexer
from pocketbert.search.models import settings_for
from pocketbert.search.rank import By, Hit, Searcher
from pocketbert.search.sqlite import SqliteStore
from pocketbert.search.store import Filter, joined
from pocketbert.tasks.squad.metrics import question_scores
from pocketbert.tasks.squad.questions import Question
from pocketbert.tasks.squad.reading import read_questions

WAYS = get_args(By)
DEPTHS = (1, 5, 20)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--beside", nargs="*", default=[], help="SQuAD JSON files nobody asks about")
    parser.add_argument("--reader", help="model folder [the embedded reader]")
    parser.add_argument(
        "--questions", type=int, default=500, help="so many, drawn from all that have an answer"
    )
    parser.add_argument("--passages", type=int, default=20, help="passages that are read")
    parser.add_argument("--sample", type=int, default=100, help="paragraphs of the smaller sample")
    parser.add_argument("--sample_questions", type=int, default=50, help="questions on the smaller sample")


def measure(options: argparse.Namespace) -> dict[str, object]:
    questions = [one for one in read_questions(options.data, on_bad="skip") if one.answers]
    contexts = sorted({one.context for one in questions})
    beside = {one.context for one in read_questions(options.beside, on_bad="skip")}
    generator = random.Random(options.seed)
    some = set(generator.sample(contexts, min(options.sample, len(contexts))))
    embedder = Embedder.load(options.embedder, threads=options.threads)
    reader = QuestionAnswerer.load(options.reader, threads=options.threads)
    with tempfile.TemporaryDirectory() as folder:
        whole = Shelf.make(Path(folder) / "whole", sorted({*contexts, *beside}), embedder)
        small = Shelf.make(Path(folder) / "small", sorted(some), embedder)
        asked = drawn(questions, whole, options.questions, generator)
        fewer = drawn(questions, small, options.sample_questions, generator)
        report = {
            "embedder": Path(options.embedder).name if options.embedder else "the embedded embedder",
            "passages_read": options.passages,
            "all": compared(whole, asked, reader, options.passages, everything=False),
            "sample": compared(small, fewer, reader, options.passages, everything=True),
        }
        whole.store.close()
        small.store.close()
    return report


@dataclass
class Shelf:
    """Paragraphs in an index, each of them a document."""

    searcher: Searcher
    store: SqliteStore
    paths: dict[str, str]
    """The document of each paragraph whose text is kept as it was, so that offsets mean the same."""
    seconds: float
    """That indexing took, vectors and all."""

    @classmethod
    def make(cls, folder: Path, contexts: Sequence[str], embedder: Embedder) -> Shelf:
        (folder / "documents").mkdir(parents=True)
        names = {context: f"documents/{number}.txt" for number, context in enumerate(contexts)}
        for context, name in names.items():
            (folder / name).write_bytes(context.encode(errors="replace"))
        store = SqliteStore.create(folder / "index.db", settings_for(embedder, "benchmark"))
        before = time.perf_counter()
        Indexer(store, folder, embedder).update([folder / "documents"])
        seconds = time.perf_counter() - before
        kept = {
            context: name
            for context, name in names.items()
            if joined(store.around(name, 0, 10**6)) == context
        }
        return cls(Searcher(store, embedder), store, kept, seconds)


def drawn(
    questions: Sequence[Question], shelf: Shelf, count: int, generator: random.Random
) -> list[Question]:
    """So many questions on the paragraphs of a shelf."""
    there = [one for one in questions if one.context in shelf.paths]
    return there if len(there) <= count else generator.sample(there, count)


def compared(
    shelf: Shelf, questions: Sequence[Question], reader: QuestionAnswerer, passages: int, *, everything: bool
) -> dict[str, object]:
    """What each way finds and answers, in turns; `everything` is one way more, which reads all there is."""
    of = shelf.store.count(Filter())
    library = Library(shelf.searcher, reader)
    places: dict[By, list[tuple[float, float]]] = {way: [] for way in WAYS}
    finding: dict[str, list[float]] = {way: [] for way in WAYS}
    asking: dict[str, list[float]] = {}
    texts: dict[str, list[str]] = {}
    for number, question in enumerate(questions, start=1):
        for way in WAYS:
            before = time.perf_counter()
            hits = shelf.searcher.search(question.question, top=max(DEPTHS), by=way)
            finding[way].append(time.perf_counter() - before)
            places[way].append(found_at(question, shelf.paths[question.context], hits))
        rounds: list[tuple[str, By, int]] = [(way, way, passages) for way in WAYS]
        for name, by, count in [*rounds, *([("everything", "words", of)] if everything else [])]:
            before = time.perf_counter()
            asked = library.ask(question.question, passages=count, by=by, threshold=1.0)
            asking.setdefault(name, []).append(time.perf_counter() - before)
            texts.setdefault(name, []).append(asked.answers[0].text if asked.answers else "")
        if sys.stderr.isatty():
            print(f"\r{number} of {len(questions)} questions", end="", file=sys.stderr)
    ways: dict[str, dict[str, object]] = {}
    for name, said in texts.items():
        exact, f1 = question_scores(questions, said)
        ways[name] = {
            "exact": percent(exact),
            "f1": percent(f1),
            "ask_milliseconds": milliseconds(asking[name]),
        }
    for way in WAYS:
        columns = zip(("paragraph", "answer"), np.array(places[way]).T, strict=True)
        ways[way] |= {
            f"{what}_at": {str(depth): percent(column <= depth) for depth in DEPTHS}
            for what, column in columns
        }
        ways[way]["search_milliseconds"] = milliseconds(finding[way])
    there = shelf.store.statistics()
    return {
        "questions": len(questions),
        "paragraphs": there.documents,
        "passages": there.passages,
        "indexing_seconds": round(shelf.seconds, 1),
        "ways": ways,
    }


def found_at(question: Question, path: str, hits: Sequence[Hit]) -> tuple[float, float]:
    """The places, from 1, of the first passage of the right paragraph, and of the first that holds an answer."""
    own = [(place, hit.kept.passage) for place, hit in enumerate(hits, start=1) if hit.kept.path == path]
    holding = [
        place
        for place, passage in own
        if any(passage.start <= answer.start and answer.end <= passage.end for answer in question.answers)
    ]
    return own[0][0] if own else np.inf, holding[0] if holding else np.inf


def percent(values: np.ndarray) -> float:
    return round(100 * float(np.mean(values)), 1)


def milliseconds(seconds: Sequence[float]) -> float:
    return round(1000 * float(np.median(seconds)), 1)
