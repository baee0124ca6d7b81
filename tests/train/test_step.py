"""A step is one mean over its examples, however they are split; and what a step reports."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from pocketbert.errors import InputError, TrainingError
from pocketbert.train.log import read_log
from pocketbert.train.state import read_folder
from train import toy


def trained(folder: Path, *, extra: dict | None = None, **settings: object) -> nn.Module:
    model = toy.fresh_model(dropout=0.0)
    toy.run(folder, model=model, eval_strategy="no", num_train_epochs=2, extra=extra, **settings)
    return model


def assert_same_runs(one: Path, other: Path, models: list[nn.Module]) -> None:
    for first, second in zip(toy.losses(one), toy.losses(other), strict=True):
        assert first == pytest.approx(second, abs=1e-6)
    for (name, first), second in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(first, second, rtol=0, atol=1e-6, msg=name)


@pytest.mark.parametrize(("size", "accumulated"), [(8, 2), (4, 4), (1, 16)])
def test_accumulated_is_one_large_batch(tmp_path: Path, size: int, accumulated: int) -> None:
    """The last step of an epoch has 11 examples of 75: batches of unequal size must count by their size."""
    large = trained(tmp_path / "large", per_device_train_batch_size=16)
    split = trained(
        tmp_path / "split", per_device_train_batch_size=size, gradient_accumulation_steps=accumulated
    )
    assert_same_runs(tmp_path / "large", tmp_path / "split", [large, split])


def token_loss(model: nn.Module, batch: dict, step: int) -> tuple[torch.Tensor, dict[str, float]]:
    """A mean over tokens, as in masked language modelling: batches hold unequal numbers of targets."""
    logits = model.head(model.encoder.embeddings["words"](batch["ids"]))
    targets = torch.where(batch["mask"] > 0, batch["ids"] % 2, -100)
    return nn.functional.cross_entropy(logits.transpose(1, 2), targets), {}


def test_accumulated_is_one_large_batch_when_the_recipe_counts_targets(tmp_path: Path) -> None:
    extra = {"loss_function": token_loss, "weight": lambda batch: float(batch["mask"].sum())}
    large = trained(tmp_path / "large", extra=extra, per_device_train_batch_size=16)
    split = trained(
        tmp_path / "split", extra=extra, per_device_train_batch_size=4, gradient_accumulation_steps=4
    )
    assert_same_runs(tmp_path / "large", tmp_path / "split", [large, split])
    wrong = trained(
        tmp_path / "wrong",
        extra={"loss_function": token_loss},
        per_device_train_batch_size=4,
        gradient_accumulation_steps=4,
    )
    with pytest.raises(AssertionError):
        assert_same_runs(tmp_path / "large", tmp_path / "wrong", [large, wrong])


def test_the_gradient_is_clipped(tmp_path: Path) -> None:
    """After one step LAMB's first moment is a tenth of the gradient that it was given."""

    def gradient_norm(limit: float | None) -> float:
        folder = tmp_path / str(limit)
        trained(folder, max_grad_norm=limit, max_steps=1, optim="lamb")
        moments = read_folder(folder / "checkpoint-1").tensors["optimiser"]
        given = [value.flatten() for name, value in moments.items() if name.startswith("exp_avg/")]
        return 10 * float(torch.cat(given).norm())

    whole = gradient_norm(None)
    assert toy.losses(tmp_path / "None")[0][3] == pytest.approx(whole, rel=1e-5)
    assert gradient_norm(whole / 3) == pytest.approx(whole / 3, rel=1e-5)
    assert toy.losses(tmp_path / str(whole / 3))[0][3] == pytest.approx(whole, rel=1e-5)
    assert gradient_norm(2 * whole) == pytest.approx(whole, rel=1e-5)


def test_a_line_of_the_log(tmp_path: Path) -> None:
    toy.run(tmp_path, logging_steps=3, max_steps=7, per_device_train_batch_size=4)
    records = read_log(tmp_path / "log.jsonl")
    assert [record["kind"] for record in records] == ["start", "train", "train", "train", "evaluation", "end"]
    lines = [record for record in records if record["kind"] == "train"]
    assert [line["step"] for line in lines] == [3, 6, 7]
    assert lines[1]["epoch"] == pytest.approx(6 / 19, abs=1e-4)
    assert 0 <= lines[0]["padding"] < 0.2
    assert lines[0]["tokens"] < lines[1]["tokens"] < lines[2]["tokens"]
    assert all(line["tokens_per_second"] > 0 and 0 <= line["accuracy"] <= 1 for line in lines)

    toy.run(tmp_path / "each", max_steps=7, per_device_train_batch_size=4)
    each = [
        record["loss"] for record in read_log(tmp_path / "each" / "log.jsonl") if record["kind"] == "train"
    ]
    assert lines[0]["loss"] == pytest.approx(sum(each[:3]) / 3)
    assert lines[2]["loss"] == pytest.approx(each[6])


def test_a_cap_on_tokens(tmp_path: Path) -> None:
    seen = []

    def watched(model: nn.Module, batch: dict, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        seen.append(batch["ids"].numel())
        return toy.loss_function(model, batch, step)

    toy.run(tmp_path, max_tokens_per_batch=40, num_train_epochs=1, extra={"loss_function": watched})
    assert max(seen) <= 40
    assert len(seen) == len(toy.losses(tmp_path))


def test_examples_without_a_length_need_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"type int has no input_ids: give train\(lengths=…\)"):
        toy.run(tmp_path, extra={"examples": [1, 2, 3]})
    with pytest.raises(InputError, match="2 lengths for 75 examples"):
        toy.run(tmp_path, extra={"lengths": [1, 2]})


def test_a_loss_must_be_one_number(tmp_path: Path) -> None:
    def per_example(model: nn.Module, batch: dict, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        return model(batch["ids"], batch["mask"]).sum(1), {}

    with pytest.raises(TrainingError, match=r"step 1: loss_function gave a loss of shape \[8\]"):
        toy.run(tmp_path, extra={"loss_function": per_example})


def test_a_model_can_be_trained_twice(tmp_path: Path) -> None:
    model = toy.fresh_model()
    toy.run(tmp_path / "one", model=model, max_steps=2)
    assert not model.training
    toy.run(tmp_path / "two", model=model, max_steps=2)
    assert len(toy.losses(tmp_path / "two")) == 2


class Renewed(list):
    """Examples that say in which epoch they were asked for."""

    def at(self, epoch: int) -> list[dict]:
        return [{**example, "epoch": epoch} for example in self]


def test_examples_can_differ_from_epoch_to_epoch(tmp_path: Path) -> None:
    seen: list[list[int]] = []

    def collate(examples: list[dict]) -> dict:
        seen.append([example["epoch"] for example in examples])
        return toy.collate(examples)

    extra = {"examples": Renewed(toy.make_examples()), "collate": collate, "evaluate": None, "best": None}
    settings = {"num_train_epochs": 3, "per_device_train_batch_size": 25, "save_steps": 5}
    toy.run(tmp_path, extra=extra, **settings)
    assert seen == [[epoch] * 25 for epoch in (0, 0, 0, 1, 1, 1, 2, 2, 2)]
    seen.clear()
    checkpoint = str(tmp_path / "checkpoint-5")
    toy.run(tmp_path / "resumed", extra=extra, **settings, resume_from_checkpoint=checkpoint)
    assert seen == [[epoch] * 25 for epoch in (1, 2, 2, 2)]
