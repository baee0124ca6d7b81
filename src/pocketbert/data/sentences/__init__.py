"""What sentence vectors can be learnt from: losses with their formulas, and the rows each of them takes."""

from __future__ import annotations

from pocketbert.data.sentences.formats import FORMATS, Format, LossName
from pocketbert.data.sentences.lesson import SentenceLesson, make_loss

__all__ = ["FORMATS", "Format", "LossName", "SentenceLesson", "make_loss"]
