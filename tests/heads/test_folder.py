"""Folders in and out: strict about names, plain about what is new or unused."""

from __future__ import annotations

import json
import logging

import pytest
import torch
from safetensors.torch import load_file, save_file

import parity
from pocketbert.errors import CheckpointError, ConfigError, InputError, PocketbertError
from pocketbert.heads import build, load, save
from pocketbert.model import ARCHITECTURES, PRESETS, Encoder

FAMILIES = ["mobilebert-nano", "ib-bert-nano", "bert-nano"]


def rewrite(folder, change) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def configure(folder, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", [None, "question-answering", "pretraining", "tags"])
def test_round_trip(family, head, tmp_path) -> None:
    model = parity.redraw(build(family, head, labels=["a", "b", "c"]))
    save(model, tmp_path)
    again = load(tmp_path)
    assert type(again) is type(model)
    assert again.config == model.config
    for (name, first), (other, second) in zip(
        model.named_parameters(), again.named_parameters(), strict=True
    ):
        assert name == other
        assert torch.equal(first, second)


def test_a_new_head_is_said(tmp_path, caplog) -> None:
    save(build("bert-nano"), tmp_path)
    with caplog.at_level(logging.WARNING, logger="pocketbert"):
        model = load(tmp_path, head="question-answering")
    assert model.report.new == ("the question-answering head",)
    assert model.report.unused == ("pooler.dense.bias", "pooler.dense.weight")
    assert "question-answering head" in caplog.text


def test_another_head_is_left_unused(tmp_path) -> None:
    save(build("bert-nano", "pretraining"), tmp_path)
    encoder = load(tmp_path, head="none")
    assert isinstance(encoder, Encoder)
    assert encoder.pooler is not None
    assert "head.masked_lm.bias" in encoder.report.unused


@pytest.mark.parametrize("family", FAMILIES)
def test_pre_training_heads_serve_one_by_one(family, tmp_path) -> None:
    model = parity.redraw(build(family, "pretraining"))
    save(model, tmp_path)
    for kind, part in (("masked-lm", model.head.masked_lm), ("next-sentence", model.head.next_sentence)):
        alone = load(tmp_path, head=kind)
        assert alone.report.new == ()
        assert all(torch.equal(a, b) for a, b in zip(alone.head.parameters(), part.parameters(), strict=True))


def test_a_pooler_that_is_missing_is_left_out_or_new(tmp_path) -> None:
    save(build("bert-nano", "question-answering"), tmp_path)
    assert load(tmp_path, head="none").pooler is None
    assert "the pooler" in load(tmp_path, head="classification", labels=3).report.new


def test_missing_and_unknown_names_are_listed(tmp_path) -> None:
    save(build("bert-nano", "question-answering"), tmp_path)
    rewrite(tmp_path, lambda tensors: tensors.pop("bert.encoder.layer.1.attention.self.key.weight"))
    with pytest.raises(CheckpointError, match=r"blocks\.1\.attention\.key\.weight"):
        load(tmp_path)
    save(build("bert-nano", "question-answering"), tmp_path)
    rewrite(tmp_path, lambda tensors: tensors.update({"bert.encoder.layer.7.mystery": torch.zeros(2)}))
    with pytest.raises(CheckpointError, match=r"encoder\.layer\.7\.mystery"):
        load(tmp_path)


def test_half_a_head_is_an_error(tmp_path) -> None:
    save(build("bert-nano", "question-answering"), tmp_path)
    rewrite(tmp_path, lambda tensors: tensors.pop("qa_outputs.bias"))
    with pytest.raises(CheckpointError, match=r"linear\.bias"):
        load(tmp_path)


def test_shapes_that_do_not_fit_are_listed(tmp_path) -> None:
    save(build("bert-nano"), tmp_path)
    configure(tmp_path, max_position_embeddings=64)
    with pytest.raises(CheckpointError, match=r"(?s)position.*(64.*128|128.*64)"):
        load(tmp_path)


def test_old_names_are_understood(tmp_path) -> None:
    model = parity.redraw(build("bert-nano", "question-answering"))
    save(model, tmp_path)

    def age(tensors) -> None:
        for name in list(tensors):
            if "LayerNorm" in name:
                old = name.replace("weight", "gamma").replace("bias", "beta")
                tensors[old] = tensors.pop(name)
        tensors["bert.embeddings.position_ids"] = torch.arange(128)[None]

    rewrite(tmp_path, age)
    again = load(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_a_tied_copy_may_be_there_but_not_differ(tmp_path) -> None:
    model = parity.redraw(build("bert-nano", "masked-lm"))
    save(model, tmp_path)
    rewrite(
        tmp_path,
        lambda tensors: tensors.update(
            {"cls.predictions.decoder.weight": model.encoder.word_table.detach().clone()}
        ),
    )
    load(tmp_path)
    rewrite(tmp_path, lambda tensors: tensors["cls.predictions.decoder.weight"].add_(1))
    with pytest.raises(CheckpointError, match="tied"):
        load(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "gpt2"},
        {"model_type": None},
        {"hidden_size": "wide"},
        {"hidden_size": 33},
        {"num_hidden_layers": 0},
        {"num_attention_heads": -4},
        {"hidden_act": "swoosh"},
        {"hidden_dropout_prob": 2},
        {"pad_token_id": 10**9},
        {"pruned_heads": [1, 2]},
        {"architectures": "BertModel"},
    ],
)
def test_malformed_configs_are_typed_errors(changes, tmp_path) -> None:
    save(build("bert-nano"), tmp_path)
    configure(tmp_path, **changes)
    with pytest.raises(ConfigError):
        load(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff\xfe", b'{"model_type": "bert", "model_type": "bert"}']
)
def test_unreadable_configs_are_typed_errors(content, tmp_path) -> None:
    save(build("bert-nano"), tmp_path)
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(PocketbertError):
        load(tmp_path)


def test_an_unknown_head_is_refused(tmp_path) -> None:
    save(build("bert-nano"), tmp_path)
    with pytest.raises(InputError, match="question-answering"):
        load(tmp_path, head="questions")
    with pytest.raises(InputError, match="question-answering"):
        build("bert-nano", "questions")


def test_a_preset_has_nothing_to_load() -> None:
    with pytest.raises(InputError, match=r"pocketbert\.build\('mobilebert'\)"):
        load("mobilebert")


def test_pruned_heads_survive(tmp_path) -> None:
    encoder = parity.redraw(build("bert-nano"))
    encoder.prune_heads({1: [0, 3]})
    save(encoder, tmp_path)
    again = load(tmp_path)
    assert again.config.pruned_heads == ((1, (0, 3)),)
    ids = torch.randint(1, 99, (2, 9))
    assert torch.equal(encoder.eval()(ids).last, again.eval()(ids).last)


@pytest.mark.parametrize("name", PRESETS)
def test_the_name_table_is_complete_and_reversible(name) -> None:
    from pocketbert.checkpoint import NameTable

    config = PRESETS[name]
    with torch.device("meta"):
        encoder = build(config)
    table = NameTable(ARCHITECTURES[config.model_type].names(config))
    ours = [parameter for parameter, _ in encoder.named_parameters()]
    theirs = table.to_theirs(ours)
    assert len(set(theirs.values())) == len(ours)
    back, unknown = table.to_ours(theirs.values())
    assert not unknown
    assert sorted(back.values()) == sorted(ours)


def test_the_pretrained_weights_fit_exactly(unpacked) -> None:
    folder = unpacked("weights") / "mobilebert-uncased-128"
    encoder = load(folder)
    assert encoder.report.new == ()
    assert encoder.report.unused == ()
    assert sum(parameter.numel() for parameter in encoder.parameters()) == 24_385_280
    output = encoder.eval()(torch.tensor([[101, 7110, 1005, 1056, 2023, 102]]), feature_maps=True)
    assert all(feature_map.isfinite().all() for feature_map in output.feature_maps)
    assert output.last.abs().max() < 1000
