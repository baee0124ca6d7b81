"""Turn a question into its denial, or take the denial out of it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.example import Edit, QuestionLike, first_answer
from pocketbert.data.unanswerable.words import PAST_VERB, content_stems, has_negation, is_open, replaced, tidy

_AUXILIARY = "did|does|do|was|were|is|are|can|could|will|would|should|must"
_CONTRACTED = {"will": "won't", "can": "can't"}
_EXPANDED = {"can't": "can ", "cannot": "can ", "won't": "will "}
# An auxiliary that follows the question word or its noun: "when did", "which country was".
_ASKED = re.compile(
    rf"\b(?:who|whom|what|which|when|where|why|how)\b(?:\s+[\w'’-]+){{0,3}}?\s+(?P<auxiliary>{_AUXILIARY})\b\s+\w+",
    re.IGNORECASE,
)
# A verb straight after the question word: "who founded".
_DID = re.compile(
    rf"\b(?:who|(?:which|what) (?!(?:{_AUXILIARY})\b)\w+) (?P<verb>{PAST_VERB})\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    rf"\b(?P<auxiliary>{_AUXILIARY})(?:n't|n’t| not)\b|\b(?P<word>can't|cannot|won't|never|not)\b\s*", re.I
)
_CONTRAST = re.compile(r"\b(?:but|instead|rather|only|although|though|while|however)\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"how (?:many|much|long|old|often|far|big|large|tall)\b|what (?:percent|year|time|date|number|century|rating)",
    re.I,
)
# "What was built" may be denied; of "what was his job" the denial is no question that anybody asks.
_DEFINITION = re.compile(
    r"(?:who|what) (?:is|are|was|were)\b(?! (?:\w+ ){0,4}\w+(?:ed|ing|en|wn|lt|ld)\b)", re.IGNORECASE
)


def negate(question: QuestionLike, corpus: Corpus, _rng: random.Random) -> Iterator[Edit]:
    """Deny what the context affirms, or affirm what it denies."""
    text = question.question
    if not is_open(text):
        return
    sentence = corpus.paragraph(question.context).sentences[corpus.answer_sentence(question)].text
    if has_negation(text):
        edited = _affirmed(text) if has_negation(sentence) and not _CONTRAST.search(sentence) else None
    else:
        edited = _denied(text) if _may_deny(question, corpus) else None
    if edited is not None:
        yield Edit(tidy(edited), question.context, first_answer(question))


def _may_deny(question: QuestionLike, corpus: Corpus) -> bool:
    """Only where no sentence about the same thing denies anything: there the denial might be answered."""
    asked = content_stems(question.question)
    paragraph = corpus.paragraph(question.context)
    if len(asked) < 2 or not corpus.is_specific(question):
        return False
    denying = (found for part, found in paragraph.pairs() if has_negation(part.text))
    return not any(asked & found for found in denying)


def _denied(text: str) -> str | None:
    if _AMOUNT.search(text) or _DEFINITION.match(text):
        return None
    if match := _DID.search(text):
        return replaced(text, match.start("verb"), match.start("verb"), "never ")
    if match := _ASKED.search(text):
        auxiliary = match["auxiliary"].lower()
        return replaced(text, *match.span("auxiliary"), _CONTRACTED.get(auxiliary, auxiliary + "n't"))
    return None


def _affirmed(text: str) -> str | None:
    match = _DENIAL.search(text)
    if match is None:
        return None
    return replaced(text, *match.span(), match["auxiliary"] or _EXPANDED.get(match["word"].lower(), ""))
