"""Malformed files of byte-level BPE and Unigram give a `TokenizerError` that says what is wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pocketbert.errors import TokenizerError
from pocketbert.text import Tokenizer
from pocketbert.text.layout import BERT, XLNET, read_layout
from pocketbert.text.sentencepiece import read_sentencepiece
from tiny_tokenizers import field, spiece_bytes, write_albert, write_roberta

ALBERT_PIECES = [
    *(("<pad>", 0.0, 3), ("<unk>", 0.0, 2), ("[CLS]", 0.0, 3), ("[SEP]", 0.0, 3), ("[MASK]", 0.0, 3)),
    *(("(", 0.0, 4), ("▁", -2.0, 1), ("▁the", -1.0, 1), ("s", -3.0, 1)),
]


def test_the_reader_finds_what_sentencepiece_wrote(albert_folder, xlnet_folder):
    from sentencepiece import sentencepiece_model_pb2

    kinds = ["", "normal", "unknown", "control", "user defined", "unused", "byte"]
    for folder in (albert_folder, xlnet_folder):
        data = (folder / "spiece.model").read_bytes()
        theirs = sentencepiece_model_pb2.ModelProto.FromString(data)
        ours = read_sentencepiece(data)
        assert [(piece.text, piece.score, piece.kind) for piece in ours.pieces] == [
            (piece.piece, piece.score, kinds[piece.type]) for piece in theirs.pieces
        ]
        assert ours.characters == theirs.normalizer_spec.precompiled_charsmap != b""
        assert (ours.model, ours.byte_fallback, ours.blank_before) == ("Unigram", False, True)
        again = theirs.SerializeToString(deterministic=True)
        assert read_sentencepiece(again) == ours


def test_a_file_by_hand(tmp_path):
    (tmp_path / "spiece.model").write_bytes(spiece_bytes(ALBERT_PIECES))
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.layout == BERT
    assert tokenizer.encode("the (thes").tokens == ("[CLS]", "▁the", "(", "▁the", "s", "[SEP]")
    assert tokenizer.encode("[CLS]", special=False).tokens == ("▁", "<unk>", "s", "<unk>")
    unknown = field(1, field(99, b"later") + field(1, "▁new".encode()) + b"\x99\x06" + b"12345678")
    (tmp_path / "spiece.model").write_bytes(spiece_bytes(ALBERT_PIECES) + unknown + field(77, b"more"))
    assert Tokenizer.load(tmp_path / "spiece.model").id("▁new") == 9


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"the cat\n", "not a sentencepiece model, or it is damaged"),
        (spiece_bytes(ALBERT_PIECES)[:-3], "damaged|no pieces"),
        (spiece_bytes(ALBERT_PIECES)[:40], "damaged"),
        (b"\xff" * 40, "damaged"),
        (b"\x0a\xff\xff\xff\xff\x0fabc", "damaged"),
        (field(1, 5), "damaged"),
        (field(1, field(1, b"\xff")), "piece 0 is not UTF-8"),
        (field(1, field(1, b"a") + field(3, 9)), "piece 0 is of type 9; known are 1 to 6"),
        (field(1, field(1, b"a") + field(2, 7)), "damaged"),
        (field(2, b""), "no pieces"),
        (spiece_bytes(ALBERT_PIECES, trainer=field(3, 2)), "its model is BPE"),
        (spiece_bytes(ALBERT_PIECES, trainer=field(3, 8)), "its model is type 8"),
        (spiece_bytes(ALBERT_PIECES, trainer=field(35, 1)), "falls back to bytes"),
        (spiece_bytes(ALBERT_PIECES, trainer=field(24, 1)), "no blank before words"),
        (spiece_bytes(ALBERT_PIECES, normalizer=field(3, 0)), "no blank before words"),
        (spiece_bytes(ALBERT_PIECES, normalizer=field(2, b"\x09\x00\x00\x00abc")), "the tokenizer failed"),
        (spiece_bytes(ALBERT_PIECES[:1] + ALBERT_PIECES[2:]), "0 of its pieces stand for unknown words"),
        (spiece_bytes([*ALBERT_PIECES, ("<u>", 0.0, 2)]), "2 of its pieces stand for unknown words"),
        (spiece_bytes([*ALBERT_PIECES, ("s", 0.0, 1)]), "'s' stands in the vocabulary twice"),
        (spiece_bytes([*ALBERT_PIECES, ("", 0.0, 1)]), "word 9 of the vocabulary is ''"),
        (spiece_bytes([*ALBERT_PIECES, ("x", float("nan"), 1)]), "'x' has the score nan"),
        (spiece_bytes([("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("a", -1.0, 1)]), r"no \[CLS\], \[SEP\]"),
        (spiece_bytes([("<unk>", 0.0, 2), ("<cls>", 0.0, 3), ("a", -1.0, 1)]), r"no \[CLS\], \[SEP\]"),
    ],
)
def test_malformed_spiece_models(tmp_path, content, complaint):
    (tmp_path / "spiece.model").write_bytes(content)
    with pytest.raises(TokenizerError, match=complaint) as caught:
        Tokenizer.load(tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("merges", "complaint"),
    [
        ("#version: 0.2\nt h\nt h e\n", "line 3 of merges.txt: a merge is 't h e'; two words were expected"),
        ("th\n", "line 1 of merges.txt"),
        ("t  h\n", "line 1 of merges.txt"),
        ("Ġ Ġunheard\n", "the merge 'Ġ' \\+ 'Ġunheard' needs the word 'Ġunheard'"),
        ("t q\n", "needs the word 'tq', which the vocabulary does not have"),
    ],
)
def test_malformed_merges(tmp_path, merges, complaint):
    write_roberta(tmp_path)
    (tmp_path / "merges.txt").write_text(merges, encoding="utf-8")
    with pytest.raises(TokenizerError, match=complaint):
        Tokenizer.load(tmp_path)


def test_malformed_vocabularies(tmp_path):
    write_roberta(tmp_path)
    words = json.loads((tmp_path / "vocab.json").read_text())

    def load(changed: object) -> Tokenizer:
        (tmp_path / "vocab.json").write_text(json.dumps(changed))
        return Tokenizer.load(tmp_path)

    with pytest.raises(TokenizerError, match="has the id 99999"):
        load({**words, "the": 99999})
    with pytest.raises(TokenizerError, match="has the id '5'"):
        load({**words, "new": "5"})
    with pytest.raises(TokenizerError, match=r"no </s>, <s>, <unk>; this tokenizer needs"):
        load({word: place for place, word in enumerate(word for word in words if "<" not in word)})
    with pytest.raises(TokenizerError, match="lacks 1 of the 256 bytes, 'Ġ' among them"):
        load({"Ġx" if word == "Ġ" else word: place for word, place in words.items()})
    (tmp_path / "tokenizer_config.json").write_text('{"cls_token": "a"}')
    with pytest.raises(TokenizerError, match="special token 'a' is the word for a byte"):
        load(words)
    (tmp_path / "tokenizer_config.json").unlink()
    with pytest.raises(TokenizerError, match="holds a list"):
        load([1])
    (tmp_path / "merges.txt").rename(tmp_path / "away")
    with pytest.raises(TokenizerError, match=r"vocab\.json needs a merges\.txt beside it"):
        load(words)
    (tmp_path / "vocab.json").unlink()
    (tmp_path / "away").rename(tmp_path / "merges.txt")
    with pytest.raises(TokenizerError, match=r"merges\.txt needs a vocab\.json beside it"):
        Tokenizer.load(tmp_path / "merges.txt")
    with pytest.raises(TokenizerError, match=r"neither a tokenizer\.json nor .*spiece\.model"):
        Tokenizer.load(tmp_path)


def test_line_ends_of_other_systems(roberta, tmp_path):
    write_roberta(tmp_path)
    text = (tmp_path / "merges.txt").read_text(encoding="utf-8").replace("\n", "\r\n")
    (tmp_path / "merges.txt").write_bytes(text.encode())
    for file in ("vocab.json", "merges.txt"):
        assert Tokenizer.load(tmp_path / file).encode("the reader") == roberta.encode("the reader")


def test_words_added_beside_a_vocabulary_are_not_forgotten(tmp_path):
    for write in (write_roberta, write_albert):
        folder = write(tmp_path / write.__name__)
        (folder / "added_tokens.json").write_text('{"new": 600}')
        with pytest.raises(TokenizerError, match="adds words"):
            Tokenizer.load(folder)


Change = Callable[[dict], object]


def changed(folder: Path, change: Change) -> Path:
    file = folder / "tokenizer.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: data["model"].update(dropout=0.1), r"dropout is 0\.1; a byte-level BPE tokenizer"),
        (lambda data: data["model"].update(byte_fallback=True), "byte_fallback is True"),
        (lambda data: data["model"].update(ignore_merges=True), "ignore_merges is True"),
        (lambda data: data["model"].update(end_of_word_suffix="</w>"), "end_of_word_suffix is '</w>'"),
        (lambda data: data["model"].update(merges="a b"), "merges is 'a b'; a list was expected"),
        (lambda data: data["model"].update(merges=[["a"]]), r"a merge is \['a'\]"),
        (lambda data: data["model"].update(merges=[["a", 5]]), r"a merge is \['a', 5\]"),
        (lambda data: data["model"]["vocab"].pop("Ġ"), "words need the ids 0 to|has the id"),
        (lambda data: data.update(normalizer={"type": "NFC"}), "normalizer is {'type': 'NFC'}"),
        (lambda data: data["pre_tokenizer"].update(type="Whitespace"), "type is 'Whitespace'"),
        (lambda data: data["pre_tokenizer"].update(use_regex=False), "use_regex is False"),
        (lambda data: data["post_processor"].update(cls=7), "does not frame texts"),
        (lambda data: data["post_processor"].update(type="ByteLevel"), "does not frame texts"),
        (
            lambda data: data["model"].update(type="Word"),
            "model type is 'Word'; supported: WordPiece, BPE, Unigram",
        ),
    ],
)
def test_malformed_byte_level_tokenizers(roberta, tmp_path, change, complaint):
    roberta.save(tmp_path)
    with pytest.raises(TokenizerError, match=complaint):
        Tokenizer.load(changed(tmp_path, change))


def steps(data: dict) -> list[dict]:
    return data["normalizer"]["normalizers"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: data["model"].update(vocab={"a": 0}), "vocab is .*a list was expected"),
        (lambda data: data["model"]["vocab"].append(["a"]), r"an entry of vocab is \['a'\]"),
        (lambda data: data["model"]["vocab"].append(["a", True]), r"an entry of vocab is \['a', True\]"),
        (lambda data: data["model"]["vocab"].append(["▁the", -1.0]), "'▁the' stands in the vocabulary twice"),
        (lambda data: data["model"]["vocab"].append(["new", float("inf")]), "'new' has the score inf"),
        (lambda data: data["model"].update(unk_id=None), "unk_id is None"),
        (lambda data: data["model"].update(unk_id=5000), "unk_id is 5000; allowed are 0 to"),
        (lambda data: data["model"].update(byte_fallback=True), "byte_fallback is True"),
        (
            lambda data: data.update(normalizer=None),
            "normalizer is None; a Unigram tokenizer of ALBERT or XLNet",
        ),
        (lambda data: steps(data).pop(0), "normalizer is"),
        (lambda data: steps(data).reverse(), "normalizer is"),
        (lambda data: steps(data).append({"type": "NFC"}), "normalizer is"),
        (lambda data: steps(data)[-1].update(precompiled_charsmap="?"), "precompiled_charsmap is not base64"),
        (lambda data: steps(data)[-1].update(precompiled_charsmap="AAAA"), "the tokenizer failed"),
        (lambda data: data.update(pre_tokenizer=None), "pre_tokenizer is None"),
        (lambda data: data.update(pre_tokenizer={"type": "Sequence"}), "pre_tokenizer is"),
        (lambda data: data["pre_tokenizer"]["pretokenizers"][1].update(prepend_scheme="never"), "'never'"),
        (
            lambda data: data["pre_tokenizer"]["pretokenizers"][1].update(replacement="_"),
            "replacement is '_'",
        ),
        (lambda data: data["post_processor"].update(pair=[]), "does not frame texts"),
        (lambda data: data.update(added_tokens=["("]), "an entry of added_tokens is"),
    ],
)
def test_malformed_unigram_tokenizers(albert, tmp_path, change, complaint):
    albert.save(tmp_path)
    with pytest.raises(TokenizerError, match=complaint):
        Tokenizer.load(changed(tmp_path, change))


def test_older_files_are_read(roberta, albert, xlnet, tmp_path):
    def without_type(data: dict) -> None:
        del data["model"]["type"]
        if "merges" in data["model"]:
            data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]
            data["post_processor"] = None
        else:
            metaspace = data["pre_tokenizer"]["pretokenizers"][1]
            del metaspace["prepend_scheme"]
            metaspace["add_prefix_space"] = True
            squeeze = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
            steps(data).append(squeeze)

    for tokenizer in (roberta, albert, xlnet):
        folder = tmp_path / str(tokenizer.size)
        tokenizer.save(folder)
        again = Tokenizer.load(changed(folder, without_type))
        assert again.encode("The reader's (café)", "it") == tokenizer.encode("The reader's (café)", "it")


def test_other_frames_of_byte_level_words(roberta, tmp_path):
    roberta.save(tmp_path)
    file = changed(tmp_path, lambda data: data.update(post_processor={
        "type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]
    }))  # fmt: skip
    tokenizer = Tokenizer.load(file)
    assert tokenizer.encode(" the", " it").tokens == ("<s>", "Ġthe", "</s>", "Ġit", "</s>")
    tokenizer.save(tmp_path / "again")
    again = Tokenizer.load(tmp_path / "again")
    assert again.encode("the reader", "it") == tokenizer.encode("the reader", "it")


def test_layouts_are_told_by_their_templates():
    for layout in (BERT, XLNET):
        assert read_layout({"type": "TemplateProcessing", **layout.template("c", "s")}) == (layout, "c", "s")
    for wrong in (None, 5, {}, {"type": []}, {"type": "TemplateProcessing", "single": [{}, 5], "pair": []}):
        with pytest.raises(TokenizerError, match="only these frames are supported"):
            read_layout(wrong)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("roberta", "tokenizer.json"),
        ("roberta", "vocab.json"),
        ("roberta", "merges.txt"),
        ("albert", "tokenizer.json"),
        ("albert", "spiece.model"),
        ("xlnet", "spiece.model"),
    ],
)
def test_no_flipped_byte_gets_further_than_an_error(request, tmp_path, name, file, capfd):
    request.getfixturevalue(name).save(tmp_path)
    if file != "tokenizer.json":
        (tmp_path / "tokenizer.json").unlink()
    if file == "spiece.model":
        pieces = ALBERT_PIECES if name == "albert" else [
            *((word, 0.0, 2 if word == "<unk>" else 3) for word in ("<unk>", "<cls>", "<sep>", "<pad>", "<mask>")),
            *(("▁", -2.0, 1), ("▁the", -1.0, 1), ("s", -3.0, 1)),
        ]  # fmt: skip
        (tmp_path / file).write_bytes(spiece_bytes(pieces, trainer=field(3, 1), normalizer=field(3, 1)))
    good = (tmp_path / file).read_bytes()
    chance = random.Random(name + file)
    refused = 0
    for _ in range(100):
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
        (tmp_path / file).write_bytes(bad)
        try:
            tokenizer = Tokenizer.load(tmp_path / file)
            encoding = tokenizer.encode("The cats, \0 [SEP] sat é中 </s>", "cats")
        except TokenizerError:
            refused += 1
        else:
            assert max(encoding.ids) < tokenizer.size
            tokenizer.decode(encoding.ids)
    assert refused > 20


def test_no_flipped_byte_of_the_table_of_characters_ends_the_process(albert_folder, tmp_path, capfd):
    good = (albert_folder / "spiece.model").read_bytes()
    table = read_sentencepiece(good).characters
    start = good.index(table)
    chance = random.Random(3)
    for _ in range(12):
        bad = bytearray(good)
        for _ in range(200):
            bad[start + chance.randrange(len(table))] ^= 1 << chance.randrange(8)
        (tmp_path / "spiece.model").write_bytes(bad)
        try:
            tokenizer = Tokenizer.load(tmp_path)
            encoding = tokenizer.encode("Ünlü ﬁ ½ 한국어 \u3000 ㎏ the")
        except TokenizerError:
            continue
        assert all(0 <= start <= end <= 30 for start, end in encoding.offsets)
