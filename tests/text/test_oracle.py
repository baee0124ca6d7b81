"""Ids, offsets and segment ids are those of transformers; what one saves, the other loads."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from transformers import AutoTokenizer, BertTokenizer

from pocketbert.errors import InputError
from pocketbert.text import Tokenizer

FRAGMENTS = [
    "the", "Quick", "UNBELIEVABLY", "re-", "pre", "ing", "isn't", "3.14", "$5", "€", "—", "…", "«", "»", " ", " ", " ",
    " ", "\n", "\t", "\u00a0", "é", "Ö", "e\u0301", "ñandú", "İ", "ß", "ﬁ", "中", "文字", "東京", "ひら", "が", "한국",
    "Привет", "שלום", "مرحبا", "नमस्ते", "👍", "👩‍👩‍👧", "\0", "\x07", "\u200b", "\ufffd", "[", "]", "##", "x" * 120,
]  # fmt: skip


def strings(count: int) -> list[str]:
    chance = random.Random(7)
    return ["".join(chance.choices(FRAGMENTS, k=chance.randint(0, 30))) for _ in range(count)]


def same(ours: Tokenizer, theirs: BertTokenizer, text: str, pair: str | None = None, **options: int) -> None:
    expected = theirs(text, pair, return_offsets_mapping=True, truncation=bool(options), **options)
    encoding = ours.encode(text, pair, **options)
    assert list(encoding.ids) == expected["input_ids"], (text, pair)
    assert list(encoding.type_ids) == expected["token_type_ids"]
    assert list(encoding.attention_mask) == expected["attention_mask"]
    assert list(encoding.offsets) == expected["offset_mapping"]
    assert list(encoding.sequence_ids) == expected.sequence_ids(0)
    assert list(encoding.word_ids) == expected.word_ids(0)


@pytest.fixture(scope="module", params=[True, False], ids=["uncased", "cased"])
def both(request, uncased, tmp_path_factory) -> tuple[Tokenizer, BertTokenizer]:
    folder = tmp_path_factory.mktemp("tokenizer")
    ours = Tokenizer.from_vocabulary(list(uncased.vocabulary()), lowercase=request.param)
    ours.save(folder)
    return ours, BertTokenizer.from_pretrained(folder)


def test_texts(both):
    for text in strings(300):
        same(*both, text)


def test_pairs_and_truncation(both):
    chance = random.Random(8)
    for text, pair in zip(strings(100), reversed(strings(100)), strict=True):
        pair = pair or "a"  # for transformers an empty second text is none; for us it is a text
        same(*both, text, pair)
        same(*both, text, max_length=chance.randint(3, 20))
        same(*both, text, pair, max_length=chance.randint(5, 60))


def test_decode(both):
    ours, theirs = both
    for text in strings(100):
        ids = ours.encode(text).ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
        assert ours.decode(ids, skip_special=False) == theirs.decode(ids)


@pytest.mark.parametrize("left_out", ["tokenizer.json", "vocab.txt"])
def test_what_we_save_is_read_alike_from_either_file(both, tmp_path, left_out):
    ours, _ = both
    ours.save(tmp_path, model_max_length=128)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    (tmp_path / left_out).unlink()
    again, theirs = Tokenizer.load(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert theirs.model_max_length == 128
    assert (
        again.vocabulary()
        == ours.vocabulary()
        == dict(sorted(theirs.get_vocab().items(), key=lambda x: x[1]))
    )
    assert again.lowercase == ours.lowercase
    for text in strings(30):
        same(again, theirs, text)
        assert again.encode(text) == ours.encode(text)


def test_what_they_save_we_load(both, tmp_path):
    ours, theirs = both
    theirs.save_pretrained(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert again.lowercase == ours.lowercase
    for text in strings(30):
        assert again.encode(text) == ours.encode(text)


@pytest.mark.parametrize("normalized", [True, False])
def test_words_that_were_added(uncased, tmp_path, normalized):
    """Plain ones are found as transformers finds them; special ones stay text, as the five do."""
    uncased.save(tmp_path)
    theirs = BertTokenizer.from_pretrained(tmp_path)
    token = type(theirs.added_tokens_decoder[0])
    theirs.add_tokens([token("covid-19", normalized=normalized), token("Foo Bar", normalized=normalized)])
    theirs.add_tokens([token("[ENTITY]", special=True)], special_tokens=True)
    theirs.add_tokens(
        [token("the", normalized=normalized), token("zyx", single_word=True, normalized=normalized)]
    )
    theirs.save_pretrained(tmp_path / "theirs")
    ours = Tokenizer.load(tmp_path / "theirs")
    ours.save(tmp_path / "ours")
    again, theirs_again = Tokenizer.load(tmp_path / "ours"), BertTokenizer.from_pretrained(tmp_path / "ours")
    assert ours.size == len(theirs) == len(theirs_again) == 30526
    assert (
        ours.vocabulary()
        == again.vocabulary()
        == dict(sorted(theirs.get_vocab().items(), key=lambda x: x[1]))
    )
    for text in [
        "covid-19s and COVID-19",
        "a foo bar FOO BAR Foo Bar",
        "Then the other",
        "zyx zyxs Zyx",
        "é covid-19é",
    ]:
        same(ours, theirs, text)
        same(again, theirs_again, text)
        assert ours.encode(text) == again.encode(text)
    assert ours.id("[ENTITY]") == 30524
    assert ours.encode("[ENTITY]", special=False).tokens == ("[", "entity", "]")
    assert ours.decode([30524, 30522]) == "covid-19"


def test_the_pretrained_weights_come_with_the_embedded_vocabulary(shared, uncased):
    folder: Path = shared / "weights" / "mobilebert-uncased-128"
    stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.load(folder)
    assert stored["model"]["vocab"] == tokenizer.vocabulary() == uncased.vocabulary()
    for text in strings(20):
        assert tokenizer.encode(text) == uncased.encode(text)
    with pytest.raises(InputError):
        tokenizer.token(len(stored["model"]["vocab"]))
