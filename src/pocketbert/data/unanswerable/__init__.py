"""Unanswerable questions made from answerable ones, as people wrote those of SQuAD 2.0: to fool a reader."""

from pocketbert.data.unanswerable.balance import balanced, missing_words
from pocketbert.data.unanswerable.corpus import Corpus
from pocketbert.data.unanswerable.entailment import Pair, from_pairs, read_pairs
from pocketbert.data.unanswerable.example import Answerable, AnswerLike, QuestionLike, Span, Unanswerable
from pocketbert.data.unanswerable.generate import KINDS, generate
from pocketbert.data.unanswerable.harmless import harmless
from pocketbert.data.unanswerable.mixture import hold_out, mix, read_all
from pocketbert.data.unanswerable.squad_json import read_squad_json, squad_json, write_squad_json
from pocketbert.data.unanswerable.wordnet import WordNet

__all__ = [
    "KINDS",
    "AnswerLike",
    "Answerable",
    "Corpus",
    "Pair",
    "QuestionLike",
    "Span",
    "Unanswerable",
    "WordNet",
    "balanced",
    "from_pairs",
    "generate",
    "harmless",
    "hold_out",
    "missing_words",
    "mix",
    "read_all",
    "read_pairs",
    "read_squad_json",
    "squad_json",
    "write_squad_json",
]
