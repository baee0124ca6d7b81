"""Two processes: the losses of a single one with a large batch, files written once, resumed exactly."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

import processes
from pocketbert.errors import InputError
from pocketbert.train.log import read_log
from pocketbert.train.state import read_folder
from train import toy

SETTINGS = {
    "num_train_epochs": 2,
    "gradient_accumulation_steps": 2,
    "save_steps": 3,
    "save_total_limit": 9,
    "ema_decay": 0.9,
}


def launch(*runs: dict) -> None:
    processes.launch([sys.executable, toy.__file__, json.dumps(runs)])


# The group that steps use gives up after a second; the main process takes three for what comes before them.
PATIENT = """
import sys, time
from datetime import timedelta
from pathlib import Path
from accelerate import PartialState
state = PartialState(cpu=True, timeout=timedelta(seconds=1))
from pocketbert.train.together import leave_together, main_first, processes, wait_for_all
file = Path(sys.argv[1])
with main_first():
    if processes().is_main_process:
        time.sleep(3)
        file.write_text("done")
    assert file.read_text() == "done"
if not processes().is_main_process:
    time.sleep(3)
wait_for_all()
leave_together()
"""


def test_what_takes_long_before_the_steps_is_waited_for(tmp_path: Path) -> None:
    processes.launch([sys.executable, "-c", PATIENT, str(tmp_path / "file")])


def test_two_processes(tmp_path: Path) -> None:
    """75 examples in steps of 16: the last step leaves the second process a batch short."""
    alone, both = tmp_path / "alone", tmp_path / "both"
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    toy.run(alone, model=toy.fresh_model(dropout=0.0), **SETTINGS, per_device_train_batch_size=8)
    common = {**SETTINGS, "per_device_train_batch_size": 4}
    launch(
        {**common, "output_dir": str(both), "dropout": 0.0},
        {**common, "output_dir": str(whole)},
        {**common, "output_dir": str(resumed), "resume_from_checkpoint": str(whole / "checkpoint-6")},
    )
    # They are one large batch, and write what one process writes.
    for first, second in zip(toy.losses(alone), toy.losses(both), strict=True):
        assert first == pytest.approx(second, abs=1e-5)
    assert {path.name for path in both.iterdir()} == {path.name for path in alone.iterdir()}
    # Each has dropout of its own, which goes on where it was.
    assert toy.losses(resumed) == toy.losses(whole)[6:]
    assert toy.losses(whole) != toy.losses(both)


def test_two_processes_with_a_shard_each(tmp_path: Path) -> None:
    """Weights, gradients and moments cut in two: the losses of one process, and checkpoints that a run goes on with."""
    settings = {**SETTINGS, "ema_decay": None, "average_last": 2}
    cut = {**settings, "per_device_train_batch_size": 4, "dropout": 0.0, "sharding": "full"}
    resumed = tmp_path / "resumed"
    launch(
        *({**cut, "optim": optim, "output_dir": str(tmp_path / optim)} for optim in ("adamw", "lamb")),
        {
            **cut,
            "output_dir": str(resumed),
            "resume_from_checkpoint": str(tmp_path / "adamw" / "checkpoint-6"),
        },
    )
    assert toy.losses(resumed) == toy.losses(tmp_path / "adamw")[6:]
    for optim in ("adamw", "lamb"):
        both, alone = tmp_path / optim, tmp_path / f"{optim}-alone"
        model = toy.fresh_model(dropout=0.0)
        toy.run(alone, model=model, **settings, optim=optim, per_device_train_batch_size=8)
        for first, second in zip(toy.losses(alone), toy.losses(both), strict=True):
            assert first == pytest.approx(second, abs=1e-5)
        expected, found = (read_folder(folder / "checkpoint-10").tensors for folder in (alone, both))
        for kind in ("model", "optimiser"):
            assert found[kind].keys() == expected[kind].keys()
            for name, tensor in expected[kind].items():
                if name != "encoder.seen":  # a buffer counts what its own process has seen
                    assert torch.allclose(found[kind][name], tensor, atol=1e-4), name
        ends = [read_log(folder / "log.jsonl")[-2]["scores"] for folder in (alone, both)]
        assert ends[0]["loss"] == pytest.approx(ends[1]["loss"], abs=1e-4), "evaluated whole"


def test_shards_go_with_neither_average_nor_fp16(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sharding = full goes neither with"):
        toy.make_settings(tmp_path, sharding="full", ema_decay=0.9)
