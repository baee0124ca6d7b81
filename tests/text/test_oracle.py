"""Ids, offsets and segment ids of every kind are those of transformers; what one saves, the other loads."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from transformers import (
    AddedToken,
    AlbertTokenizer,
    AutoTokenizer,
    BertTokenizer,
    PreTrainedTokenizerBase,
    RobertaTokenizer,
    XLNetTokenizer,
)

from pocketbert.errors import InputError
from pocketbert.text import Tokenizer
from pocketbert.text.bytepairs import BytePairs
from pocketbert.text.layout import XLNET
from pocketbert.text.unigram import Unigram
from pocketbert.text.wordpiece import WordPiece
from tiny_tokenizers import spiece_bytes, write_albert, write_roberta, write_xlnet

FRAGMENTS = [
    "the", "Quick", "UNBELIEVABLY", "re-", "pre", "ing", "isn't", "3.14", "$5", "€", "—", "…", "«", "»", " ", " ", " ",
    " ", "\n", "\t", "\u00a0", "é", "Ö", "e\u0301", "ñandú", "İ", "ß", "ﬁ", "中", "文字", "東京", "ひら", "が", "한국",
    "Привет", "שלום", "مرحبا", "नमस्ते", "👍", "👩‍👩‍👧", "\0", "\x07", "\u200b", "\ufffd", "[", "]", "##", "x" * 120,
    "(", ")", ".", "``", "''", "'s", "'ll", "  ", "½", "ﷺ", "\u0600", "\x85", "▁", "Ġ", "1,000,", "letters", "Who",
]  # fmt: skip


LOST = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")  # what sentencepiece's table drops
PLANES = ((0x20, 0x250), (0x250, 0x3000), (0x3000, 0xD800), (0xE000, 0x110000))


def strings(count: int, seed: int = 7) -> list[str]:
    """Fragments in any order, and among them any characters of any script."""
    chance = random.Random(seed)

    def fragment() -> str:
        return (
            chance.choice(FRAGMENTS)
            if chance.random() < 0.8
            else chr(chance.randrange(*chance.choice(PLANES)))
        )

    return ["".join(fragment() for _ in range(chance.randint(0, 30))) for _ in range(count)]


def same(
    ours: Tokenizer, theirs: PreTrainedTokenizerBase, text: str, pair: str | None = None, **options: int
) -> None:
    expected = theirs(
        text,
        pair,
        return_offsets_mapping=True,
        return_token_type_ids=True,
        truncation=bool(options),
        **options,
    )
    encoding = ours.encode(text, pair, **options)
    assert list(encoding.ids) == expected["input_ids"], (text, pair)
    assert list(encoding.type_ids) == expected["token_type_ids"]
    assert list(encoding.attention_mask) == expected["attention_mask"]
    # sentencepiece's table moves theirs where it drops what a text, or the part behind a symbol, begins with.
    if not isinstance(ours._settings, Unigram) or not LOST.search(text + (pair or "")):
        assert list(encoding.offsets) == expected["offset_mapping"]
    assert list(encoding.sequence_ids) == expected.sequence_ids(0)
    assert list(encoding.word_ids) == expected.word_ids(0)


KINDS = {
    "roberta": (write_roberta, RobertaTokenizer, {}),
    "roberta with a blank": (write_roberta, RobertaTokenizer, {"add_prefix_space": True}),
    "albert": (write_albert, AlbertTokenizer, {}),
    "albert cased": (write_albert, AlbertTokenizer, {"do_lower_case": False, "keep_accents": True}),
    "xlnet": (write_xlnet, XLNetTokenizer, {}),
    "xlnet uncased": (write_xlnet, XLNetTokenizer, {"do_lower_case": True}),
}


@pytest.fixture(scope="module", params=["uncased", "cased", *KINDS])
def both(request, uncased, tmp_path_factory) -> tuple[Tokenizer, PreTrainedTokenizerBase]:
    folder = tmp_path_factory.mktemp("tokenizer")
    if request.param not in KINDS:
        ours = Tokenizer.from_vocabulary(list(uncased.vocabulary()), lowercase=request.param == "uncased")
        ours.save(folder)
        return ours, BertTokenizer.from_pretrained(folder)
    write, kind, config = KINDS[request.param]
    return Tokenizer.load(write(folder, **config)), kind.from_pretrained(folder)


def test_texts(both):
    for text in strings(500):
        same(*both, text)


def test_pairs_and_truncation(both):
    chance = random.Random(8)
    for text, pair in zip(strings(120), strings(120, seed=9), strict=True):
        pair = pair or "a"  # for transformers an empty second text is none; for us it is a text
        same(*both, text, pair)
        same(*both, text, max_length=chance.randint(3, 20))
        same(*both, text, pair, max_length=chance.randint(6, 60))


def test_batches_are_padded_alike(both):
    ours, theirs = both
    texts = strings(20)
    batch = ours.encode_batch(texts)
    expected = theirs(texts, padding=True, return_token_type_ids=True, return_tensors="np")
    assert batch.input_ids.tolist() == expected["input_ids"].tolist()
    assert batch.attention_mask.tolist() == expected["attention_mask"].tolist()
    real = batch.attention_mask == 1  # transformers 5 forgot that XLNet's padding is a segment of its own
    assert batch.token_type_ids[real].tolist() == expected["token_type_ids"][real].tolist()
    assert set(batch.token_type_ids[~real].tolist()) == {3 if ours.layout == XLNET else 0}


def test_decode(both):
    ours, theirs = both
    for text in strings(100):
        ids = ours.encode(text).ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
        assert ours.decode(ids, skip_special=False) == theirs.decode(ids)


OLDER_FILES = {WordPiece: ["vocab.txt"], BytePairs: ["merges.txt", "vocab.json"], Unigram: []}


@pytest.mark.parametrize("read", ["tokenizer.json", "older files"])
def test_what_we_save_is_read_alike_from_either_file(both, tmp_path, read):
    ours, _ = both
    ours.save(tmp_path, model_max_length=128)
    older = OLDER_FILES[type(ours._settings)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["tokenizer.json", "tokenizer_config.json", *older]
    )
    if read == "older files" and not older:
        return
    for name in ["tokenizer.json"] if read == "older files" else older:
        (tmp_path / name).unlink()
    again, theirs = Tokenizer.load(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert theirs.model_max_length == 128
    assert (
        again.vocabulary()
        == ours.vocabulary()
        == dict(sorted(theirs.get_vocab().items(), key=lambda x: x[1]))
    )
    assert (again.lowercase, again.layout, again.special_ids) == (
        ours.lowercase,
        ours.layout,
        ours.special_ids,
    )
    for text in strings(30):
        same(again, theirs, text)
        same(again, theirs, text, "a pair")
        assert again.encode(text) == ours.encode(text)


def test_what_they_save_we_load(both, tmp_path):
    ours, theirs = both
    theirs.save_pretrained(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert (again.lowercase, again.layout, again.special_ids) == (
        ours.lowercase,
        ours.layout,
        ours.special_ids,
    )
    for text in strings(30):
        assert again.encode(text) == ours.encode(text)
    again.save(tmp_path / "again")
    same(
        Tokenizer.load(tmp_path / "again"),
        AutoTokenizer.from_pretrained(tmp_path / "again"),
        "Who (or what)?",
    )


@pytest.mark.parametrize("name", ["roberta", "albert", "xlnet"])
@pytest.mark.parametrize("normalized", [True, False])
def test_words_that_were_added_to_the_others(tmp_path, name, normalized):
    write, kind, _ = KINDS[name]
    theirs = kind.from_pretrained(write(tmp_path))
    token = type(next(iter(theirs.added_tokens_decoder.values())))
    theirs.add_tokens([token("covid-19", normalized=normalized), token("Foo Bar", normalized=normalized)])
    theirs.add_tokens([token("[ENTITY]", special=True)], special_tokens=True)
    theirs.add_tokens([token(word, single_word=True, normalized=normalized) for word in ("zyx", "<name>")])
    theirs.save_pretrained(tmp_path / "theirs")
    ours = Tokenizer.load(tmp_path / "theirs")
    ours.save(tmp_path / "ours")
    again, theirs_again = Tokenizer.load(tmp_path / "ours"), AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert ours.size == again.size == len(theirs) == len(theirs_again)
    for text in [
        "covid-19s and COVID-19",
        "a foo bar FOO BAR Foo Bar",
        "zyx zyxs Zyx (zyx)",
        "é covid-19é <name> x",
    ]:
        same(ours, theirs, text)
        same(again, theirs_again, text)
        assert ours.encode(text) == again.encode(text)
    assert ours.id("[ENTITY]") not in ours.encode("[ENTITY]").ids


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


def test_a_mask_that_takes_in_the_blank_before_it_keeps_doing_so(tmp_path):
    """For transformers, which looks for it in a text; roberta-base has it."""
    write_roberta(tmp_path)
    mask = AddedToken("<mask>", lstrip=True, special=True, normalized=False)
    theirs = RobertaTokenizer.from_pretrained(tmp_path, mask_token=mask)
    theirs.save_pretrained(tmp_path / "theirs")
    Tokenizer.load(tmp_path / "theirs").save(tmp_path / "ours")
    again = AutoTokenizer.from_pretrained(tmp_path / "ours")
    text = "The <mask> reads."
    assert again(text)["input_ids"] == theirs(text)["input_ids"]
    assert again(text)["input_ids"] != RobertaTokenizer.from_pretrained(tmp_path)(text)["input_ids"]


def test_what_transformers_takes_for_granted_is_not_left_to_it(tmp_path):
    """Its ALBERT has <unk> at 1, its RoBERTa two </s> between texts, whatever the files say."""
    names = [("<unk>", 0.0, 2), *((word, 0.0, 3) for word in ("<pad>", "[CLS]", "[SEP]", "[MASK]"))]
    pieces = [
        *names,
        *((piece, -2.0 - place, 1) for place, piece in enumerate(("▁", "▁the", "s", "t", "h", "e"))),
    ]
    (tmp_path / "spiece.model").write_bytes(spiece_bytes(pieces))
    ours = Tokenizer.load(tmp_path)
    ours.save(tmp_path / "ours")
    same(ours, AutoTokenizer.from_pretrained(tmp_path / "ours"), "thes (x) 中 the", "he x")
    write_roberta(tmp_path / "bpe")
    Tokenizer.load(tmp_path / "bpe").save(tmp_path / "bpe")
    data = json.loads((tmp_path / "bpe" / "tokenizer.json").read_text(encoding="utf-8"))
    data["post_processor"] = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
    (tmp_path / "bpe" / "tokenizer.json").write_text(json.dumps(data))
    ours = Tokenizer.load(tmp_path / "bpe")
    ours.save(tmp_path / "framed")
    theirs = AutoTokenizer.from_pretrained(tmp_path / "framed")
    assert theirs("the reader", "it's")["input_ids"] == list(ours.encode("the reader", "it's").ids)


def test_the_pretrained_weights_come_with_the_embedded_vocabulary(shared, uncased):
    folder: Path = shared / "weights" / "mobilebert-uncased-128"
    stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.load(folder)
    assert stored["model"]["vocab"] == tokenizer.vocabulary() == uncased.vocabulary()
    for text in strings(20):
        assert tokenizer.encode(text) == uncased.encode(text)
    with pytest.raises(InputError):
        tokenizer.token(len(stored["model"]["vocab"]))
