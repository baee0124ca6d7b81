"""Layouts, special tokens, kinds of words and the way back, of every kind of tokenizer, checked by hand."""

from __future__ import annotations

import copy
import pickle

import pytest

from pocketbert.errors import InputError, TokenizerError
from pocketbert.text import Tokenizer
from pocketbert.text.layout import BERT, ROBERTA, XLNET
from pocketbert.text.words import inside_word
from tiny_tokenizers import write_albert, write_roberta, write_xlnet

TEXT, PAIR = " the reader", " and it"
LAYOUTS = {
    "roberta": (
        ROBERTA,
        "<s> Ġthe Ġreader </s>",
        "<s> Ġthe Ġreader </s> </s> Ġand Ġit </s>",
        (0, 0, 0, 0, 0, 0, 0, 0),
    ),
    "albert": (
        BERT,
        "[CLS] ▁the ▁reader [SEP]",
        "[CLS] ▁the ▁reader [SEP] ▁and ▁it [SEP]",
        (0, 0, 0, 0, 1, 1, 1),
    ),
    "xlnet": (
        XLNET,
        "▁the ▁reader <sep> <cls>",
        "▁the ▁reader <sep> ▁and ▁it <sep> <cls>",
        (0, 0, 0, 1, 1, 1, 2),
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(request, name):
    tokenizer = request.getfixturevalue(name)
    layout, one, two, types = LAYOUTS[name]
    single, pair = tokenizer.encode(TEXT), tokenizer.encode(TEXT, PAIR)
    assert tokenizer.layout == layout
    assert single.tokens == tuple(one.split())
    assert single.type_ids == (0, 0, 0, 2 if name == "xlnet" else 0)
    assert pair.tokens == tuple(two.split())
    assert pair.type_ids == types
    for encoding, texts in ((single, 1), (pair, 2)):
        special = [
            place
            for place, word in enumerate(encoding.tokens)
            if tokenizer.kind(tokenizer.id(word)) == "special"
        ]
        assert layout.special_tokens(texts) == len(special)
        for place, sequence in enumerate(encoding.sequence_ids):
            assert (sequence is None) == (encoding.word_ids[place] is None) == (place in special)
            if sequence is None:
                assert encoding.offsets[place] == (0, 0)
            else:
                start, end = encoding.offsets[place]
                assert (TEXT, PAIR)[sequence][start:end] == encoding.tokens[place][1:]
        assert encoding.tokens[layout.null(len(encoding))] == tokenizer.token(tokenizer.cls_id)
    words = tokenizer.encode(TEXT, special=False).ids
    assert tuple(tokenizer.frame(words)) == single.ids
    assert layout.types(2, 2) == list(types)


def test_xlnet_is_padded_on_the_left_with_a_segment_of_its_own(xlnet):
    batch = xlnet.encode_batch([TEXT, "it"], pad_to=6)
    the, reader, it = (xlnet.id(word) for word in ("▁the", "▁reader", "▁it"))
    pad, sep, cls = xlnet.pad_id, xlnet.sep_id, xlnet.cls_id
    assert (sep, cls, pad) == (4, 3, 5)
    assert batch.input_ids.tolist() == [[pad, pad, the, reader, sep, cls], [pad, pad, pad, it, sep, cls]]
    assert batch.attention_mask.tolist() == [[0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1]]
    assert batch.token_type_ids.tolist() == [[3, 3, 0, 0, 0, 2], [3, 3, 3, 0, 0, 2]]


@pytest.mark.parametrize(
    "word",
    [
        "<s>",
        "</s>",
        "<pad>",
        "<unk>",
        "<mask>",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "<cls>",
        "<sep>",
        "<eop>",
        "<eod>",
    ],
)
def test_special_tokens_written_out_are_text(any_kind, word):
    for text in (word, f"a {word} b", f"a{word}b", word * 3):
        encoding = any_kind.encode(text, special=False)
        assert not set(encoding.ids) & (any_kind.special_ids - {any_kind.unk_id}), text
        assert encoding.tokens.count(word) == 0 or word == any_kind.token(any_kind.unk_id)


def test_merges_that_spell_a_special_token_are_not_used(roberta, tmp_path):
    tokenizer = Tokenizer.load(write_roberta(tmp_path, cls_token="er"))
    assert roberta.encode(" reader", special=False).tokens == ("Ġreader",)
    assert roberta.encode("her", special=False).tokens == ("h", "er")
    assert tokenizer.encode("her", special=False).tokens == ("h", "e", "r")
    assert tokenizer.cls_id not in tokenizer.encode(" reader", special=False).ids


def test_truncation_leaves_room_for_the_layout(any_kind):
    text, pair = "the reader and it " * 3, "it and the reader " * 2
    whole = any_kind.encode(text, pair)
    for cut in range(1, 12):
        encoding = any_kind.encode(text, pair, max_length=len(whole) - cut)
        assert (len(encoding), encoding.truncated) == (len(whole) - cut, cut)
        assert encoding.sequence_ids.count(None) == any_kind.layout.special_tokens(2)
    least = any_kind.layout.special_tokens(2) + 2
    any_kind.encode(text, pair, max_length=least)
    with pytest.raises(InputError, match=f"give at least {least}$"):
        any_kind.encode(text, pair, max_length=least - 1)


def test_texts_may_be_empty_or_unreadable(any_kind):
    assert len(any_kind.encode("", "")) == any_kind.layout.special_tokens(2)
    assert any_kind.encode("", special=False).ids == ()
    for text in ("\0", "a\0b", "\ud800", "a\udfffb", "\ud83d"):
        for start, end in any_kind.encode(text, special=False).offsets:
            assert 0 <= start <= end <= len(text)


@pytest.mark.parametrize(
    ("name", "text", "slices"),
    [
        ("roberta", " the  reader\n it", ["the", "", "reader", "\n", "it"]),
        ("roberta", " it's a café", ["it", "'s", "a", "café"]),
        ("roberta", "中", ["中", "中", "中"]),  # three bytes of one character: none can be sliced alone
        ("albert", "The Reader\u0301", ["The", "Reader"]),
        ("albert", "the (reader)", ["the", "(", "reader", ")"]),
        ("albert", "\x1b\x1bthe\x1b reader", ["the", "reader"]),
        ("albert", "the (\x1breader", ["the", "(", "reader"]),  # here the library alone is one off
        # "▁", and the one quote that two become: the place of the second is its own.
        ("albert", "the ''x", ["the", "'", "'", "x"]),
        ("xlnet", "the\u00a0reader\u3000it", ["the", "reader", "it"]),
        ("xlnet", "the\ud800reader", ["the", "reader"]),
    ],
)
def test_slices_by_hand(request, name, text, slices):
    encoding = request.getfixturevalue(name).encode(text, special=False)
    assert [text[start:end] for start, end in encoding.offsets] == slices


def test_decode_goes_back(roberta, albert, xlnet):
    text = "Ada's café, (old) town\n\t 中 👍 …"
    assert roberta.decode(roberta.encode(text).ids) == text
    assert roberta.decode(roberta.encode("it", "the").ids, skip_special=False) == "<s>it</s></s>the</s>"
    assert albert.decode(albert.encode("The Reader's café").ids) == "the reader's cafe"
    assert xlnet.decode(xlnet.encode("The reader's café").ids) == "The reader's cafe"
    assert xlnet.decode(xlnet.encode("it").ids, skip_special=False) == "it<sep><cls>"
    for tokenizer in (roberta, albert, xlnet):
        assert tokenizer.decode([]) == ""
        with pytest.raises(InputError, match="there is no token"):
            tokenizer.decode([tokenizer.size])


def test_what_a_tokenizer_knows_of_itself(roberta, albert, xlnet):
    assert (roberta.cls_id, roberta.pad_id, roberta.sep_id, roberta.unk_id) == (0, 1, 2, 3)
    assert roberta.mask_id == roberta.size - 1
    assert (albert.pad_id, albert.unk_id, albert.cls_id, albert.sep_id, albert.mask_id) == (0, 1, 2, 3, 4)
    assert [tokenizer.lowercase for tokenizer in (roberta, albert, xlnet)] == [False, True, False]
    assert {xlnet.token(number) for number in xlnet.special_ids} == {
        *("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
    }
    kinds = {"Ġthe": "word", "er": "continuation", "x": "character", "Ġ": "character", "<s>": "special"}
    assert {word: roberta.kind(roberta.id(word)) for word in kinds} == kinds
    assert roberta.kind(roberta.id("madeupword0000")) == "unused"
    kinds = {"▁the": "word", "er": "continuation", "(": "character", "▁": "character", "[CLS]": "special"}
    assert {word: albert.kind(albert.id(word)) for word in kinds} == kinds
    assert [roberta.plain(roberta.id(word)) for word in ("Ġthe", "ĠcafÃ©", "er", "<s>")] == [
        "the",
        "café",
        "er",
        "<s>",
    ]
    assert [albert.plain(albert.id(word)) for word in ("▁the", "er", "[CLS]")] == ["the", "er", "[CLS]"]


def test_copies_are_their_own(any_kind):
    for copied in (copy.deepcopy(any_kind), pickle.loads(pickle.dumps(any_kind))):
        assert copied.encode("the reader's café") == any_kind.encode("the reader's café")
        assert copied.layout == any_kind.layout


def test_settings_beside_the_files_are_heeded(tmp_path):
    assert not Tokenizer.load(write_albert(tmp_path / "a", do_lower_case=False)).lowercase
    assert Tokenizer.load(write_xlnet(tmp_path / "x", do_lower_case=True)).lowercase
    accents = Tokenizer.load(write_albert(tmp_path / "b", keep_accents=True))
    assert "é" in "".join(accents.encode("café").tokens)
    blank = Tokenizer.load(write_roberta(tmp_path / "r", add_prefix_space=True))
    assert blank.encode("the").tokens == ("<s>", "Ġthe", "</s>")
    assert blank.encode("the").offsets[1] == (0, 3)
    named = Tokenizer.load(write_roberta(tmp_path / "n", mask_token={"content": "<unk>"}, unk_token="<mask>"))
    assert named.token(named.mask_id) == "<unk>"
    with pytest.raises(TokenizerError, match="no <start>"):
        Tokenizer.load(write_roberta(tmp_path / "m", cls_token="<start>"))


def test_a_word_goes_on_where_letters_do(roberta, albert, uncased):
    text = "unbelievably, don't"
    for tokenizer in (roberta, albert, uncased):
        encoding = tokenizer.encode(text, special=False)
        going_on = {
            start
            for number, (start, _) in zip(encoding.ids, encoding.offsets, strict=True)
            if tokenizer.continues(number, text, start)
        }
        assert going_on
        assert not going_on & {
            0,
            *range(text.index(","), text.index("d") + 1),
            text.index("'"),
            len(text) - 1,
        }
    assert [inside_word(text, place) for place in (0, 1, 12, 17, len(text))] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert not inside_word("東京", 1)
    assert inside_word("e\u0301a", 1)
    assert inside_word("e\u0301a", 2)
