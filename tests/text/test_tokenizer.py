"""Ids, tokens, pairs, padding, truncation and the way back, on texts small enough to check by hand."""

from __future__ import annotations

import copy
import doctest
import importlib
import subprocess
import sys

import numpy as np
import pytest

from pocketbert.errors import InputError, TokenizerError
from pocketbert.text import Tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def test_googles_own_example():
    words = ["[UNK]", "[CLS]", "[SEP]", "want", "##want", "##ed", "wa", "un", "runn", "##ing", ","]
    tokenizer = Tokenizer.from_vocabulary(words)
    encoding = tokenizer.encode("UNwant\u00e9d,running", special=False)
    assert encoding.tokens == ("un", "##want", "##ed", ",", "runn", "##ing")
    assert encoding.ids == (7, 4, 5, 10, 8, 9)
    assert encoding.word_ids == (0, 0, 0, 1, 2, 2)
    assert tokenizer.encode("unwantedX running", special=False).tokens == ("[UNK]", "runn", "##ing")


def test_one_text_has_all_its_fields(tiny):
    encoding = tiny.encode("The cats, sat")
    assert encoding.tokens == ("[CLS]", "the", "cat", "##s", ",", "sat", "[SEP]")
    assert encoding.ids == (2, 6, 7, 8, 11, 12, 3)
    assert encoding.type_ids == (0,) * 7
    assert encoding.attention_mask == (1,) * 7
    assert encoding.offsets == ((0, 0), (0, 3), (4, 7), (7, 8), (8, 9), (10, 13), (0, 0))
    assert encoding.sequence_ids == (None, 0, 0, 0, 0, 0, None)
    assert encoding.word_ids == (None, 0, 1, 1, 2, 3, None)
    assert encoding.truncated == 0
    assert len(encoding) == 7


def test_a_pair_counts_offsets_and_words_in_its_own_text(tiny):
    encoding = tiny.encode("cat", "the cats")
    assert encoding.tokens == ("[CLS]", "cat", "[SEP]", "the", "cat", "##s", "[SEP]")
    assert encoding.type_ids == (0, 0, 0, 1, 1, 1, 1)
    assert encoding.sequence_ids == (None, 0, None, 1, 1, 1, None)
    assert encoding.offsets == ((0, 0), (0, 3), (0, 0), (0, 3), (4, 7), (7, 8), (0, 0))
    assert encoding.word_ids == (None, 0, None, 0, 1, 1, None)


def test_texts_may_be_empty(tiny):
    assert tiny.encode("").tokens == ("[CLS]", "[SEP]")
    assert tiny.encode("", "").type_ids == (0, 0, 1)
    assert tiny.encode(" \t\n", special=False).ids == ()
    assert tiny.encode_batch([]).input_ids.shape == (0, 0)
    assert tiny.encode_batch([""], special=False, pad_to=3).input_ids.tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("word", [*SPECIAL, "[sep]", "[unused7]", "##ing"])
def test_special_tokens_written_out_are_text(uncased, cased, word):
    for tokenizer in (uncased, cased):
        for text in (word, f"a {word} b", f"a{word}b", word * 3):
            ids = tokenizer.encode(text, special=False).ids
            assert not set(ids) & (tokenizer.special_ids - {tokenizer.unk_id}), text
            assert tokenizer.vocabulary().get(word, -1) not in set(ids) - {tokenizer.unk_id}, text


def test_a_special_token_stays_text_even_if_its_name_is_a_word(tmp_path):
    (tmp_path / "vocab.txt").write_text("unknown\nstart\nstop\n[PAD]\n[MASK]\nstar\n##t\n")
    (tmp_path / "tokenizer_config.json").write_text(
        '{"unk_token": "unknown", "cls_token": {"content": "start"}, "sep_token": "stop"}'
    )
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.encode("start").tokens == ("start", "star", "##t", "stop")
    assert tokenizer.encode("stop unknown", special=False).tokens == ("unknown", "unknown")


def test_truncation_is_counted(tiny):
    encoding = tiny.encode("the cats, sat", max_length=4)
    assert encoding.tokens == ("[CLS]", "the", "cat", "[SEP]")
    assert encoding.truncated == 3
    assert tiny.encode("the cats, sat", max_length=7).truncated == 0
    assert tiny.encode("the cats, sat", max_length=2, special=False).tokens == ("the", "cat")
    batch = tiny.encode_batch(["the cats, sat", "the cats"], max_length=4)
    assert [encoding.truncated for encoding in batch.encodings] == [3, 1]
    assert batch.truncated == 4


@pytest.mark.parametrize(
    ("first", "second", "room", "kept"),
    [(10, 1, 6, (5, 1)), (1, 10, 6, (1, 5)), (10, 10, 7, (3, 4)), (11, 10, 7, (4, 3)), (4, 9, 8, (4, 4))],
)
def test_of_a_pair_the_longer_text_is_cut_first(tiny, first, second, room, kept):
    encoding = tiny.encode("cat " * first, "sat " * second, max_length=room + 3)
    assert (encoding.sequence_ids.count(0), encoding.sequence_ids.count(1)) == kept
    assert encoding.truncated == first + second - room


@pytest.mark.parametrize(
    ("options", "least"),
    [({}, 3), ({"pair": "sat"}, 5), ({"special": False}, 1), ({"pair": "", "special": False}, 2)],
)
def test_a_maximum_without_room_is_an_error(tiny, options, least):
    tiny.encode("cat", **options, max_length=least)
    for max_length in (least - 1, 0, -1):
        with pytest.raises(InputError, match=f"give at least {least}$"):
            tiny.encode("cat", **options, max_length=max_length)


def test_a_batch_is_its_texts_padded(uncased):
    texts = ["short", "a little longer than that", ""]
    pairs = ["x", "", "some more words"]
    for given in (None, pairs):
        batch = uncased.encode_batch(texts, given, pad_to=16)
        assert len(batch) == 3
        for row, (text, pair) in enumerate(zip(texts, given or [None] * 3, strict=True)):
            single = uncased.encode(text, pair)
            padding = [0] * (16 - len(single))
            assert batch.encodings[row] == single
            assert batch.input_ids[row].tolist() == [*single.ids, *padding]
            assert batch.attention_mask[row].tolist() == [*single.attention_mask, *padding]
            assert batch.token_type_ids[row].tolist() == [*single.type_ids, *padding]
    assert {array.dtype for array in batch.arrays().values()} == {np.dtype("int64")}
    assert list(batch.arrays()) == ["input_ids", "attention_mask", "token_type_ids"]
    assert uncased.encode_batch(texts).input_ids.shape == (3, 7)


def test_wrong_arguments_say_what_to_do(tiny):
    with pytest.raises(InputError, match="longest row has 4 tokens"):
        tiny.encode_batch(["the cat"], pad_to=3)
    with pytest.raises(InputError, match="list of texts"):
        tiny.encode_batch("the cat")
    with pytest.raises(InputError, match="2 texts came with 1 second"):
        tiny.encode_batch(["a", "b"], ["c"])
    with pytest.raises(InputError, match="a text is bytes, not str"):
        tiny.encode(b"cat")
    with pytest.raises(InputError, match="a text is NoneType"):
        tiny.encode_batch(["cat", None])
    with pytest.raises(InputError, match="0 to 12"):
        tiny.token(13)
    with pytest.raises(InputError, match="0 to 12"):
        tiny.decode([-1])
    with pytest.raises(InputError, match="'dog' is not a word"):
        tiny.id("dog")
    with pytest.raises(InputError, match="list of words"):
        Tokenizer.from_vocabulary("the cat")


def test_decode_goes_back(uncased):
    text = "why is it (really) unaffable? [sep]"
    encoding = uncased.encode(text)
    assert uncased.decode(encoding.ids) == "why is it ( really ) unaffable? [ sep ]"
    assert uncased.decode(encoding.ids, skip_special=False).startswith("[CLS] why is it")
    assert uncased.decode(np.array(encoding.ids)) == uncased.decode(encoding.ids)
    assert uncased.decode([]) == ""


def test_what_a_tokenizer_knows_of_itself(uncased, cased, tiny):
    ids = (uncased.pad_id, uncased.unk_id, uncased.cls_id, uncased.sep_id, uncased.mask_id)
    assert ids == (0, 100, 101, 102, 103)
    assert uncased.special_ids == set(ids)
    assert (uncased.size, uncased.lowercase, cased.lowercase) == (30522, True, False)
    assert repr(cased) == "<Tokenizer of 30522 words, cased>"
    vocabulary = tiny.vocabulary()
    assert all(
        tiny.token(position) == word and tiny.id(word) == position for word, position in vocabulary.items()
    )
    vocabulary.clear()
    assert tiny.size == 13
    kinds = {
        "[PAD]": "special",
        "[unused0]": "unused",
        "the": "word",
        "##s": "continuation",
        "c": "character",
    }
    assert {word: tiny.kind(tiny.id(word)) for word in kinds} == kinds


def test_a_vocabulary_without_padding_or_mask_works_until_they_are_needed():
    tokenizer = Tokenizer.from_vocabulary(["[UNK]", "[CLS]", "[SEP]", "cat"])
    assert tokenizer.encode("cat").ids == (1, 3, 2)
    with pytest.raises(TokenizerError, match=r"no \[PAD\]"):
        tokenizer.encode_batch(["cat"])
    with pytest.raises(TokenizerError, match=r"no \[MASK\]"):
        tokenizer.mask_id  # noqa: B018 - the access is the test


def test_case_is_kept_or_not(uncased, cased):
    assert uncased.encode("ÉCOLE école", special=False).tokens == ("ecole", "ecole")
    assert cased.encode("École", special=False).tokens == ("[UNK]",)  # an uncased vocabulary has no capitals
    assert cased.encode("ecole", special=False).tokens == ("ecole",)


def test_copies_are_their_own(tiny):
    assert copy.deepcopy(tiny).encode("the cats") == tiny.encode("the cats")


@pytest.mark.parametrize("name", ["encoding", "tokenizer", "windows", "words"])
def test_the_examples_in_the_docstrings_hold(name):
    module = importlib.import_module(f"pocketbert.text.{name}")
    result = doctest.testmod(module, extraglobs={"Tokenizer": Tokenizer})
    assert result.attempted > 0
    assert result.failed == 0


def test_importing_the_room_imports_nothing_heavy():
    code = "import sys, pocketbert.text; print({'torch', 'onnxruntime', 'numpy', 'tokenizers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
