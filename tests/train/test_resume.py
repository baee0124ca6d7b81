"""A run that was killed, stopped or broken goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from torch import nn

from pocketbert.errors import CheckpointError, TrainingError
from pocketbert.train.interrupt import Interrupted
from pocketbert.train.log import read_log
from pocketbert.train.state import checkpoints, read_folder
from train import toy

# Everything that has a state: dropout, moments, a moving average, snapshots, means over several steps in the log.
FULL = {"ema_decay": 0.9, "average_last": 2, "average_steps": 5, "save_steps": 4, "eval_strategy": "steps"}
FULL |= {"eval_steps": 6, "num_train_epochs": 5, "gradient_accumulation_steps": 2}


def scores(folder: Path) -> list[tuple[int, dict]]:
    return [
        (record["step"], record["scores"])
        for record in read_log(folder / "log.jsonl")
        if record["kind"] == "evaluation"
    ]


def assert_same_weights(one: nn.Module, other: nn.Module) -> None:
    for (name, first), second in zip(one.state_dict().items(), other.state_dict().values(), strict=True):
        assert torch.equal(first, second), name


def test_killed_at_a_random_step(tmp_path: Path) -> None:
    """A real process, SIGKILL at a random moment, then resumed: the same losses to the last bit."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    expected, found = toy.fresh_model(), toy.fresh_model()
    toy.run(whole, model=expected, **FULL)

    settings = {**FULL, "output_dir": str(killed)}
    wanted = random.Random().randrange(5, 24)
    command = [sys.executable, toy.__file__, json.dumps([settings]), "24"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 300
    while len(toy.losses(killed)) < wanted:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the run never came to the step where it was to be killed"
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    reached = toy.losses(killed)[-1][0]
    assert reached < len(toy.losses(whole)), "the run was over before it was killed"

    result = toy.run(killed, model=found, resume_from_checkpoint="latest", **FULL)
    assert toy.losses(killed) == toy.losses(whole), f"killed after step {reached}"
    assert scores(killed) == scores(whole)
    assert_same_weights(found, expected)
    assert result.steps == 25
    assert not list(killed.rglob(".unfinished*"))


@pytest.mark.parametrize("optim", ["adamw", "relative", "lamb"])
def test_resumed_from_any_checkpoint(tmp_path: Path, optim: str) -> None:
    whole = tmp_path / "whole"
    settings = {
        "num_train_epochs": 1.5,
        "save_steps": 3,
        "save_total_limit": 9,
        "optim": optim,
        "logging_steps": 2,
    }
    expected = toy.fresh_model()
    toy.run(whole, model=expected, **settings)
    assert [path.name for path in checkpoints(whole)] == [f"checkpoint-{step}" for step in (3, 6, 9, 12, 15)]
    for step in (3, 12, 15):
        copied, model = tmp_path / f"from-{step}", toy.fresh_model()
        shutil.copytree(whole, copied)
        toy.run(copied, model=model, resume_from_checkpoint=str(copied / f"checkpoint-{step}"), **settings)
        assert toy.losses(copied) == toy.losses(whole)
        assert_same_weights(model, expected)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_after_its_step(tmp_path: Path, number: signal.Signals) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    settings = {**FULL, "save_steps": 100}
    toy.run(whole, **settings)

    def interrupted(model: nn.Module, batch: dict, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        if step == 5 and not sent:
            sent.append(number)
            os.kill(os.getpid(), number)
        return toy.loss_function(model, batch, step)

    sent: list[int] = []
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught:
        toy.run(stopped, extra={"loss_function": interrupted}, **settings)
    assert signal.getsignal(number) is before
    folder = stopped / "checkpoint-6"
    assert str(caught.value) == (
        f"stopped after step 6 of 25; the last good checkpoint is {folder}: "
        f"resume with --resume_from_checkpoint {folder}"
    )
    # An evaluation was due at this very step: it is made up for.
    assert scores(stopped) == []
    toy.run(stopped, resume_from_checkpoint=str(folder), **settings)
    assert toy.losses(stopped) == toy.losses(whole)
    assert scores(stopped) == scores(whole)


def test_a_second_interrupt_breaks_off_at_once(tmp_path: Path) -> None:
    def impatient(model: nn.Module, batch: dict, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return toy.loss_function(model, batch, step)

    with pytest.raises(KeyboardInterrupt):
        toy.run(tmp_path, extra={"loss_function": impatient})


def test_a_loss_scale_goes_on_from_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fp16 needs another device, its scaler does not: it starts high and falls while gradients overflow."""

    def with_scaler(_settings: object) -> Accelerator:
        accelerator = Accelerator()
        accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=2)
        return accelerator

    monkeypatch.setattr("pocketbert.train.machine._accelerator", with_scaler)
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"

    def steep(model: nn.Module, batch: dict, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        loss, values = toy.loss_function(model, batch, step)
        return loss + 1000 * (loss - loss.detach()), values

    settings = {"max_steps": 12, "save_steps": 5, "eval_strategy": "no", "extra": {"loss_function": steep}}
    expected, found = toy.fresh_model(), toy.fresh_model()
    toy.run(whole, model=expected, **settings)
    scales = [read_folder(whole / f"checkpoint-{step}").progress["scale"]["scale"] for step in (10, 12)]
    assert scales[0] < 2.0**126
    shutil.copytree(whole / "checkpoint-10", resumed / "checkpoint-10")
    toy.run(resumed, model=found, resume_from_checkpoint="latest", **settings)
    assert toy.losses(resumed) == toy.losses(whole)[10:]
    assert read_folder(resumed / "checkpoint-12").progress["scale"]["scale"] == scales[1]
    assert_same_weights(found, expected)


def test_a_finished_run_can_be_extended(tmp_path: Path) -> None:
    toy.run(tmp_path, num_train_epochs=1, lr_scheduler_type="constant")
    result = toy.run(
        tmp_path, num_train_epochs=2, lr_scheduler_type="constant", resume_from_checkpoint="latest"
    )
    assert result.steps == 20
    assert [step for step, *_ in toy.losses(tmp_path)] == list(range(1, 21))
    with pytest.raises(TrainingError, match="is at step 20, but this run ends at 10"):
        toy.run(tmp_path, num_train_epochs=1, resume_from_checkpoint="latest")


def test_latest_begins_anew_where_nothing_is(tmp_path: Path) -> None:
    assert toy.run(tmp_path, max_steps=2, resume_from_checkpoint="latest").steps == 2


def test_a_folder_with_a_run_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    toy.run(tmp_path, max_steps=2)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TrainingError, match=r"holds an earlier run \(checkpoint-2\): add --resume_from"):
        toy.run(tmp_path, max_steps=1)
    toy.run(tmp_path, max_steps=1, overwrite_output_dir=True)
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-1"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 1}, "seed was 42 and is now 1"),
        ({"per_device_train_batch_size": 4}, "per_device_train_batch_size was 8 and is now 4"),
        ({"optim": "lamb"}, "optim was adamw and is now lamb"),
        ({"extra": {"examples": toy.make_examples(70)}}, "examples was 75 and is now 70"),
    ],
)
def test_what_cannot_be_resumed_exactly_is_said(tmp_path: Path, changes: dict, said: str) -> None:
    toy.run(tmp_path, max_steps=1)
    with pytest.raises(TrainingError, match=f"cannot be resumed exactly: {said}"):
        toy.run(tmp_path, max_steps=2, resume_from_checkpoint="latest", **changes)


def test_another_model_is_said(tmp_path: Path) -> None:
    toy.run(tmp_path, max_steps=1)
    wider = toy.fresh_model()
    wider.head = nn.Linear(toy.WIDTH, 3)
    with pytest.raises(CheckpointError, match=r"head\.weight is \[2, 12\] there and \[3, 12\] here"):
        toy.run(tmp_path, model=wider, max_steps=2, resume_from_checkpoint="latest")
    wider.tail = nn.Linear(1, 1)
    with pytest.raises(CheckpointError, match=r"2 names differ, such as \['tail\.bias'"):
        toy.run(tmp_path, model=wider, max_steps=2, resume_from_checkpoint="latest")
    with pytest.raises(CheckpointError, match=r"trained encoder\..*, which this run does not"):
        toy.run(tmp_path, max_steps=2, freeze_embeddings=True, resume_from_checkpoint="latest")


@pytest.mark.parametrize("name", ["state.json", "model.safetensors", "optimiser.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "empty", "garbled"])
def test_a_damaged_checkpoint_is_said(tmp_path: Path, name: str, damage: str) -> None:
    toy.run(tmp_path, max_steps=1)
    file = tmp_path / "checkpoint-1" / name
    content = file.read_bytes()
    file.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "garbled": content[::-1]}[damage])
    with pytest.raises(CheckpointError, match="is not a checkpoint of a training run"):
        toy.run(tmp_path, max_steps=2, resume_from_checkpoint="latest")


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"nowhere' is no folder; .* has no checkpoint"):
        toy.run(tmp_path, resume_from_checkpoint="nowhere")
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        toy.run(tmp_path / "out", resume_from_checkpoint=str(tmp_path))
    toy.run(tmp_path / "run", max_steps=1)
    with pytest.raises(CheckpointError, match="best-1 holds weights only"):
        toy.run(tmp_path / "out", resume_from_checkpoint=str(tmp_path / "run" / "best-1"))


def test_reading_a_checkpoint_runs_no_code(tmp_path: Path) -> None:
    found = []
    sys.addaudithook(lambda event, _: found.append(event) if event == "pickle.find_class" else None)
    toy.run(tmp_path, max_steps=1, ema_decay=0.5)
    toy.run(tmp_path, max_steps=2, ema_decay=0.5, resume_from_checkpoint="latest")
    assert found == []
    files = {path.suffix for path in (tmp_path / "checkpoint-2").iterdir()}
    assert files == {".safetensors", ".json"}


def test_a_shared_weight_is_saved_once(tmp_path: Path) -> None:
    class Tied(toy.Model):
        def __init__(self) -> None:
            super().__init__()
            self.again = nn.Linear(toy.WIDTH, toy.WORDS, bias=False)
            self.again.weight = self.encoder.embeddings["words"].weight

    for resume in (None, "latest"):
        toy.run(tmp_path, model=Tied(), max_steps=1 if resume is None else 2, resume_from_checkpoint=resume)
    assert "again.weight" not in read_folder(tmp_path / "checkpoint-2").tensors["model"]


def test_checkpoints_by_the_clock(tmp_path: Path) -> None:
    toy.run(tmp_path, max_steps=5, save_minutes=1e-9, save_total_limit=3)
    assert [path.name for path in checkpoints(tmp_path)] == [f"checkpoint-{step}" for step in (3, 4, 5)]
