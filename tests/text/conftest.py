"""Tokenizers for the tests of this room: the embedded one, a cased twin and a tiny one."""

from __future__ import annotations

import pytest

from pocketbert.text import Tokenizer

TINY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[unused0]",
    "the",
    "cat",
    "##s",
    "c",
    "##a",
    ",",
    "sat",
]


@pytest.fixture(scope="session")
def uncased() -> Tokenizer:
    return Tokenizer.load()


@pytest.fixture(scope="session")
def cased(uncased: Tokenizer) -> Tokenizer:
    return Tokenizer.from_vocabulary(list(uncased.vocabulary()), lowercase=False)


@pytest.fixture(scope="session")
def tiny() -> Tokenizer:
    return Tokenizer.from_vocabulary(TINY)
