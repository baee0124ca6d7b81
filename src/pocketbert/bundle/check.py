"""Whether a bundled model answers as the one that it was made from: on questions of ours, and on given ones by F1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pocketbert.errors import ExportError
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.tasks.squad.metrics import question_scores
from pocketbert.tasks.squad.questions import Question

_FERRY = (
    "The ferry Halcyon sails from Brannick to the island of Osk twice a day, at 7:40 and at 16:15. The crossing takes "
    "fifty minutes. Tickets cost 12 crowns and are sold on board by the purser, Mr. Aldous Finn; bicycles travel free "
    "of charge. From November to February, when the strait is rough, there is no afternoon boat."
)
_GARDEN = (
    "Elin Marsh laid out the garden behind the school in 2011, on ground where a tannery had stood. She had the soil "
    "tested first, found lead in it, and let 60 tonnes be carried away. Today pupils grow beans, gold potatoes and "
    "pumpkins there. What they harvest is cooked in the canteen, and the seeds go to the library in Port Street."
)
CASES: tuple[tuple[str, str], ...] = (
    ("How long does the crossing take?", _FERRY),
    ("Who sells tickets?", _FERRY),
    ("When is there no afternoon boat?", _FERRY),
    ("What do bicycles cost?", _FERRY),
    ("Who built the lighthouse?", _FERRY),
    ("What had stood on the ground before?", _GARDEN),
    ("How much soil was carried away?", _GARDEN),
    ("Where do the seeds go?", _GARDEN),
    ("What is the name of the teacher's dog?", _GARDEN),
)


@dataclass(frozen=True)
class Check:
    """How a bundled model compares with the one that it was made from."""

    questions: int
    """Built-in questions, all of them answered alike."""
    f1: float | None = None
    """On the given questions, in per cent; None if none were given."""
    source_f1: float | None = None


def check(
    source: QuestionAnswerer,
    bundled: QuestionAnswerer,
    questions: Sequence[Question] | None = None,
    *,
    tolerance: float,
) -> Check:
    """Compare two readers; raises `ExportError` if the second answers otherwise or loses more F1 than tolerated."""
    for question, text in CASES:
        wanted, found = (reader(question, text) for reader in (source, bundled))
        if (wanted.text, wanted.start) != (found.text, found.start):
            raise ExportError(
                f"the bundled model answers {question!r} with {found.text!r}, the one it was made from with "
                f"{wanted.text!r}; nothing was written. Choose another --precision"
            )
    if not questions:
        return Check(len(CASES))
    before, after = (_f1(reader, questions) for reader in (source, bundled))
    if before - after > tolerance:
        raise ExportError(
            f"the bundled model has an F1 of {after:.2f} on {len(questions):,} questions, the one it was made from "
            f"{before:.2f}: more than the tolerance of {tolerance:g} is lost, and nothing was written. "
            "Choose another --precision, or a larger --tolerance"
        )
    return Check(len(CASES), f1=after, source_f1=before)


def _f1(reader: QuestionAnswerer, questions: Sequence[Question]) -> float:
    pairs = ((question.question, question.context) for question in questions)
    texts = [result.text for result in reader.answers(pairs)]
    return 100 * float(question_scores(questions, texts)[1].mean())
