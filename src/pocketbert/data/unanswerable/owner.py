"""Ask of somebody's brother, boss or neighbour what the context tells of the person."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Edit, QuestionLike, first_answer
from pocketbert.data.unanswerable.word_lists import word_list
from pocketbert.data.unanswerable.words import STOPWORDS, is_open, replaced, stems, tidy

_PEOPLE = re.compile(
    r"\bthe (?:author|writer|reviewer|narrator|poster|king|queen|princess|prince|man|woman|girl|boy|customer|buyer|"
    r"person|speaker|player|redditor|merchant|fisherman)\b(?!['’])"
)
_SEVERAL = re.compile(r"\b(?:or|and|besides)\b", re.IGNORECASE)
_SUBJECT = re.compile(r"\b(?:did|does|do|was|is|has|had|will|would|can|could|should) $", re.IGNORECASE)
_RELATIONS = word_list("relations")


def shift_owner(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Give the person a relative or friend whom the context never mentions, and ask about that one."""
    text = question.question
    if not is_open(text) or _SEVERAL.search(text):
        return
    people = [match.span() for match in _PEOPLE.finditer(text)]
    people += [(name.start, name.end) for name in corpus.names_in(text) if name.kind == "person"]
    ends = [end for start, end in people if _SUBJECT.search(text[:start]) and _stands_alone(text[end:])]
    known = corpus.paragraph(question.context).stems
    relations = [word for word in _RELATIONS if not stems(word) & known]
    if not ends or not relations:
        return
    end = rng.choice(ends)
    for relation in rng.sample(relations, min(2, len(relations))):
        edited = replaced(text, end, end, f"'s {relation}")
        yield Edit(tidy(edited), question.context, first_answer(question))


def _stands_alone(rest: str) -> bool:
    """Whether no noun follows that the person would only describe: `the customer service`."""
    match = re.match(r"\s+([\w'’-]+)(\s+\w+)?", rest)
    if match is None:
        return rest.strip() in ("", "?", ".")
    word = match[1].lower()
    return word != "of" and (
        word in STOPWORDS or word.endswith(("ed", "ing")) or (match[2] is not None and not word.endswith("s"))
    )
