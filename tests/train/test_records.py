"""What a run leaves beside the weights: log, bar, curves, provenance and the model card."""

from __future__ import annotations

import hashlib
import json
import os
import pty
from dataclasses import dataclass
from pathlib import Path

import pytest

import pocketbert
from pocketbert.errors import InputError
from pocketbert.train.card import write_card
from pocketbert.train.curves import smoothed
from pocketbert.train.fields import resolve, setting
from pocketbert.train.log import Log, Progress, clock, read_log
from pocketbert.train.provenance import git_commit, sha256
from pocketbert.train.settings import LoopSettings
from train import toy


@dataclass(frozen=True, kw_only=True)
class Settings(LoopSettings):
    model: str = setting("google/mobilebert-uncased", help="encoder")


def test_what_is_saved_beside_the_weights(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text("[1, 2]")
    toy.run(tmp_path / "run", max_steps=2, plot_curves=True, extra={"data_files": [data]})
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["data"] == {str(data): {"sha256": hashlib.sha256(b"[1, 2]").hexdigest(), "bytes": 6}}
    assert run["seed"] == 42
    assert run["steps"] == 2
    assert run["versions"]["pocketbert"] == pocketbert.__version__
    assert {"python", "torch", "numpy", "accelerate"} <= run["versions"].keys()
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings == run["settings"]
    assert resolve(LoopSettings, overrides=settings) == toy.make_settings(
        tmp_path / "run", max_steps=2, plot_curves=True
    )
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_data_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the data file"):
        toy.run(tmp_path, max_steps=1, extra={"data_files": [tmp_path / "nowhere.json"]})


def test_the_commit_is_known_only_in_a_repository(tmp_path: Path) -> None:
    assert git_commit(tmp_path) is None
    assert sha256(Path(__file__)) == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def test_a_log_is_continued_after_the_step_it_resumes_at(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    log = Log(file, after=None)
    for step in (1, 2, 3):
        log.write("train", step, {"loss": 0.1 * step})
    with file.open("a") as stream:
        stream.write('{"kind": "train", "st')  # cut short by a kill
    assert [record["step"] for record in read_log(file)] == [1, 2, 3]
    Log(file, after=2).write("train", 3, {"loss": 0.3})
    assert [(record["step"], record["loss"]) for record in read_log(file)] == [(1, 0.1), (2, 0.2), (3, 0.3)]


def test_the_bar_is_for_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(10, enabled=True)
    progress.show(5, loss=1.0, rate=1e-3, tokens_per_second=10.0)
    progress.say("hello")
    progress.close()
    assert capsys.readouterr().err == ""


def test_the_bar_says_loss_rate_speed_and_time_left() -> None:
    ours, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stream:
        progress = Progress(10, enabled=True, stream=stream)
        progress.show(9, loss=0.25, rate=1e-3, tokens_per_second=1234.0)
        progress.say("step 9: f1 80")
        progress.show(10, loss=0.125, rate=1e-3, tokens_per_second=1234.0)
        progress.close()
        written = ""
        while "0:00 left" not in written:  # a terminal hands over what was flushed, piece by piece
            written += os.read(ours, 10_000).decode()
    os.close(ours)
    assert "step 9: f1 80" in written
    assert "100% 10/10  loss 0.1250  rate 1.00e-03  1,234 tokens/s  0:00 left" in written


def test_a_clock() -> None:
    assert [clock(seconds) for seconds in (5, 65.4, 3661)] == ["0:05", "1:05", "1:01:01"]


def test_smoothing_is_a_mean_of_the_last_values() -> None:
    import numpy as np

    values = np.arange(100.0)
    assert smoothed(values)[50] == values[46:51].mean()
    assert smoothed(values[:1])[0] == 0


def test_the_model_card(tmp_path: Path) -> None:
    data = tmp_path / "train.json"
    data.write_text("[]")
    toy.run(tmp_path / "reader", max_steps=1, extra={"data_files": [data]})
    settings = resolve(Settings, overrides={"output_dir": str(tmp_path / "reader"), "learning_rate": "1e-4"})
    file = write_card(
        tmp_path / "reader",
        task="question-answering",
        settings=settings,
        scores={"f1": 79.12344},
        evaluated_on="dev.json",
        license="apache-2.0",
        text="It reads.",
    )
    text = file.read_text()
    import yaml  # comes with huggingface_hub

    head = yaml.safe_load(text.split("---\n")[1])
    assert head["pipeline_tag"] == "question-answering"
    assert head["base_model"] == "google/mobilebert-uncased"
    assert head["license"] == "apache-2.0"
    result = head["model-index"][0]["results"][0]
    assert result["metrics"] == [{"type": "f1", "name": "f1", "value": 79.1234}]
    assert "| `f1` | 79.12 |" in text
    assert f"| train.json | 2 | `{hashlib.sha256(b'[]').hexdigest()}` |" in text
    assert "learning_rate = 0.0001" in text
    assert "weight_decay" not in text
    assert "| torch | " in text


def test_a_card_without_a_run(tmp_path: Path) -> None:
    settings = resolve(LoopSettings, overrides={"output_dir": str(tmp_path / "out")})
    text = write_card(tmp_path, task="fill-mask", settings=settings, scores={}).read_text()
    assert text.startswith("---\n")
    assert "model-index" not in text
