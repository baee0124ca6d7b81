"""The verbs that look into models: info and fill."""

from __future__ import annotations

import json

import pytest
import torch

import parity
from pocketbert.cli import main
from pocketbert.heads import build, save
from pocketbert.text import Tokenizer
from tiny_tokenizers import write_roberta


def test_info_shows_the_published_figures(capsys) -> None:
    assert main(["info", "mobilebert", "bert-base", "--json"]) == 0
    small, large = json.loads(capsys.readouterr().out)
    assert (small["parameters"], large["parameters"]) == (24_581_888, 109_482_240)
    assert small["layers"] == 24
    assert small["flops"] / 1e9 == pytest.approx(5.39, abs=0.01)
    assert large["flops"] / small["flops"] == pytest.approx(4.1, abs=0.1)


def test_info_puts_models_side_by_side(capsys) -> None:
    assert main(["info", "mobilebert-nano", "bert-nano", "--blocks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["mobilebert-nano", "bert-nano"]
    assert any(line.startswith("block 1") for line in lines)
    assert len({len(line) for line in lines}) == 1, "columns line up"


def test_info_shows_relatives(capsys) -> None:
    assert main(["info", "albert-base", "xlnet-base", "--json"]) == 0
    shared, relative = json.loads(capsys.readouterr().out)
    assert shared["parameters"] == shared["embeddings"] + shared["blocks"][0] + shared["pooler"]
    assert shared["blocks"][1:] == [0] * 11
    assert relative["positions"] is None
    assert main(["info", "xlnet-nano", "roberta-nano", "--names"]) == 0
    printed = capsys.readouterr().out
    assert "blocks.1.attention.distance.weight  layer.1.rel_attn.r  32 x 32" in printed
    assert [line.split()[1:] for line in printed.splitlines() if line.startswith("positions")] == [
        ["any", "128"]
    ]


def test_info_reads_a_folder_and_lists_its_names(tmp_path, capsys) -> None:
    model = build("mobilebert-nano", "question-answering")
    save(model, tmp_path)
    assert main(["info", str(tmp_path), "--names", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["head"] == "question-answering"
    shapes = {entry["name"]: entry["shape"] for entry in found["names"]}
    assert shapes == {name: list(parameter.shape) for name, parameter in model.named_parameters()}
    theirs = {entry["name"]: entry["hugging_face"] for entry in found["names"]}
    assert theirs["head.linear.weight"] == "qa_outputs.weight"
    assert (
        theirs["encoder.blocks.1.feed_forward.1.up.bias"]
        == "mobilebert.encoder.layer.1.intermediate.dense.bias"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["info", "mobilebort"], 1, "mobilebort"),
        (["info", "mobilebert", "--length", "0"], 2, "--length"),
        (["info"], 2, "MODEL"),
    ],
)
def test_info_says_what_is_wrong(arguments, status, message, capsys, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(arguments) == status
    assert message in capsys.readouterr().err


@pytest.fixture
def filler(tmp_path):
    """A model whose bias makes it say one word above all."""
    tokenizer = Tokenizer.load()
    model = parity.redraw(build("mobilebert-nano", "masked-lm"))
    with torch.no_grad():
        model.head.bias[tokenizer.id("dog")] = 50.0
    save(model, tmp_path)
    tokenizer.save(tmp_path)
    return tmp_path


def test_fill_gives_words_with_probabilities(filler, capsys) -> None:
    assert (
        main(["fill", "The [MASK] barks at the [MASK].", "--model", str(filler), "--top", "3", "--json"]) == 0
    )
    gaps = json.loads(capsys.readouterr().out)["gaps"]
    assert [len(words) for words in gaps] == [3, 3]
    assert all(words[0]["token"] == "dog" for words in gaps)
    assert all(words[0]["probability"] > words[1]["probability"] >= words[2]["probability"] for words in gaps)


def test_fill_reads_the_gap_where_it_stands(filler, capsys) -> None:
    """The same as the model itself says at the place of [MASK]."""
    from pocketbert.heads import load

    assert main(["fill", "a [MASK] c", "--model", str(filler), "--top", "2", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)["gaps"][0]
    tokenizer = Tokenizer.load()
    ids = [tokenizer.cls_id, tokenizer.id("a"), tokenizer.mask_id, tokenizer.id("c"), tokenizer.sep_id]
    expected = load(filler).eval()(torch.tensor([ids])).logits[0, 2].softmax(-1).topk(2)
    assert [word["id"] for word in given] == expected.indices.tolist()
    assert [word["probability"] for word in given] == pytest.approx(expected.values.tolist(), abs=1e-5)


def test_fill_frames_texts_as_the_tokenizer_does(filler, tmp_path, capsys) -> None:
    """The gap takes in the blank before it, as words do in this vocabulary, and may go by its name there."""
    from pocketbert.heads import load

    for file in (*filler.glob("tokenizer*"), filler / "vocab.txt"):
        file.unlink()
    tokenizer = Tokenizer.load(write_roberta(tmp_path))
    model = load(filler).eval()
    with torch.no_grad():  # the model has more words than the vocabulary
        model.head.bias[tokenizer.size :] = -1e4
    save(model, filler)
    assert main(["fill", " the <mask> reader", "--model", str(filler), "--top", "2", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)["gaps"][0]
    ids = [tokenizer.id(word) for word in ["<s>", "Ġthe", "<mask>", "Ġreader", "</s>"]]
    expected = model(torch.tensor([ids])).logits[0, 2].softmax(-1).topk(2)
    assert [word["id"] for word in given] == expected.indices.tolist()


def test_fill_says_what_is_wrong(filler, tmp_path, capsys) -> None:
    assert main(["fill", "no gap here", "--model", str(filler)]) == 2
    assert "[MASK]" in capsys.readouterr().err
    bare = tmp_path / "bare"
    save(build("bert-nano"), bare)
    Tokenizer.load().save(bare)
    assert main(["fill", "a [MASK]", "--model", str(bare)]) == 2
    assert "no masked-lm head" in capsys.readouterr().err
