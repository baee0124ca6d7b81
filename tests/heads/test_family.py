"""Folders of every family: each head there and back, copies of tied weights, and heads that are new."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

import parity
from pocketbert.errors import CheckpointError, InputError
from pocketbert.heads import build, load, save
from pocketbert.model import ARCHITECTURES, preset

PAIRS = [(family, head) for family, known in ARCHITECTURES.items() for head in (None, *known.heads)]
LANGUAGE_MODEL = {family: next(iter(known.heads)) for family, known in ARCHITECTURES.items()}


def small(family: str):
    return replace(preset(f"{family}-nano"), vocab_size=parity.VOCABULARY)


@pytest.mark.parametrize(("family", "head"), PAIRS)
def test_round_trip(family, head, tmp_path) -> None:
    model = parity.redraw(build(small(family), head, labels=["a", "b", "c"]))
    save(model, tmp_path)
    again = load(tmp_path)
    assert again.report.new == again.report.unused == ()
    assert again.config == model.config
    assert getattr(again, "kind", None) == head
    for (name, first), (other, second) in zip(
        model.named_parameters(), again.named_parameters(), strict=True
    ):
        assert name == other
        assert torch.equal(first, second), name


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_copies_of_tied_weights_may_be_there_but_not_differ(family, tmp_path) -> None:
    """Files that older releases of transformers wrote have them."""
    model = parity.redraw(build(small(family), LANGUAGE_MODEL[family]))
    save(model, tmp_path)
    held = load_file(tmp_path / "model.safetensors")
    sources = {"embeddings.word.weight": model.encoder.word_table, "bias": model.head.bias}
    for name, source in ARCHITECTURES[family].tied.items():
        copies = held | {name: sources[source].detach().clone()}
        save_file(copies, tmp_path / "model.safetensors", metadata={"format": "pt"})
        assert load(tmp_path).report.unused == ()
        copies[name] += 1
        save_file(copies, tmp_path / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(CheckpointError, match="tied"):
            load(tmp_path)


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_a_language_model_becomes_a_reader_and_a_classifier(family, tmp_path) -> None:
    source = parity.redraw(build(small(family), LANGUAGE_MODEL[family]))
    save(source, tmp_path)
    for head in ("question-answering", "classification"):
        model = load(tmp_path, head=head)
        assert f"the {head} head" in model.report.new
        assert set(model.report.unused) == {f"head.{name}" for name, _ in source.head.named_parameters()}
        assert torch.equal(model.encoder.word_table, source.encoder.word_table)


def test_albert_s_masked_words_serve_without_its_sentence_order(tmp_path) -> None:
    model = parity.redraw(build(small("albert"), "pretraining"))
    save(model, tmp_path)
    alone = load(tmp_path, head="masked-lm")
    assert alone.report.new == ()
    assert torch.equal(alone.head.transform.weight, model.head.masked_lm.transform.weight)


@pytest.mark.parametrize(
    ("family", "head"),
    [
        ("roberta", "pretraining"),
        ("distilbert", "next-sentence"),
        ("xlnet", "masked-lm"),
        ("bert", "permutation-lm"),
    ],
)
def test_a_head_that_a_family_lacks_is_refused(family, head, tmp_path) -> None:
    save(build(small(family)), tmp_path)
    with pytest.raises(InputError, match=f"no head '{head}'; its heads are"):
        load(tmp_path, head=head)
