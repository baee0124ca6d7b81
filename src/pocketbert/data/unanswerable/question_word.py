"""Ask the same thing for another kind of answer, one the context has not got."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Edit, QuestionLike, first_answer
from pocketbert.data.unanswerable.names import MONTHS, WEEKDAYS
from pocketbert.data.unanswerable.word_lists import word_set
from pocketbert.data.unanswerable.words import tidy, words

_ADVERB = re.compile(r"(?P<word>when|where|why|how)\s+(?=(?:did|was|were|had)\b)", re.IGNORECASE)
# What asks for a place, a manner or a feeling through its verb or preposition cannot ask for anything else.
_BOUND = re.compile(
    r"\b(?:from|to|in|at|on|for|with|about|like|located|called|situated|go|come)\s*\?*$|\bfeel\b|.\b(?:when|after|before)\b",
    re.IGNORECASE,
)
_TIMES = word_set("times") | {name.lower() for name in MONTHS + WEEKDAYS}
_PLACES = word_set("places")
_REASONS = re.compile(
    r"\b(?:because|since|due|so|reasons?|cause[ds]?|causing|therefore|thus|hence|to|for|as|result|resulted|led|why|"
    r"purpose|order|thanks|owing|after|when|if|out of|by|with|want|wanted|need|needed|\w+ing)\b",
    re.IGNORECASE,
)
_LENGTH = (
    r"\d|inch|feet|foot|meter|metre|mile|yard|\bcm\b|\bmm\b|\bkm\b|long|length|wide|width|tall|high|height"
)
_SIZE = r"size|large|small|big|short|shape|round|square|weigh|heavy|light|pound"
_AGE_OR_PRICE = r"\bold\b|age|year|month|price|cost|cheap|expensive|\$|dollar|new\b"
# What a question may begin with, what it may ask for instead, and what in the context might answer that.
_ATTRIBUTES = (
    (
        r"(?P<kept>(?:in )?(?:what|which) )year\b",
        ("month", "season"),
        "season|spring|summer|fall|winter|" + "|".join(MONTHS),
    ),
    (r"(?P<kept>(?:what|which) )colou?r\b", ("size", "shape"), f"{_LENGTH}|{_SIZE}"),
    (
        r"(?P<kept>(?:what|which) )size\b",
        ("color",),
        "colou?r|red|blue|green|black|white|brown|yellow|gray|pink",
    ),
    (
        r"(?P<kept>how )(?:big|large|tall|high|wide|heavy)(?= (?:is|are|was|were)\b)",
        ("old", "expensive"),
        _AGE_OR_PRICE,
    ),
    (r"(?P<kept>how )(?:old|expensive)(?= (?:is|are|was|were)\b)", ("tall", "heavy"), f"{_LENGTH}|{_SIZE}"),
)


def swap_question_word(question: QuestionLike, corpus: Corpus, rng: random.Random) -> Iterator[Edit]:
    """Turn `when did` into `why did`, `what year` into `what month`, where nothing near could serve as an answer."""
    edits = [*_other_adverbs(question, corpus), *_other_attributes(question)]
    rng.shuffle(edits)
    for edited in edits:
        yield Edit(tidy(edited), question.context, first_answer(question))


def _other_adverbs(question: QuestionLike, corpus: Corpus) -> Iterator[str]:
    text = question.question.strip()
    match = _ADVERB.match(text)
    if match is None or _BOUND.search(text) or re.match("how (?:was|were)", text, re.IGNORECASE):
        return
    parts = corpus.paragraph(question.context).sentences
    key = corpus.answer_sentence(question)
    near = " ".join(part.text for part in parts[max(0, key - 1) : key + 2])
    given = match["word"].lower()
    silent = {
        "when": not _has_time(near),
        "where": not _has_place(near, corpus),
        "why": not _REASONS.search(near),
    }
    for word, is_silent in silent.items():
        if is_silent and word != given and (given, word) != ("how", "why"):
            yield f"{word} {text[match.end() :]}"


def _other_attributes(question: QuestionLike) -> Iterator[str]:
    text = question.question.strip()
    for pattern, others, evidence in _ATTRIBUTES:
        match = re.search(pattern, text, re.IGNORECASE)
        if match and not re.search(evidence, question.context, re.IGNORECASE):
            yield from (
                text[: match.start()] + match["kept"] + other + text[match.end() :] for other in others
            )


def _has_time(text: str) -> bool:
    return any(word.lower in _TIMES or word.text[0].isdigit() for word in words(text))


def _has_place(text: str, corpus: Corpus) -> bool:
    return any(word.lower in _PLACES for word in words(text)) or any(
        name.kind in ("place", "country") for name in corpus.names_in(text)
    )
