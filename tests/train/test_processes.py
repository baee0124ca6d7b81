"""Two processes: the losses of a single one with a large batch, files written once, resumed exactly."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from train import toy

SETTINGS = {
    "num_train_epochs": 2,
    "gradient_accumulation_steps": 2,
    "save_steps": 3,
    "save_total_limit": 9,
    "ema_decay": 0.9,
}


def launch(*runs: dict) -> None:
    """What `accelerate launch --cpu --num_processes 2` sets up, without the time its own process takes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "ACCELERATE_USE_CPU": "true",
    }
    command = [sys.executable, toy.__file__, json.dumps(runs)]
    processes = [
        subprocess.Popen(
            command,
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [process.communicate(timeout=400)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(outputs)


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
