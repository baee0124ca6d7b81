"""Texts to tokens: a corpus in any of the usual forms, tokenised once into files that are mapped, not read."""

from __future__ import annotations

from pocketbert.data.corpus.preparing import Progress, prepare
from pocketbert.data.corpus.sources import Corpus, Format, open_corpus
from pocketbert.data.corpus.tokens import Tokens

__all__ = ["Corpus", "Format", "Progress", "Tokens", "open_corpus", "prepare"]
