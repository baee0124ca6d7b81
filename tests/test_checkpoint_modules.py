"""The table of names, and filling modules strictly."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from pocketbert.checkpoint import NameTable, fill, read_tensors, write_tensors
from pocketbert.errors import CheckpointError

TABLE = NameTable(
    {
        "embeddings.word": "bert.embeddings.word_embeddings",
        "embeddings.norm": "bert.embeddings.LayerNorm",
        "blocks.1.query": "bert.encoder.layer.1.attention.self.query",
        "blocks.11.query": "bert.encoder.layer.11.attention.self.query",
        "head.norm": "cls.predictions.transform.LayerNorm",
        "head.extra": "cls.predictions.dense.weight",
        "head.bias": "cls.predictions.bias",
    }
)


def test_names_go_both_ways() -> None:
    ours = [
        "embeddings.word.weight",
        "blocks.1.query.bias",
        "blocks.11.query.bias",
        "head.extra",
        "head.bias",
    ]
    theirs = TABLE.to_theirs(ours)
    assert theirs == {
        "embeddings.word.weight": "bert.embeddings.word_embeddings.weight",
        "blocks.1.query.bias": "bert.encoder.layer.1.attention.self.query.bias",
        "blocks.11.query.bias": "bert.encoder.layer.11.attention.self.query.bias",
        "head.extra": "cls.predictions.dense.weight",
        "head.bias": "cls.predictions.bias",
    }
    assert TABLE.to_ours(theirs.values()) == ({name: own for own, name in theirs.items()}, [])


def test_unknown_names_are_handed_back_and_cannot_be_saved() -> None:
    strangers = [
        "bert.embeddings.word_embeddings.scale",
        "bert.pooler.dense.weight",
        "word_embeddings.weight",
        "",
    ]
    assert TABLE.to_ours(strangers) == ({}, strangers)
    with pytest.raises(CheckpointError, match=r"no row for 'blocks\.2\.query\.weight', 'x'"):
        TABLE.to_theirs(["blocks.2.query.weight", "head.bias", "x"])


def test_old_names_are_understood_for_norms_only() -> None:
    norm, query = "bert.embeddings.LayerNorm", "bert.encoder.layer.1.attention.self.query"
    old = [f"{norm}.gamma", f"{norm}.beta", f"{query}.gamma", "bert.embeddings.position_ids", "position_ids"]
    assert TABLE.to_ours(old) == (
        {f"{norm}.gamma": "embeddings.norm.weight", f"{norm}.beta": "embeddings.norm.bias"},
        [f"{query}.gamma"],
    )
    with pytest.raises(CheckpointError, match=r"LayerNorm\.weight' and .*LayerNorm\.gamma' are two names"):
        TABLE.to_ours([f"{norm}.weight", f"{norm}.gamma"])


def test_complete_name_wins_over_its_module() -> None:
    table = NameTable({"head": "cls", "head.bias": "cls.predictions.bias"})
    assert table.to_theirs(["head.weight", "head.bias"]) == {
        "head.weight": "cls.weight",
        "head.bias": "cls.predictions.bias",
    }
    assert table.to_ours(["cls.bias"]) == ({}, ["cls.bias"])


@pytest.mark.parametrize("rows", [{"a": "x", "b": "x"}, {"a": "x", "b": "x.weight"}])
def test_two_of_ours_for_one_of_theirs_is_refused_at_once(rows: dict) -> None:
    with pytest.raises(ValueError, match="are both called"):
        NameTable(rows)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))


def test_fill_copies_and_casts() -> None:
    source, target = perceptron(), perceptron().to(torch.bfloat16)
    fill(
        target,
        {
            name: tensor.double() if tensor.is_floating_point() else tensor
            for name, tensor in source.state_dict().items()
        },
    )
    assert all(torch.equal(target.state_dict()[name], tensor.to(target.state_dict()[name].dtype))
               for name, tensor in source.state_dict().items())  # fmt: skip
    assert target[0].weight.dtype == torch.bfloat16
    assert target[0].weight.requires_grad


def test_fill_lists_everything_that_does_not_fit_and_touches_nothing() -> None:
    module = perceptron()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    tensors = {name: torch.ones_like(tensor) for name, tensor in before.items()}
    del tensors["1.running_mean"]
    tensors["0.weight"] = torch.ones(4, 5)
    tensors["0.bias"] = torch.ones(4, dtype=torch.int64)
    tensors["1.num_batches_tracked"] = torch.tensor(1.0)
    tensors["2.weight"] = torch.ones(1)
    with pytest.raises(CheckpointError) as caught:
        fill(module, tensors)
    assert str(caught.value).splitlines() == [
        "the weights do not fit Sequential:",
        "  missing: '1.running_mean' (4,)",
        "  unexpected: '2.weight'",
        "  wrong shape: '0.weight' is (4, 5), expected (4, 3)",
        "  wrong dtype: '0.bias' is torch.int64, expected torch.float32",
        "  wrong dtype: '1.num_batches_tracked' is torch.float32, expected torch.int64",
    ]
    assert all(torch.equal(module.state_dict()[name], tensor) for name, tensor in before.items())


def test_fill_counts_what_it_does_not_list() -> None:
    with pytest.raises(CheckpointError) as caught:
        fill(nn.ModuleList(nn.Linear(1, 1) for _ in range(20)), {})
    assert len(str(caught.value).splitlines()) == 22
    assert str(caught.value).endswith("and 20 more")


def test_fill_knows_tied_parameters() -> None:
    module = nn.ModuleDict({"word": nn.Embedding(4, 3), "decoder": nn.Linear(3, 4, bias=False)})
    module["decoder"].weight = module["word"].weight
    fill(module, {"word.weight": torch.ones(4, 3)})
    fill(module, {"decoder.weight": torch.full((4, 3), 2.0)})
    assert module["word"].weight[0, 0] == 2
    fill(module, {"word.weight": torch.ones(4, 3), "decoder.weight": torch.ones(4, 3)})
    with pytest.raises(CheckpointError, match=r"tied but different: 'word\.weight' and 'decoder\.weight'"):
        fill(module, {"word.weight": torch.ones(4, 3), "decoder.weight": torch.zeros(4, 3)})
    with pytest.raises(CheckpointError, match=r"missing: 'word\.weight'"):
        fill(module, {})


def test_fill_refuses_modules_without_memory() -> None:
    with pytest.raises(CheckpointError, match="to_empty"):
        fill(nn.Linear(2, 2, device="meta"), {"weight": torch.ones(2, 2), "bias": torch.ones(2)})


def test_filled_modules_own_their_memory(tmp_path: Path) -> None:
    write_tensors(tmp_path, {"weight": torch.ones(2, 3), "bias": torch.ones(2)})
    linear = torch.nn.Linear(3, 2)
    fill(linear, read_tensors(tmp_path))
    content = bytearray((tmp_path / "model.safetensors").read_bytes())
    content[-32:] = bytes(32)
    with (tmp_path / "model.safetensors").open(
        "r+b"
    ) as file:  # in place: the mapping sees it, the module must not
        file.write(content)
    assert linear(torch.ones(1, 3)).tolist() == [[4, 4]]
