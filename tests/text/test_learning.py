"""Tokenizers learnt from texts: of every kind, the same on every run, and at home in model folders."""

from __future__ import annotations

import pytest

import small_corpus
from pocketbert.cli import main
from pocketbert.errors import InputError
from pocketbert.text import Tokenizer
from pocketbert.text.learning import learn_tokenizer

TEXTS = [sentence for document in small_corpus.documents() for sentence in document]
SIZES = {"wordpiece": 200, "bpe": 400, "unigram": 120, "unigram-xlnet": 120}


@pytest.mark.parametrize("kind", SIZES)
def test_every_kind_spells_saves_and_loads(kind, tmp_path) -> None:
    tokenizer = learn_tokenizer(TEXTS, kind=kind, size=SIZES[kind])
    assert tokenizer.size <= SIZES[kind]
    text = "The youngest sailor carried seven letters."
    encoding = tokenizer.encode(text)
    assert tokenizer.unk_id not in encoding.ids
    assert tokenizer.decode(encoding.ids).lower() == text.lower()
    covered = {place for start, end in encoding.offsets for place in range(start, end)}
    assert covered >= {place for place, letter in enumerate(text) if letter != " "}
    assert {tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id, tokenizer.mask_id} <= tokenizer.special_ids
    tokenizer.save(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert again.fingerprint == tokenizer.fingerprint
    assert again.encode(text).ids == encoding.ids
    assert again.layout.padding == ("left" if kind == "unigram-xlnet" else "right")


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_the_same_texts_give_the_same_tokenizer(kind) -> None:
    first, *others = (learn_tokenizer(TEXTS, kind=kind, size=SIZES[kind]).fingerprint for _ in range(4))
    assert set(others) == {first}
    assert learn_tokenizer(TEXTS[:-40], kind=kind, size=SIZES[kind]).fingerprint != first


def test_transformers_reads_it_alike(tmp_path) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = learn_tokenizer(TEXTS, size=150)
    tokenizer.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS[:20]:
        assert tuple(theirs(text)["input_ids"]) == tokenizer.encode(text).ids


def test_case_and_accents() -> None:
    texts = ["Schöne Grüße aus Köln"] * 5
    plain = learn_tokenizer(texts, size=60).encode("Schöne", special=False)
    assert "".join(plain.tokens).replace("##", "") == "schone"
    accented = learn_tokenizer(texts, size=60, keep_accents=True).encode("Schöne", special=False)
    assert "".join(accented.tokens).replace("##", "") == "schöne"
    cased = learn_tokenizer(texts, size=60, lowercase=False).encode("Schöne", special=False)
    assert "".join(cased.tokens).replace("##", "") == "Schöne"


def test_odd_texts_and_wrong_options() -> None:
    tokenizer = learn_tokenizer(["half a \ud800 pair", "", "[MASK] is text here"] * 3, size=60)
    assert tokenizer.mask_id not in tokenizer.encode("[MASK]", special=False).ids
    assert learn_tokenizer(iter(TEXTS), size=100).size == 100, "an iterator will do"
    for options, message in [
        ({"texts": []}, "no text to learn"),
        ({"texts": ["  "]}, "no text to learn"),
        ({"kind": "morse"}, "kind 'morse'; there are wordpiece"),
        ({"size": 3}, "wordpiece needs 6"),
        ({"size": 100, "kind": "bpe"}, "bpe needs 261"),
        ({"alphabet": 0}, "alphabet is 0; it must be a whole number from 1 up"),
        ({"alphabet": -1}, "alphabet is -1; it must be a whole number from 1 up"),
    ]:
        with pytest.raises(InputError, match=message):
            learn_tokenizer(**{"texts": TEXTS, **options})


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "unigram-xlnet"])
def test_a_size_that_cannot_be_kept_names_the_least(kind) -> None:
    with pytest.raises(InputError, match=f"of 12 words is too small; {kind} needs") as caught:
        learn_tokenizer(TEXTS, kind=kind, size=12)
    least = int(str(caught.value).split()[-3])
    assert learn_tokenizer(TEXTS, kind=kind, size=least).size == least
    with pytest.raises(InputError, match=f"{kind} needs {least} at least"):
        learn_tokenizer(TEXTS, kind=kind, size=least - 1)


def test_the_verb(tmp_path, capsys) -> None:
    corpus = small_corpus.write(tmp_path / "corpus.txt")
    command = ["train", "tokenizer", "--train_file", str(corpus), "--output_dir", str(tmp_path / "words")]
    assert main([*command, "vocab_size=150"]) == 0
    assert "words: 150" in capsys.readouterr().out
    assert Tokenizer.load(tmp_path / "words").size == 150
    assert main([*command, "vocab_size=150"]) == 2
    assert "holds a tokenizer already" in capsys.readouterr().err
    assert main([*command, "vocab_size=100", "--overwrite_output_dir", "--json"]) == 0
    assert '"words": 100' in capsys.readouterr().out
