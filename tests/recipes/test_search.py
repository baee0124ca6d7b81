"""A search as a user runs it: trials, the best of them as the result, and on after a kill."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pocketbert.cli import main
from pocketbert.heads import build, load, save
from pocketbert.text import Tokenizer
from pocketbert.train.log import read_log

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
QUICK = ["max_seq_length=16", "validation_split=0.25"]
STEADY = ["warmup_ratio=0", "lr_scheduler_type=constant", "plot_curves=false"]
GRID = "learning_rate=1e-2,1e-7 per_device_train_batch_size=4,8"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    save(build("mobilebert-nano"), folder)
    Tokenizer.load().save(folder)
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> Path:
    """Texts about fruit and about tools, which even a model of two thin blocks can tell apart."""
    draw = random.Random(1)
    kinds = {"fruit": ["apple", "pear", "plum"], "tool": ["hammer", "saw", "knife"]}
    lines = ["text,label"]
    for number in range(48):
        kind = ("fruit", "tool")[number % 2]
        lines.append(f"{draw.choice(['a', 'the', 'my'])} {draw.choice(kinds[kind])} {number},{kind}")
    file = tmp_path_factory.mktemp("texts") / "texts.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def command(texts: Path, encoder: Path, out: Path, *more: str) -> list[str]:
    given = ["--text", "text", "--label", "label", "--model", str(encoder), "--output_dir", str(out)]
    return ["train", "classify", str(texts), *given, *QUICK, *more]


def record(out: Path) -> dict:
    return json.loads((out / "trials.json").read_text())


def outcome(out: Path) -> list[tuple]:
    """What must not differ between two searches."""
    return [(t["number"], t["values"], t["state"], t["score"], t["seen"]) for t in record(out)["trials"]]


@pytest.fixture(scope="module")
def searched(texts, encoder, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("search") / "fruit"
    more = ["num_train_epochs=4", *STEADY, "--search", "--search_space", GRID]
    assert main(command(texts, encoder, out, *more)) == 0
    return out


def test_the_best_trial_is_the_result(searched, texts, encoder, tmp_path) -> None:
    found = record(searched)
    assert [trial["state"] for trial in found["trials"]] == ["finished"] * 4, (
        "a small space is gone through whole"
    )
    best = found["trials"][found["best"]]
    assert best["score"] == max(trial["score"] for trial in found["trials"])
    assert best["values"]["learning_rate"] == 1e-2
    assert best["score"] > min(trial["score"] for trial in found["trials"]) + 20
    assert json.loads((searched / "scores.json").read_text()) == best["scores"]
    assert load(searched).report.new == ()
    batch = best["values"]["per_device_train_batch_size"]
    alone = ["num_train_epochs=4", *STEADY, "learning_rate=1e-2", f"per_device_train_batch_size={batch}"]
    assert main(command(texts, encoder, tmp_path / "alone", *alone)) == 0
    expected = load_file(tmp_path / "alone" / "model.safetensors")
    for name, weight in load_file(searched / "model.safetensors").items():
        assert torch.equal(weight, expected[name]), name


def test_only_the_best_weights_are_kept(searched) -> None:
    assert [path.parent for path in searched.rglob("*.safetensors")] == [searched]
    best = record(searched)["best"]
    assert sorted(path.name for path in (searched / "trials").iterdir()) == [
        f"trial-{number:02d}" for number in range(4) if number != best
    ]
    for folder in (searched / "trials").iterdir():
        assert {path.name for path in folder.iterdir()} == {
            "log.jsonl", "settings.json", "run.json", "scores.json"
        }  # fmt: skip


def test_the_result_names_its_own_folder_and_says_how_it_was_chosen(searched) -> None:
    settings = json.loads((searched / "settings.json").read_text())
    assert settings["output_dir"] == str(searched)
    assert settings["search"] is None
    card = (searched / "README.md").read_text()
    assert "# fruit\n" in card
    assert "trial-0" not in card
    assert "the best of 4 trials (4 finished)" in card
    assert "optimistic" in card
    with (searched / "trials.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["best"] for row in rows].count("1") == 1
    assert {row["learning_rate"] for row in rows} == {"0.01", "1e-07"}


def test_a_search_that_is_there_is_not_overwritten(searched, texts, encoder, capsys) -> None:
    more = ["num_train_epochs=4", *STEADY, "--search", "--search_space", GRID]
    again = command(texts, encoder, searched, *more)
    assert main(again) == 1
    assert "--resume_from_checkpoint latest to go on with it" in capsys.readouterr().err
    assert main([*again, "weight_decay=0.2", "--resume_from_checkpoint"]) == 1
    assert "weight_decay was 0.01 and is now 0.2" in capsys.readouterr().err
    assert main([*again, "--resume_from_checkpoint", "checkpoint-3"]) == 2
    assert "say latest" in capsys.readouterr().err
    before = outcome(searched)
    assert main([*again, "--resume_from_checkpoint", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["scores"] == json.loads((searched / "scores.json").read_text())
    assert report["best"]["learning_rate"] == 1e-2
    assert outcome(searched) == before, "nothing was left to do"


def test_killed_and_gone_on_with(texts, encoder, tmp_path, capsys) -> None:
    """A real process, SIGKILL in the middle of its second trial, then resumed: the same trials, the same scores."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    space = "learning_rate=1e-3:3e-2 per_device_train_batch_size=4,8"
    more = [
        "num_train_epochs=6",
        "save_steps=5",
        "plot_curves=false",
        "--search",
        "3",
        "--search_space",
        space,
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "pocketbert", *command(texts, encoder, killed, *more)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 200
    while not list((killed / "trials").glob("trial-01/checkpoint-*")):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the search never came to its second trial"
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    states = [trial["state"] for trial in record(killed)["trials"]]
    assert states == ["finished", "running"]
    assert main(command(texts, encoder, whole, *more)) == 0
    capsys.readouterr()
    assert main(command(texts, encoder, killed, *more, "--resume_from_checkpoint")) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("trial  state     learning_rate")
    assert "the best of 3 trials is" in shown.out
    assert "trial 1 of 3" not in shown.err, "progress is for terminals"
    assert outcome(killed) == outcome(whole)
    lines = [line for log in killed.rglob("log.jsonl") for line in read_log(log) if line["kind"] == "start"]
    assert sorted(line["step"] for line in lines)[-1] >= 5, "the killed trial went on from its checkpoint"
    for name, weight in load_file(whole / "model.safetensors").items():
        assert torch.equal(weight, load_file(killed / "model.safetensors")[name]), name
    more[more.index("3")] = "4"
    assert main(command(texts, encoder, killed, *more, "--resume_from_checkpoint")) == 0
    assert outcome(killed)[:3] == outcome(whole)
    assert len(outcome(killed)) == 4
    assert [path.parent for path in killed.rglob("*.safetensors")] == [killed]
    assert "the best of 4 trials" in (killed / "README.md").read_text()


def test_what_falls_behind_is_given_up(texts, encoder, tmp_path) -> None:
    rates = "3e-2,2.5e-2,2e-2,1.5e-2,1e-2,1e-7,2e-7"
    more = ["num_train_epochs=4", "per_device_train_batch_size=4", *STEADY]
    space = ["--search_space", f"learning_rate={rates}", "--search"]
    arguments = command(texts, encoder, tmp_path / "out", *more, *space)
    assert main(arguments) == 0
    trials = record(tmp_path / "out")["trials"]
    pruned = [trial for trial in trials if trial["state"] == "pruned"]
    assert pruned
    assert all(trial["values"]["learning_rate"] < 1e-6 and len(trial["seen"]) < 4 for trial in pruned)
    assert trials[record(tmp_path / "out")["best"]]["state"] == "finished"


def test_a_trial_that_diverges_ends_only_itself(texts, encoder, tmp_path, capsys) -> None:
    space = ["--search", "--search_space", "learning_rate=1e-2,1e30"]
    assert main(command(texts, encoder, tmp_path / "out", "max_steps=8", "plot_curves=false", *space)) == 0
    states = {
        trial["values"]["learning_rate"]: trial["state"] for trial in record(tmp_path / "out")["trials"]
    }
    assert states == {1e-2: "finished", 1e30: "failed"}
    assert "failed" in capsys.readouterr().out
    assert main(command(texts, encoder, tmp_path / "none", "max_steps=1", "plot_curves=false")) == 0
    space[-1] = "learning_rate=1e29,1e30"
    assert main(command(texts, encoder, tmp_path / "none", "max_steps=8", "plot_curves=false", *space)) == 1
    assert "holds an earlier run (checkpoint-1)" in capsys.readouterr().err
    space.insert(0, "--overwrite_output_dir")
    assert main(command(texts, encoder, tmp_path / "none", "max_steps=8", "plot_curves=false", *space)) == 1
    assert "no trial came to a score; trial 0: step" in capsys.readouterr().err
    assert not list((tmp_path / "none").glob("checkpoint-*"))


RECIPES = {
    "squad": [str(DATA / "squad-train.json"), "--validation_file", str(DATA / "squad-dev.json")],
    "glue": ["--task", "sst-2", "--data_dir", str(DATA / "glue")],
    "tags": [str(DATA / "names.conll"), "--lora_rank", "2"],
    "choice": [
        str(DATA / "quiz.csv"),
        "--text",
        "question",
        "--candidates",
        "first,second,third",
        "--label",
        "right",
    ],
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_searches_the_recommended_ranges(recipe, encoder, tmp_path) -> None:
    out = tmp_path / recipe
    given = ["--preset", "toy", "--model", str(encoder), "--output_dir", str(out), "plot_curves=false"]
    assert main(["train", recipe, *RECIPES[recipe], *given, "--search", "2"]) == 0
    found = record(out)
    assert found["space"] == (
        {"learning_rate": "3e-4:5e-4", "per_device_train_batch_size": "16,32"}
        if recipe == "tags"
        else {"learning_rate": "1e-5:1e-4", "per_device_train_batch_size": "16,32,48"}
    ), "max_steps says how long a trial is, so epochs are not searched"
    assert [trial["state"] for trial in found["trials"]] == ["finished"] * 2
    assert load(out).report.new == ()
    assert (out / "adapter" / "adapter_config.json").is_file() == (recipe == "tags")
    assert ("RoBERTa" if recipe == "tags" else "MobileBERT (arXiv 2004.02984)") in (
        out / "README.md"
    ).read_text()


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--search", "soon"], "search = 'soon': give a number of trials"),
        (["--search", "--search_space", "learning_rate=0,1e-4"], "learning_rate = 0.0: must be above 0"),
        (["--search", "--search_space", "learning_rate=1e-5,1e-4", "learning_rate=1"], "given twice"),
        (["--search", "--search_space", "num_train_epochs=2,3", "max_steps=5"], "max_steps decides"),
        (
            ["learning_rate=1", "per_device_train_batch_size=4", "num_train_epochs=1", "--search"],
            "nothing is left to search",
        ),
        (["--labels", "stone,tree", "--search"], "the label 'fruit' is unknown"),
    ],
)
def test_a_search_that_cannot_be(more, complaint, texts, encoder, tmp_path, capsys) -> None:
    assert main(command(texts, encoder, tmp_path / "out", *more)) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
