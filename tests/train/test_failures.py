"""A run that cannot go on says at which step, why, and which checkpoint is good; that one is intact."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest
import torch
from accelerate.state import AcceleratorState
from torch import nn

from disks import tiny_disk
from pocketbert.errors import InputError, TrainingError
from pocketbert.train.state import checkpoints, read_folder
from train import toy


def breaking_at(step_to_break: int, factor: float, *, gradient_only: bool = False):
    def loss_function(model: nn.Module, batch: dict, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        loss, values = toy.loss_function(model, batch, step)
        if step == step_to_break:
            loss = loss + (loss - loss.detach()) * factor if gradient_only else loss * factor
        return loss, values

    return loss_function


@pytest.mark.parametrize(
    ("factor", "gradient_only", "cause"),
    [
        (float("nan"), False, "the loss is nan"),
        (float("inf"), False, "the loss is inf"),
        (1e38, True, "the gradient is inf"),
    ],
)
def test_a_loss_that_is_no_number(tmp_path: Path, factor: float, gradient_only: bool, cause: str) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    toy.run(whole)
    good = broken / "checkpoint-8"
    with pytest.raises(TrainingError) as caught:
        toy.run(
            broken,
            save_steps=4,
            extra={"loss_function": breaking_at(10, factor, gradient_only=gradient_only)},
        )
    said = str(caught.value)
    assert said.startswith("step 11: the ")
    assert caught.match(cause)
    assert "(examples " in said
    assert said.endswith(f"the last good checkpoint is {good}: resume with --resume_from_checkpoint {good}")
    assert [step for step, *_ in toy.losses(broken)] == list(range(1, 11))
    toy.run(broken, resume_from_checkpoint=str(good))
    assert toy.losses(broken) == toy.losses(whole)


def test_weights_that_are_no_numbers_are_not_saved(tmp_path: Path) -> None:
    """The loss and the gradients of the step were numbers; what it made of the weights is not."""
    toy.run(tmp_path, max_steps=4, save_steps=2)
    with pytest.raises(
        TrainingError, match=r"step 6: some weights are no longer finite.*checkpoint is .*checkpoint-4"
    ):
        toy.run(
            tmp_path, save_steps=2, resume_from_checkpoint="latest",
            extra={"rates": lambda step, _part: 1e45 if step == 5 else 1e-3},
        )  # fmt: skip
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-2", "checkpoint-4"]


def test_no_checkpoint_yet_is_said_too(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no checkpoint had been written yet"):
        toy.run(tmp_path, extra={"loss_function": breaking_at(0, float("nan"))})


def test_a_full_disk(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    toy.run(whole, save_steps=1)
    with tiny_disk(tmp_path / "disk") as mounted:
        if not mounted:
            pytest.skip("only root can mount a small disk; the next test limits the size of files instead")
        output = tmp_path / "disk" / "run"
        with pytest.raises(TrainingError, match="No space left on device") as caught:
            toy.run(output, save_steps=1, save_total_limit=99)
        good = checkpoints(output)[-1]
        assert str(caught.value).endswith(f"--resume_from_checkpoint {good}")
        assert read_folder(good).progress["step"] == int(good.name.removeprefix("checkpoint-"))
        assert not list(output.rglob(".unfinished*"))
        room = ["mount", "-o", "remount,size=9m", str(tmp_path / "disk")]
        subprocess.run(room, check=True)
        toy.run(output, save_steps=1, resume_from_checkpoint="latest")
        assert toy.losses(output) == toy.losses(whole)


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    def limiting(model: nn.Module, batch: dict, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        if step == 5:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        return toy.loss_function(model, batch, step)

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(TrainingError, match=r"step 6: cannot write to .*File too large"):
            toy.run(tmp_path, save_steps=2, extra={"loss_function": limiting})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-2", "checkpoint-4"]
    assert read_folder(tmp_path / "checkpoint-4").progress["step"] == 4


def test_a_folder_one_cannot_write_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"run cannot be a folder to write to: .*file is a file"):
        toy.run(tmp_path / "file" / "run", max_steps=1)
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(TrainingError, match="step 0: cannot write to"):
        toy.run(tmp_path, max_steps=1)


def test_an_error_of_the_recipe_comes_through(tmp_path: Path) -> None:
    def broken(_examples: list[dict]) -> dict:
        raise KeyError("label")

    with pytest.raises(KeyError, match="label"):
        toy.run(tmp_path, extra={"collate": broken})


def test_fp16_needs_a_device_that_has_it(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a device that has it")
    AcceleratorState._reset_state(reset_partial_state=True)
    try:
        with pytest.raises(InputError, match="fp16: this device has none; use bf16, or no"):
            toy.run(tmp_path, mixed_precision="fp16")
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
