"""docs/settings.md says what the ranges and the presets are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pocketbert.train.catalogue import FOLDER, find, presets_of, recipes
from pocketbert.train.fields import read_toml
from pocketbert.train.trials.ranges import LORA, OTHERS, RANGES

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "settings.md").read_text(encoding="utf-8")
COLUMNS = (
    "per_device_train_batch_size",
    "learning_rate",
    "num_train_epochs",
    "warmup_ratio",
    "max_seq_length",
)


def rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_range_is_as_the_search_has_it() -> None:
    shown = {row[0]: row[1:] for row in rows("Ranges")}
    known = {**RANGES, "others": OTHERS, "any, with `--lora_rank": LORA}
    assert shown == {
        name: [ranges.batch, ranges.rate, ranges.epochs, ranges.source] for name, ranges in known.items()
    }


def test_every_preset_is_as_its_file_has_it() -> None:
    fine_tuning = [name for name in recipes() if "@searchable" in (FOLDER / f"{name}.py").read_text()]
    known = {(name, preset): file for name in fine_tuning for preset, file in presets_of(find(name)).items()}
    shown = {(row[0], row[1]): [float(cell) for cell in row[2:7]] for row in rows("Presets")}
    assert shown.keys() == {key for key in known if key[1] != "toy"}
    for key, numbers in shown.items():
        saved = read_toml(known[key])
        assert numbers == pytest.approx([saved[column] for column in COLUMNS]), key
