"""What a reader is measured by, kept apart from what it learns from."""

from __future__ import annotations

from collections.abc import Iterable

from pocketbert.data.unanswerable.words import words
from pocketbert.tasks.squad.questions import Question
from pocketbert.tasks.squad.reading import read_questions

RUN = 8


class Apart:
    """Knows the sets to measure by: their questions, and every eight words in a row of their texts."""

    def __init__(self, files: Iterable[str]) -> None:
        """Read them, in SQuAD's format."""
        found = read_questions(list(files), on_bad="skip").questions
        self.questions = {_plain(question.question) for question in found}
        contexts = {question.context for question in found}
        self.runs = {run for context in contexts for run in runs(context)}

    def has_text(self, text: str) -> bool:
        """Whether the text shares eight words in a row with one of theirs."""
        return not self.runs.isdisjoint(runs(text))

    def has(self, question: Question) -> bool:
        """Whether the question is theirs, or about a text of theirs."""
        return _plain(question.question) in self.questions or self.has_text(question.context)


def runs(text: str) -> set[str]:
    """All runs of eight words."""
    lower = [word.lower for word in words(text)]
    return {" ".join(lower[start : start + RUN]) for start in range(len(lower) - RUN + 1)}


def _plain(question: str) -> str:
    return " ".join(word.lower for word in words(question))
