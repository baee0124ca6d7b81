"""What an encoder learns from a corpus: the pre-training objectives of the family."""

from __future__ import annotations

from pocketbert.data.objectives.examples import Example, Examples, Plan
from pocketbert.data.objectives.losses import guessed, inputs_of, loss_of, sentence_logits, word_logits
from pocketbert.data.objectives.masking import Masking
from pocketbert.data.objectives.naming import HEADS, Objective, ObjectiveName, objective
from pocketbert.data.objectives.scoring import score, unigram_baseline

__all__ = [
    "HEADS",
    "Example",
    "Examples",
    "Masking",
    "Objective",
    "ObjectiveName",
    "Plan",
    "guessed",
    "inputs_of",
    "loss_of",
    "objective",
    "score",
    "sentence_logits",
    "unigram_baseline",
    "word_logits",
]
