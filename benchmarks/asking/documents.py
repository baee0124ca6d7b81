"""Questions on long documents: files that have them, and paragraphs joined to some."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable
from dataclasses import replace

from pocketbert.tasks.squad.questions import Answer, Question
from pocketbert.tasks.squad.reading import read_questions

GAP = "\n\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", required=True, help="SQuAD JSON files")
    parser.add_argument("--words", type=int, default=0, help="join paragraphs to documents of so many words")
    parser.add_argument("--limit", type=int, default=0, help="so many questions, spread evenly over all")
    parser.add_argument("--seed", type=int, default=0, help="in which order paragraphs are joined")


def questions_of(options: argparse.Namespace) -> list[Question]:
    """The questions that the options ask for."""
    questions = list(read_questions(options.data, on_bad="skip"))
    if options.words:
        questions = joined(questions, words=options.words, seed=options.seed)
    if options.limit and options.limit < len(questions):
        step = len(questions) / options.limit
        questions = [questions[int(number * step)] for number in range(options.limit)]
    return questions


def joined(questions: Iterable[Question], *, words: int, seed: int = 0) -> list[Question]:
    """The same questions, each on a document made of its own paragraph and of others.

    Paragraphs are shuffled over all articles first, so that few others of the same article are beside one: what is
    unanswerable by its own paragraph is then unlikely to be answered by another.
    """
    by_context: dict[str, list[Question]] = {}
    for question in questions:
        by_context.setdefault(question.context, []).append(question)
    contexts = sorted(by_context)
    random.Random(seed).shuffle(contexts)
    found: list[Question] = []
    group: list[str] = []
    for context in contexts:
        group.append(context)
        if sum(len(part.split()) for part in group) >= words:
            found += _on_document(group, by_context)
            group = []
    return found or _on_document(
        group, by_context
    )  # what is left over makes no document, unless it is all there is


def _on_document(group: list[str], by_context: dict[str, list[Question]]) -> list[Question]:
    document = GAP.join(group)
    found, start = [], 0
    for context in group:
        for question in by_context[context]:
            answers = tuple(Answer(answer.text, answer.start + start) for answer in question.answers)
            found.append(replace(question, context=document, answers=answers))
        start += len(context) + len(GAP)
    return found
