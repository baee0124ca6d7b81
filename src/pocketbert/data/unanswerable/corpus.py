"""What the kinds may look up about the whole collection: paragraphs, sentences, names and near neighbours."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from pocketbert.data.unanswerable.example import QuestionLike
from pocketbert.data.unanswerable.lexicon import alternatives
from pocketbert.data.unanswerable.names import NameFinder
from pocketbert.data.unanswerable.wordnet import WordNet
from pocketbert.data.unanswerable.words import (
    Sentence,
    content,
    content_stems,
    sentence_of,
    sentences,
    stem,
    stems,
    words,
)
from pocketbert.text.bm25 import Bm25


@dataclass(frozen=True)
class Paragraph:
    """A context with everything that is asked of it again and again."""

    text: str
    sentences: tuple[Sentence, ...]
    sentence_stems: tuple[frozenset[str], ...]
    stems: frozenset[str]

    def pairs(self) -> Iterator[tuple[Sentence, frozenset[str]]]:
        return zip(self.sentences, self.sentence_stems, strict=True)


class Corpus:
    """The paragraphs and questions of a collection, indexed once."""

    def __init__(self, questions: Sequence[QuestionLike], *, wordnet: WordNet | None = None) -> None:
        self._asked: dict[str, list[str]] = defaultdict(list)
        for question in questions:
            self._asked[question.context].append(question.question)
        self.paragraphs = [_paragraph(text) for text in self._asked]
        self._by_text = {paragraph.text: paragraph for paragraph in self.paragraphs}
        self._names = NameFinder(self._by_text)
        self._seen = Counter(word.lower for question in questions for word in words(question.question))
        self._pairs = _pairs_with(alternatives(), self._by_text)
        self.bm25 = Bm25([[stem(word.text) for word in content(text)] for text in self._by_text])
        self.wordnet = wordnet
        self.size = len(questions)
        self.names_in = lru_cache(maxsize=None)(self._names.find)
        self.neighbours = lru_cache(maxsize=None)(self._neighbours)

    def paragraph(self, context: str) -> Paragraph:
        if context not in self._by_text:
            self._by_text[context] = _paragraph(context)
        return self._by_text[context]

    def asked(self, paragraph: Paragraph) -> Sequence[str]:
        """All questions about a paragraph."""
        return self._asked.get(paragraph.text, ())

    def answer_sentence(self, question: QuestionLike) -> int:
        """Index of the sentence in which the first answer begins."""
        return sentence_of(self.paragraph(question.context).sentences, question.answers[0].start)

    def seen(self, word: str) -> int:
        """How often the questions of the collection have a word in this very form."""
        return self._seen[word]

    def goes_with(self, left: str, right: str) -> bool:
        """Whether two words stand side by side somewhere; asked only of words that have alternatives."""
        return (left, right) in self._pairs

    def is_specific(self, question: QuestionLike, *, rare: int = 1) -> bool:
        """Whether a question names something: so many of its words are in its context and in few others."""
        own = self.paragraph(question.context).stems
        return sum(term in own and self.is_rare(term) for term in content_stems(question.question)) >= rare

    def is_rare(self, term: str) -> bool:
        """Whether a stem is in no more than one paragraph of a hundred; in a small collection, in three."""
        return self.bm25.frequency(term) <= max(3, len(self.paragraphs) // 100)

    def nearest(self, question: QuestionLike, count: int) -> list[Paragraph]:
        """The paragraphs that share most with a question, its own excepted."""
        best = self.bm25.nearest(content_stems(question.question), count + 1)
        return [self.paragraphs[index] for index in best if self.paragraphs[index].text != question.context][
            :count
        ]

    def _neighbours(self, context: str) -> tuple[Paragraph, ...]:
        """The ten paragraphs most like this one: its article, where a file has no articles."""
        best = self.bm25.nearest(content_stems(context), 11)
        return tuple(self.paragraphs[index] for index in best if self.paragraphs[index].text != context)


def _paragraph(text: str) -> Paragraph:
    parts = tuple(sentences(text))
    found = tuple(frozenset(stems(part.text)) for part in parts)
    return Paragraph(text, parts, found, frozenset().union(*found))


def _pairs_with(wanted: Container[str], texts: Iterable[str]) -> set[tuple[str, str]]:
    """All neighbouring words of the texts of which one is wanted."""
    return {
        (left.lower, right.lower)
        for text in texts
        for left, right in pairwise(words(text))
        if left.lower in wanted or right.lower in wanted
    }
