"""Recipes on the command line: run by name or path, copied, listed; flags, files and key=value."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pocketbert.cli import copy as copy_verb
from pocketbert.cli import list as list_verb
from pocketbert.cli import train as train_verb
from pocketbert.errors import InputError
from pocketbert.train import catalogue
from pocketbert.train.command import main
from train import toy

RECIPE = '''"""Learn which numbers are small.

    pocketbert train ./numbers.py --output_dir out

Expect an accuracy of 0.9.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.loop import train
from pocketbert.train.settings import LoopSettings

sys.path.insert(0, HELPERS)
import toy


@dataclass(frozen=True, kw_only=True)
class Settings(LoopSettings):
    data: Path = setting(Path("none"), help="a file of numbers", positional=True)
    plot_curves: bool = False
    max_steps: int | None = 2


def run(settings: Settings) -> dict[str, float]:
    result = train(
        toy.fresh_model(),
        examples=toy.make_examples(),
        collate=toy.collate,
        loss_function=toy.loss_function,
        evaluate=toy.evaluate,
        best="accuracy",
        settings=settings,
    )
    return dict(result.scores)


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
'''


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    file = tmp_path / "numbers.py"
    file.write_text(RECIPE.replace("HELPERS", repr(str(Path(toy.__file__).parent))))
    (tmp_path / "presets" / "numbers").mkdir(parents=True)
    (tmp_path / "presets" / "numbers" / "quick.toml").write_text("max_steps = 1\nlearning_rate = 0.5\n")
    return file


def invoke(command: click.Command, *words: object) -> object:
    return command.main([str(word) for word in words], prog_name="pocketbert", standalone_mode=False)


def saved_settings(folder: Path) -> dict:
    return json.loads((folder / "settings.json").read_text())


def test_flags_files_and_assignments(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("weight_decay = 0.5\nseed = 7\n")
    words = [
        "--preset",
        "quick",
        "--config",
        config,
        "--output-dir",
        tmp_path / "out",
        "--overwrite_output_dir",
    ]
    words += ["--per_device_train_batch_size", "4", "seed=8", "warmup-ratio=0", "numbers.txt", "--json"]
    assert invoke(train_verb.command, recipe, *words) == 0
    found = saved_settings(tmp_path / "out")
    expected = {
        "max_steps": 1,
        "learning_rate": 0.5,
        "weight_decay": 0.5,
        "seed": 8,
        "warmup_ratio": 0.0,
        "per_device_train_batch_size": 4,
        "overwrite_output_dir": True,
        "data": "numbers.txt",
    }
    assert {name: found[name] for name in expected} == expected
    assert json.loads(capsys.readouterr().out).keys() == {"accuracy", "loss"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--preset", "slow"], "no preset 'slow'; there are: quick"),
        (
            ["lerning_rate=1"],
            "unknown setting 'lerning_rate' in the command line; did you mean learning_rate",
        ),
        (["seed=1", "seed=2"], "seed is given twice: '1' and '2'"),
        (["--seed", "1", "seed=2"], "seed is given twice"),
        (["--seed", "x"], "seed = 'x' in the command line: allowed is a whole number"),
        (["--output_dir", "out", "--max_steps", "-5"], "max_steps = -5: must be at least 1"),
        (["--output_dir", "out", "--max-steps=-5", "--json"], "max_steps = -5: must be at least 1"),
        (["--learning_rate", "-.5e-3", "--output_dir", "out"], r"learning_rate = -0\.0005: must be above 0"),
        (["--resume_from_checkpoint", "--seed", "-1", "output_dir=out"], "seed = -1: must be at least 0"),
        (["--max_steps", "--seed", "3"], "--max_steps has no value: --seed comes right behind it"),
        (["--seed", "-1", "seed=2"], "seed is given twice: '-1' and '2'"),
        (["one.txt", "two.txt"], "'two.txt' is neither --setting value nor key=value"),
        ([], "without a value: --output_dir"),
    ],
)
def test_misuse_is_said(recipe: Path, words: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        invoke(train_verb.command, recipe, *words)


def test_an_unknown_flag_is_said(recipe: Path) -> None:
    with pytest.raises(click.NoSuchOption, match="learning_rat"):
        invoke(train_verb.command, recipe, "--learning_rat", "1")


def test_the_help_is_made_of_the_settings(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(train_verb.command, recipe, "--help") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "pocketbert train ./numbers.py --output_dir out" in text
    assert "Settings that come with the recipe: quick." in text
    assert "--max_steps <a whole number or none>" in text
    assert "[default: 5e-05]" in text
    assert "--optim <adamw | relative | lamb> Optimiser; relative: AdamW for folded models" in text
    assert (
        text.index("Settings of this recipe")
        < text.index("--data <a path>")
        < text.index("Settings of training")
    )
    assert text.index("--preset NAME") < text.index("Settings of this recipe")
    assert "--output_dir <a path> Folder for weights, checkpoints, log and curves [required]" in text


def test_resuming_by_a_bare_flag(recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    invoke(train_verb.command, recipe, "--output_dir", out)
    invoke(train_verb.command, recipe, f"output_dir={out}", "max_steps=4", "--resume_from_checkpoint")
    assert [step for step, *_ in toy.losses(out)] == [2, 4]


def test_a_copied_recipe_is_a_program(recipe: Path, tmp_path: Path) -> None:
    """In a process of its own, and in bfloat16, which some processors claim to have and have not."""
    mine = tmp_path / "mine" / "my_numbers.py"
    assert catalogue.copy(recipe, mine) == [mine, mine.parent / "presets" / "my_numbers" / "quick.toml"]
    out = tmp_path / "out"
    words = ["--preset", "quick", "--output_dir", out, "--mixed_precision", "bf16", "--json"]
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"}
    done = subprocess.run(
        [sys.executable, mine, *words], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout).keys() == {"accuracy", "loss"}
    assert saved_settings(out)["mixed_precision"] == "bf16"
    assert done.stderr == ""


def test_exit_statuses_of_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pocketbert.errors import TrainingError
    from pocketbert.train.interrupt import Interrupted

    file = tmp_path / "mine.py"
    file.write_text('"""Mine."""')

    def status(error: Exception | None, *words: str) -> int:
        def run(_settings: object) -> None:
            if error is not None:
                raise error

        from pocketbert.train.settings import LoopSettings

        return main(file, LoopSettings, run, ["--output_dir", "out", *words])

    assert status(None) == 0
    assert status(TrainingError("no")) == 1
    assert status(InputError("no")) == 2
    assert status(None, "--zzz", "1") == 2
    assert status(None, "zzz=1") == 2
    assert status(Interrupted("stopped after step 3")) == 130
    assert status(None, "--help") == 0
    errors = capsys.readouterr().err
    assert "mine.py: no\n" in errors
    assert "stopped after step 3\n" in errors


def test_our_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    invoke(list_verb.command, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["recipes"].keys() == catalogue.recipes().keys() >= {"squad"}
    assert all(recipe["summary"] for recipe in found["recipes"].values())
    assert "mobilebert" in found["models"]
    invoke(list_verb.command)
    text = capsys.readouterr().out
    for name, recipe in found["recipes"].items():
        assert f"  {name}: {recipe['summary']}" in text
        assert all(f"    {preset}\n" in text for preset in recipe["presets"])


def test_every_recipe_of_ours_can_be_copied_and_explains_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in catalogue.recipes():
        invoke(copy_verb.command, name, tmp_path, "--json")
        files = [Path(file) for file in json.loads(capsys.readouterr().out)["files"]]
        assert files[0] == tmp_path / f"{name}.py"
        assert files[0].read_text() == catalogue.recipes()[name].read_text()
        assert catalogue.presets_of(files[0]).keys() == catalogue.presets_of(catalogue.find(name)).keys()
        invoke(train_verb.command, files[0], "--help")
        assert "--output_dir" in capsys.readouterr().out
        with pytest.raises(InputError, match="exists already"):
            invoke(copy_verb.command, name, tmp_path)


def test_the_help_of_train_lists_recipes_and_imports_none(capsys: pytest.CaptureFixture[str]) -> None:
    invoke(train_verb.command, "--help")
    text = capsys.readouterr().out
    assert all(name in text for name in catalogue.recipes())
    code = (
        "import sys; from pocketbert.cli.train import command\n"
        "command.main(['--help'], prog_name='train', standalone_mode=False)\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_no_recipe_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no recipe 'squd'; did you mean squad\?"):
        catalogue.find("squd")
    with pytest.raises(InputError, match="there is no recipe file"):
        catalogue.find(str(tmp_path / "none.py"))
    file = tmp_path / "odd.py"
    file.write_text("Settings = 1")
    with pytest.raises(InputError, match="is no recipe: it must define `run`"):
        invoke(train_verb.command, file)
    file.write_text("def broken(")
    with pytest.raises(InputError, match="is not a Python file one can read"):
        catalogue.describe(file)
