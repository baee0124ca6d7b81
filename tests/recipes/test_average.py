"""The mean of models is the mean of their weights, and everything else is the last one's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "teaching" / "average.py"


def model(folder: Path, value: float, **more: float) -> Path:
    (folder / "2_Dense").mkdir(parents=True)
    (folder / "checkpoint-7").mkdir()
    for file in ("model.safetensors", "2_Dense/model.safetensors", "checkpoint-7/model.safetensors"):
        tensors = {name: torch.full((2,), number) for name, number in {"a": value, **more}.items()}
        save_file(tensors, folder / file)
    (folder / "config.json").write_text(f'{{"value": {value}}}')
    return folder


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True)


def test_the_mean_of_weights(tmp_path: Path) -> None:
    first, second = model(tmp_path / "run-1", 1.0), model(tmp_path / "run-2", 5.0)
    done = run(first, second, "--output", tmp_path / "mean", "--shares", 3, 1)
    assert done.returncode == 0, done.stderr
    for file in ("model.safetensors", "2_Dense/model.safetensors"):
        assert load_file(tmp_path / "mean" / file)["a"].tolist() == [2.0, 2.0]
    assert (tmp_path / "mean" / "config.json").read_text() == '{"value": 5.0}'
    assert not (tmp_path / "mean" / "checkpoint-7").exists()


def test_what_cannot_be_averaged(tmp_path: Path) -> None:
    first, second = model(tmp_path / "first", 1.0), model(tmp_path / "second", 5.0, b=1.0)
    assert "give folders of the same architecture" in run(first, second, "--output", tmp_path / "x").stderr
    assert "give one for each" in run(first, second, "--output", tmp_path / "y", "--shares", 1).stderr
