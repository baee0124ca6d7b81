"""Tokenizers for the tests of this room: the embedded one, a cased twin, and a tiny one of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from pocketbert.text import Tokenizer
from tiny_tokenizers import write_albert, write_roberta, write_xlnet

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


@pytest.fixture(scope="session")
def roberta_folder(tmp_path_factory) -> Path:
    return write_roberta(tmp_path_factory.mktemp("roberta"))


@pytest.fixture(scope="session")
def albert_folder(tmp_path_factory) -> Path:
    return write_albert(tmp_path_factory.mktemp("albert"))


@pytest.fixture(scope="session")
def xlnet_folder(tmp_path_factory) -> Path:
    return write_xlnet(tmp_path_factory.mktemp("xlnet"))


@pytest.fixture(scope="session")
def roberta(roberta_folder) -> Tokenizer:
    return Tokenizer.load(roberta_folder)


@pytest.fixture(scope="session")
def albert(albert_folder) -> Tokenizer:
    return Tokenizer.load(albert_folder)


@pytest.fixture(scope="session")
def xlnet(xlnet_folder) -> Tokenizer:
    return Tokenizer.load(xlnet_folder)


@pytest.fixture(scope="session", params=["uncased", "cased", "roberta", "albert", "xlnet"])
def any_kind(request) -> Tokenizer:
    return request.getfixturevalue(request.param)
