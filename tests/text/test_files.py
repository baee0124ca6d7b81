"""Malformed tokenizer files give a `TokenizerError` that says what is wrong; none can end the process."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pocketbert.errors import TokenizerError
from pocketbert.text import Tokenizer
from pocketbert.text.engine import panics_caught


@pytest.fixture
def tokenizer_json(tiny, tmp_path) -> dict[str, object]:
    tiny.save(tmp_path / "good")
    return json.loads((tmp_path / "good" / "tokenizer.json").read_text())


def write(folder: Path, data: object, name: str = "tokenizer.json") -> Path:
    (folder / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return folder / name


def test_a_file_or_its_folder_may_be_given(tiny, tmp_path):
    tiny.save(tmp_path)
    expected = tiny.encode("the cats")
    for path in (tmp_path, str(tmp_path), tmp_path / "tokenizer.json", tmp_path / "vocab.txt"):
        assert Tokenizer.load(path).encode("the cats") == expected


def test_tokenizer_json_goes_first(tiny, tmp_path):
    tiny.save(tmp_path)
    write(tmp_path, b"nonsense", "vocab.txt")
    assert Tokenizer.load(tmp_path).size == tiny.size
    write(tmp_path, b"nonsense")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json is not valid JSON"):
        Tokenizer.load(tmp_path)


def test_settings_beside_the_file_are_heeded(tiny, tmp_path):
    tiny.save(tmp_path)
    for name in ("tokenizer.json", "vocab.txt"):
        write(tmp_path, {"do_lower_case": False}, "tokenizer_config.json")
        assert Tokenizer.load(tmp_path / name).encode("THE", special=False).tokens == ("[UNK]",)
        write(tmp_path, {"do_lower_case": None}, "tokenizer_config.json")
        assert Tokenizer.load(tmp_path / name).encode("THE", special=False).tokens == ("the",)
        write(tmp_path, {"strip_accents": False}, "tokenizer_config.json")
        assert Tokenizer.load(tmp_path / name).encode("cât", special=False).tokens == ("[UNK]",)


def test_a_cased_tokenizer_json_is_cased_without_a_config(tokenizer_json, tmp_path):
    tokenizer_json["normalizer"]["lowercase"] = False
    assert not Tokenizer.load(write(tmp_path, tokenizer_json)).lowercase


def test_saving_replaces_and_leaves_nothing_behind(tiny, uncased, tmp_path):
    uncased.save(tmp_path / "a" / "b")
    tiny.save(tmp_path / "a" / "b")
    assert Tokenizer.load(tmp_path / "a" / "b").size == tiny.size
    assert len(list((tmp_path / "a" / "b").iterdir())) == 3


def test_line_ends_and_byte_order_marks_of_other_systems(tiny, tmp_path):
    text = "\r\n".join(tiny.vocabulary()) + "\r\n\r\n"
    assert (
        Tokenizer.load(write(tmp_path, b"\xef\xbb\xbf" + text.encode(), "vocab.txt")).vocabulary()
        == tiny.vocabulary()
    )


def test_older_files_are_read(tokenizer_json, tmp_path, tiny):
    del tokenizer_json["model"]["type"]
    tokenizer_json["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    assert Tokenizer.load(write(tmp_path, tokenizer_json)).encode("the", "cat") == tiny.encode("the", "cat")
    tokenizer_json["post_processor"] = tokenizer_json["padding"] = None
    del tokenizer_json["added_tokens"]
    assert Tokenizer.load(write(tmp_path, tokenizer_json)).encode("the", "cat") == tiny.encode("the", "cat")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"\n\n", "vocabulary is empty"),
        (b"[UNK]\n[CLS]\n[SEP]\n\xff\n", r"not UTF-8 \(byte 18\)"),
        (b"[UNK]\n[CLS]\n[SEP]\nthe\ncat\nthe\n", "'the' stands in the vocabulary twice, as 3 and 5"),
        (b"[UNK]\n[CLS]\n[SEP]\n\nthe\n", "word 3 of the vocabulary is ''"),
        (b"[UNK]\n[CLS]\n[SEP]\na\rb\n", r"word 3 of the vocabulary is 'a\\rb'"),
        (b"the\n[CLS]\n", r"no \[SEP\], \[UNK\]"),
    ],
)
def test_malformed_vocabularies(tmp_path, content, complaint):
    with pytest.raises(TokenizerError, match=complaint):
        Tokenizer.load(write(tmp_path, content, "vocab.txt"))


def set_in(*path: str, value: object) -> Callable[[dict], None]:
    def change(data: dict) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


def add(**entry: object) -> Callable[[dict], None]:
    return lambda data: data["added_tokens"].append({"id": 13, "content": "new", "special": False, **entry})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (set_in("model", value=[]), "model type is None"),
        (
            set_in("model", "type", value="WordLevel"),
            "model type is 'WordLevel'; supported: WordPiece, BPE, Unigram",
        ),
        (set_in("model", "type", value=["WordPiece"]), "model type is"),
        (set_in("model", "vocab", value=["the"]), "vocab is .*a dict was expected"),
        (set_in("model", "vocab", value={"the": 99}), "the 6 words need the ids 0 to 5"),
        (set_in("model", "vocab", "the", value=-1), "'the' has the id -1"),
        (set_in("model", "vocab", "the", value=7), "each once"),
        (set_in("model", "vocab", "the", value=2**63), "has the id 9223372036854775808"),
        (set_in("model", "vocab", "the", value=6.0), r"has the id 6\.0"),
        (set_in("model", "vocab", "the", value=True), "has the id True"),
        (set_in("model", "vocab", "\ud800", value=13), "half a character"),
        (set_in("model", "vocab", "", value=13), "word 13 of the vocabulary is ''"),
        (set_in("model", "unk_token", value="<unk>"), "no <unk>"),
        (set_in("model", "unk_token", value="[CLS]"), "share a name"),
        (set_in("model", "unk_token", value=5), "unk_token is 5; a str was expected"),
        (set_in("model", "continuing_subword_prefix", value=""), "continuing_subword_prefix is ''"),
        (set_in("model", "max_input_chars_per_word", value=10**9), "allowed are 1 to 200"),
        (set_in("model", "max_input_chars_per_word", value=True), "an? int was expected"),
        (set_in("normalizer", value=None), "normalizer is None"),
        (set_in("normalizer", "type", value="Precompiled"), "type is 'Precompiled'"),
        (set_in("normalizer", "lowercase", value="yes"), "lowercase is 'yes'; a bool was expected"),
        (set_in("pre_tokenizer", "type", value="FixedLength"), "type is 'FixedLength'"),
        (set_in("post_processor", "single", value=[]), "does not frame texts"),
        (set_in("post_processor", "pair", value=None), "does not frame texts"),
        (set_in("post_processor", value="BertProcessing"), "does not frame texts"),
        (
            set_in("post_processor", value={"type": "BertProcessing", "cls": [[]], "sep": [1]}),
            "does not frame",
        ),
        (set_in("added_tokens", value={}), "added_tokens is {}; a list was expected"),
        (set_in("added_tokens", value=[7]), "an entry of added_tokens is 7"),
        (add(id=12), "needs? the ids|each once"),
        (add(content="the"), "gives 'the' an id of its own"),
        (add(content="\u0301"), "is empty"),
        (add(content=" "), "is empty"),
        (add(content=" [SEP]"), "clashes"),
        (add(content=None), "content is None"),
        (add(lstrip=1), "lstrip is 1"),
    ],
)
def test_malformed_tokenizers(tokenizer_json, tmp_path, change, complaint):
    change(tokenizer_json)
    with pytest.raises(TokenizerError, match=complaint) as caught:
        Tokenizer.load(write(tmp_path, tokenizer_json))
    assert str(tmp_path / "tokenizer.json") in str(caught.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"[1, 2]", "holds a list"),
        (b"[" * 200_000, "not valid JSON|nested too deeply"),
        (b'{"model": ' * 100_000, "not valid JSON|nested too deeply"),
        (b'{"model": {"type": "WordPiece", "vocab": {"a": 0, "a": 1}}}', "the key 'a' stands twice"),
        (b'{"model": ' + b"9" * 5000 + b"}", "not valid JSON|model type"),
        (b'{"model": NaN}', "model type is None"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
    ],
)
def test_what_is_no_tokenizer_at_all(tmp_path, content, complaint):
    with pytest.raises(TokenizerError, match=complaint):
        Tokenizer.load(write(tmp_path, content))


def test_places_where_no_tokenizer_is(tmp_path):
    with pytest.raises(TokenizerError, match="has neither a tokenizer"):
        Tokenizer.load(tmp_path)
    with pytest.raises(TokenizerError, match="does not exist"):
        Tokenizer.load(tmp_path / "vocab.txt")
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(TokenizerError, match="is not a file"):
        Tokenizer.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TokenizerError, match="is not a file"):
        Tokenizer.load(tmp_path / "pipe")  # and never waits for somebody to write into it
    with (tmp_path / "vocab.txt").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(TokenizerError, match="larger than 32 MB"):
        Tokenizer.load(tmp_path / "vocab.txt")


def test_added_words_keep_their_ids_in_a_batch(tiny, tmp_path):
    tiny.save(tmp_path)
    data = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    data["added_tokens"].append({"id": tiny.size, "content": "qqq", **flags})
    write(tmp_path, data, "tokenizer.json")
    tokenizer = Tokenizer.load(tmp_path)
    many = ["qqq", "a qqq b", "b"]
    assert tokenizer.ids(many)[0] == [tiny.size]
    assert tokenizer.ids(many) == [list(tokenizer.encode(text, special=False).ids) for text in many]


def test_words_added_beside_a_vocabulary_are_not_forgotten(tiny, tmp_path):
    tiny.save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    write(tmp_path, {}, "added_tokens.json")
    assert Tokenizer.load(tmp_path).size == 13
    write(tmp_path, {"new": 13}, "added_tokens.json")
    with pytest.raises(TokenizerError, match="adds words"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt"])
def test_no_flipped_byte_gets_further_than_an_error(tiny, tmp_path, name):
    tiny.save(tmp_path)
    good = (tmp_path / name).read_bytes()
    chance = random.Random(name)
    refused = 0
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(bad))
            match chance.randrange(3):
                case 0:
                    bad[place] ^= 1 << chance.randrange(8)
                case 1:
                    del bad[place : place + chance.randint(1, 20)]
                case 2:
                    bad[place:place] = bad[chance.randrange(len(bad)) :][: chance.randint(1, 20)]
        try:
            tokenizer = Tokenizer.load(write(tmp_path, bytes(bad), name))
        except TokenizerError:
            refused += 1
        else:
            encoding = tokenizer.encode("The cats, \0 [SEP] sat é中", "cats")
            assert max(encoding.ids) < tokenizer.size
            tokenizer.decode(encoding.ids)
    assert refused > 20


def test_a_panic_of_the_library_is_an_error_like_others():
    from tokenizers import Tokenizer as Library

    # A known panic: a merge that is longer than the longest word of the vocabulary.
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]}
    data = {"version": "1.0", "added_tokens": [], "model": model}
    with pytest.raises(TokenizerError, match="the tokenizer failed"), panics_caught():
        Library.from_str(json.dumps(data))
    with pytest.raises(KeyboardInterrupt), panics_caught():
        raise KeyboardInterrupt
