"""Settings: one field is a flag, a TOML key and a line of help; what is wrong is said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from pocketbert.errors import InputError
from pocketbert.train.fields import fields_of, read_toml, resolve, setting, to_json
from pocketbert.train.settings import LoopSettings


@dataclass(frozen=True, kw_only=True)
class Settings(LoopSettings):
    train_file: tuple[Path, ...] = setting(help="files")
    size: int | None = setting(None, help="a size")
    kind: Literal["small", "large"] = setting("small", help="a kind")
    ratios: tuple[float, ...] = setting((0.5, 1.0), help="ratios")
    learning_rate: float = 4e-5


def given(**values: object) -> Settings:
    return resolve(Settings, overrides={"output_dir": "out", "train_file": "a.json", **values})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("num_train_epochs", "2.5", 2.5),
        ("num_train_epochs", 2, 2.0),
        ("max_steps", "10_000", 10_000),
        ("max_steps", "none", None),
        ("size", "7", 7),
        ("kind", "large", "large"),
        ("ratios", "0.1, 2", (0.1, 2.0)),
        ("ratios", [1, 2.5], (1.0, 2.5)),
        ("ratios", "none", ()),
        ("train_file", "a.json,b.json", (Path("a.json"), Path("b.json"))),
        ("train_file", ["a.json"], (Path("a.json"),)),
        ("group_by_length", "False", False),
        ("group_by_length", True, True),
        ("greater_is_better", "no", False),
        ("resume_from_checkpoint", "latest", "latest"),
        ("learning-rate", "1e-3", 1e-3),
    ],
)
def test_values_become_what_the_field_holds(name: str, value: object, expected: object) -> None:
    found = getattr(given(**{name: value}), name.replace("-", "_"))
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("num_train_epochs", "three", "a number"),
        ("num_train_epochs", "inf", "a number"),
        ("num_train_epochs", True, "a number"),
        ("max_steps", "1.5", "a whole number or none"),
        ("max_steps", 1.5, "a whole number or none"),
        ("kind", "huge", "small | large"),
        ("group_by_length", "maybe", "true | false"),
        ("ratios", "a,b", "a list (a,b,c) of a number"),
        ("train_file", 3, "a list (a,b,c) of a path"),
        ("seed", "none", "a whole number"),
        ("seed", [1], "a whole number"),
    ],
)
def test_a_wrong_value_says_what_is_allowed(name: str, value: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        given(**{name: value})
    assert str(caught.value) == f"{name} = {value!r} in the command line: allowed is {said}"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("per_device_train_batch_size", "0", "at least 1"),
        ("num_train_epochs", "0", "above 0"),
        ("learning_rate", "-1", "above 0"),
        ("warmup_ratio", "1.5", "0 … 1"),
        ("ema_decay", "1", "below 1"),
        ("save_steps", "0", "at least 1"),
    ],
)
def test_a_value_no_run_can_use_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(InputError, match=f"{name} = .*{said}"):
        given(**{name: value})


def test_an_unknown_name_lists_near_ones() -> None:
    with pytest.raises(InputError, match=r"'learning_rat' in the command line; did you mean learning_rate"):
        given(learning_rat="1")
    with pytest.raises(InputError, match=r"known are .*adam_beta1"):
        given(zzz="1")


def test_what_is_missing_is_listed() -> None:
    with pytest.raises(InputError, match=r"without a value: --output_dir \(.*\), --train_file \(files\)"):
        resolve(Settings)


def test_later_layers_win(tmp_path: Path) -> None:
    preset, config = tmp_path / "preset.toml", tmp_path / "config.toml"
    preset.write_text('learning_rate = 1e-3\nsize = 1\nkind = "large"\n')
    config.write_text('size = 2\noutput_dir = "from-file"\n')
    settings = resolve(
        Settings, preset=preset, config=config, overrides={"size": "3", "train_file": "a.json"}
    )
    assert (settings.learning_rate, settings.kind, settings.size) == (1e-3, "large", 3)
    assert settings.output_dir == Path("from-file")
    assert settings.weight_decay == 0.01


def test_files_say_where_they_are_wrong(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    with pytest.raises(InputError, match=r"cannot read .*settings\.toml"):
        read_toml(file)
    file.write_text("learning_rate: 3")
    with pytest.raises(InputError, match="not a TOML file"):
        read_toml(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not a TOML file"):
        read_toml(file)
    file.write_text("lerning_rate = 3")
    with pytest.raises(InputError, match=r"config .*settings\.toml; did you mean learning_rate"):
        resolve(Settings, config=file)


def test_a_changed_default_keeps_its_help() -> None:
    field = fields_of(Settings)["learning_rate"]
    assert (field.default, field.help) == (4e-5, fields_of(LoopSettings)["learning_rate"].help)
    assert all(field.help for field in fields_of(Settings).values())


def test_settings_survive_json() -> None:
    settings = given(size="3", ratios="1,2")
    assert resolve(Settings, overrides=to_json(settings)) == settings
