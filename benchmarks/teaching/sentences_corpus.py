"""Sentences and pairs to teach an embedder with, from the folders of data that the benchmarks use.

    python benchmarks/teaching/sentences_corpus.py DATA --output FOLDER [--sentences 600000] [--passages 60000]

DATA has corpus/wikipedia-featured and corpus/novels (texts), nli (CSV), qa (SQuAD JSON), retrieval (ReQA, Cranfield)
and glue (STS-B, QNLI). Written are

    sentences.txt   one sentence a line, no two the same, in random order, for `train sentences --loss distill`
    passages.txt    the same of passages, some sentences of a document that follow each other, as an index holds them
    nli.csv         anchor, positive, negative: a premise, what follows from it, what contradicts it
    questions.csv   anchor, positive, negative: a question, the sentence that holds its answer, and of all other
                    sentences the one that has most of its words (BM25)
    asked.csv       the same with passages: the one an index would hold the answer in, and one that looks like it
    sts.csv         sentence1, sentence2, score (0 to 5): the training pairs of STS-B
    counts.json     how many of each, and how many were left out

What an embedder is measured on is never in them: the development and test sets of STS-B, ReQA's test set, QNLI,
Cranfield, SQuAD 2.0's development set and COVID-QA. Those sets are not read for teaching, and whatever else has one of
their texts or sentences, but for case and punctuation, is left out and counted.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from pocketbert.data.corpus.plain import by_file, from_wiki
from pocketbert.search.passages import passages as index_passages
from pocketbert.tables import read_rows
from pocketbert.tasks.sentences.collections import read_collection
from pocketbert.tasks.sentences.retrieval import terms
from pocketbert.text.bm25 import Bm25
from pocketbert.text.sentences import sentence_around, sentences

WIKIPEDIA_SHARE = (
    0.85  # of the sentences that are neither asked about nor inferred from; novels have the rest
)
WORDS = (4, 60)
LONGEST = 400  # characters
PASSAGE = (30, 110)  # words
CAPTION = re.compile(r"\d+jpg\d")  # what stands before each of MPE's premises


class Measured:
    """The texts that embedders are measured on, and how often one of them was met elsewhere."""

    def __init__(self, data: Path) -> None:
        self.keys: set[str] = set()
        self.left_out: Counter[str] = Counter()
        for text in measured_texts(data):
            self.keys.add(key(text))
            self.keys.update(map(key, sentences(text)))
        self.keys.discard("")

    def free(self, source: str, *texts: str) -> bool:
        """Whether none of some texts is measured on; if one is, that is counted."""
        if any(key(text) in self.keys for text in texts):
            self.left_out[source] += 1
            return False
        return True


def key(text: str) -> str:
    """A text but for case, accents' spelling and punctuation."""
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold()))


def tidy(text: str) -> str:
    """A text in one line, with single blanks."""
    return " ".join(text.split())


def measured_texts(data: Path) -> Iterator[str]:
    """All texts of the sets that are only measured on."""
    glue = data / "glue"
    for name in ("dev", "test"):
        for row in read_rows(glue / "STS-B" / f"{name}.tsv", quotes="characters"):
            yield from (str(row.cells["sentence1"]), str(row.cells["sentence2"]))
        for row in read_rows(glue / "QNLI" / f"{name}.tsv", quotes="characters"):
            yield from (str(row.cells["question"]), str(row.cells["sentence"]))
    for path in (data / "retrieval" / "reqa-squad" / "test.json", data / "retrieval" / "cranfield"):
        collection = read_collection([str(path)])
        yield from (*collection.corpus, *collection.queries)
    for name in ("squad2-dev", "covidqa-long"):
        for context, qas in paragraphs(data / "qa" / f"{name}.json"):
            yield context
            yield from (question["question"] for question in qas)


def paragraphs(file: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The paragraphs of a SQuAD file with their questions."""
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            yield paragraph["context"], paragraph["qas"]


def training_questions(data: Path) -> Iterator[tuple[str, str, str]]:
    """Source, question, and the sentence that holds its answer, from sets made for training."""
    reqa = json.loads((data / "retrieval" / "reqa-squad" / "train.json").read_text(encoding="utf-8"))
    for question, answer in zip(reqa["questions"], reqa["answers"], strict=True):
        yield "reqa", tidy(question), tidy(answer)
    for source, question, context, start, end in answered(data):
        first, last = sentence_around(context, start, end)
        yield source, tidy(question), tidy(context[first:last])


def answered(data: Path) -> Iterator[tuple[str, str, str, int, int]]:
    """Source, question, paragraph, and where its answer begins and ends, from sets made for training."""
    for file in sorted((data / "qa").glob("*-train.json")):
        for context, qas in paragraphs(file):
            for asked in qas:
                if asked.get("answers"):
                    answer = asked["answers"][0]
                    start = int(answer["answer_start"])
                    yield file.stem, asked["question"], context, start, start + len(answer["text"])


def questions_on_passages(data: Path, measured: Measured) -> Iterator[tuple[str, str, str]]:
    """Source, question, and the passage that an index would hold its answer in, none with a measured sentence."""
    cut = cache(index_passages)
    for source, question, context, start, end in answered(data):
        whole = [one.text for one in cut(context) if one.start <= start and end <= one.end]
        if whole and measured.free(f"asked.csv: {source}", question, *sentences(whole[0])):
            yield source, tidy(question), tidy(whole[0])


def with_negatives(
    questions: list[tuple[str, str, str]], others: Iterable[str], draw: random.Random
) -> Iterator[tuple[str, str, str]]:
    """Questions with their sentences, and with what BM25 takes for the answer and is not: the words, elsewhere."""
    right: dict[str, set[str]] = {}
    for _, question, sentence in questions:
        right.setdefault(question, set()).add(sentence)
    pool = list(dict.fromkeys((*(sentence for _, _, sentence in questions), *others)))
    index = Bm25([terms(text) for text in pool])
    for _, question, sentence in questions:
        near = (pool[place] for place in index.nearest(terms(question), len(right[question]) + 5))
        any_other = (draw.choice(pool) for _ in pool)  # where nothing else has a word of the question
        wrong = (
            text
            for text in chain(near, any_other)
            if not any(one in text or text in one for one in right[question])
        )
        if (negative := next(wrong, None)) is not None:
            yield question, sentence, negative


def inferences(data: Path) -> Iterator[tuple[str, str, str, str]]:
    """Source, premise, hypothesis and label of all pairs; of several premises each stands alone, without a label."""
    for file in sorted((data / "nli").glob("*/*.csv")):
        for row in read_rows(file, columns=("premise", "hypothesis", "label")):
            premise, hypothesis, label = (str(row.cells[name]) for name in ("premise", "hypothesis", "label"))
            premises = [part.strip() for part in CAPTION.split(premise) if part.strip()]
            for one in premises:
                yield file.parent.name, tidy(one), tidy(hypothesis), label if len(premises) == 1 else ""


def triplets(
    pairs: Iterable[tuple[str, str, str, str]], measured: Measured
) -> Iterator[tuple[str, str, str]]:
    """A premise with what follows and what contradicts, as often as it has both."""
    known: dict[str, dict[str, list[str]]] = {}
    for source, premise, hypothesis, label in pairs:
        if label in ("entailment", "contradiction") and measured.free(
            f"nli.csv: {source}", premise, hypothesis
        ):
            known.setdefault(premise, {}).setdefault(label, []).append(hypothesis)
    for premise, found in known.items():
        for positive, negative in zip(
            found.get("entailment", ()), found.get("contradiction", ()), strict=False
        ):
            yield premise, positive, negative


def fits(text: str) -> bool:
    """Whether a sentence is one: words enough, and not too many."""
    return len(text) <= LONGEST and WORDS[0] <= len(text.split()) <= WORDS[1] and text[0] not in "|{[<"


class Chosen:
    """Sentences without doubles, by the source each came from."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        self.texts: list[str] = []
        self.counts: Counter[str] = Counter()
        self._seen: set[str] = set()

    def add(self, source: str, texts: Iterable[str], *, most: int | None = None) -> None:
        """Add sentences of a source until there are enough of it."""
        for text in texts:
            if most is not None and self.counts[source] >= most:
                return
            text = tidy(text)
            words = key(text)
            if not text or not fits(text) or words in self._seen or not self.measured.free(source, text):
                continue
            self._seen.add(words)
            self.texts.append(text)
            self.counts[source] += 1


def shuffled(documents: Iterable[Iterable[str]], draw: random.Random) -> list[str]:
    """All sentences of some documents, in random order."""
    found = [sentence for document in documents for sentence in document]
    draw.shuffle(found)
    return found


def passages(documents: Iterable[Iterable[str]], measured: Measured, draw: random.Random) -> Iterator[str]:
    """Sentences of documents joined into passages; one with a sentence that is measured on is left out."""
    for document in documents:
        held: list[str] = []
        wanted = draw.randint(*PASSAGE)
        for sentence in map(tidy, document):
            held.append(sentence)
            if sum(len(one.split()) for one in held) >= wanted:
                if measured.free("passages", *held):
                    yield " ".join(held)
                held, wanted = [], draw.randint(*PASSAGE)


def write_lines(file: Path, texts: Iterable[str]) -> None:
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def write_table(file: Path, header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> int:
    """Write a CSV file; returns how many rows there are."""
    kept = list(rows)
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *kept])
    return len(kept)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=600_000)
    parser.add_argument("--passages", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    data, draw = options.data, random.Random(options.seed)
    measured = Measured(data)
    questions = [
        row for row in training_questions(data) if measured.free(f"questions.csv: {row[0]}", *row[1:])
    ]
    chosen = Chosen(measured)
    chosen.add(
        "nli", (text for _, premise, hypothesis, _ in inferences(data) for text in (premise, hypothesis))
    )
    for source, question, answer in training_questions(data):
        chosen.add(f"questions: {source}", (question, answer))
    asked = len(chosen.texts)
    for file in sorted((data / "qa").glob("*-train.json")):
        chosen.add(
            f"paragraphs: {file.stem}",
            (text for context, _ in paragraphs(file) for text in sentences(context)),
        )
    beside = chosen.texts[asked:]  # the other sentences of paragraphs that were asked about
    left = max(0, options.sentences - len(chosen.texts))
    corpus = data / "corpus"
    novels = [one for file in sorted((corpus / "novels" / "corpus").glob("*.txt")) for one in by_file(file)]
    chosen.add("novels", shuffled(novels, draw), most=round((1 - WIKIPEDIA_SHARE) * left))
    articles = [
        one for file in sorted((corpus / "wikipedia-featured").glob("*.txt")) for one in from_wiki(file)
    ]
    chosen.add("wikipedia", shuffled(articles, draw), most=options.sentences - len(chosen.texts))
    draw.shuffle(chosen.texts)

    options.output.mkdir(parents=True, exist_ok=True)
    write_lines(options.output / "sentences.txt", chosen.texts)
    asked_about = [
        sentences(context)
        for file in sorted((data / "qa").glob("*-train.json"))
        for context, _ in paragraphs(file)
    ]
    joined = list(dict.fromkeys(passages([*articles, *asked_about], measured, random.Random(options.seed))))
    random.Random(options.seed).shuffle(joined)
    del joined[options.passages :]
    write_lines(options.output / "passages.txt", joined)
    scored = (
        tuple(str(row.cells[name]) for name in ("sentence1", "sentence2", "score"))
        for row in read_rows(data / "glue" / "STS-B" / "train.tsv", quotes="characters")
    )
    tables = {
        "nli.csv": write_table(
            options.output / "nli.csv",
            ("anchor", "positive", "negative"),
            triplets(inferences(data), measured),
        ),
        "questions.csv": write_table(
            options.output / "questions.csv",
            ("anchor", "positive", "negative"),
            with_negatives(questions, beside, draw),
        ),
        "asked.csv": write_table(
            options.output / "asked.csv",
            ("anchor", "positive", "negative"),
            with_negatives(list(questions_on_passages(data, measured)), (), draw),
        ),
        "sts.csv": write_table(
            options.output / "sts.csv",
            ("sentence1", "sentence2", "score"),
            (row for row in scored if measured.free("sts.csv", *row[:2])),
        ),
    }
    counts = {
        "sentences": len(chosen.texts),
        "passages": len(joined),
        "by_source": dict(chosen.counts),
        "tables": tables,
        "measured_texts": len(measured.keys),
        "left_out": dict(measured.left_out),
    }
    (options.output / "counts.json").write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(counts, indent=2))


if __name__ == "__main__":
    main()
