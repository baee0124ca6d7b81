"""What docs/family.md shows of the models is what they are: figures, and pictures drawn from their configs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from pocketbert.model import PRESETS
from pocketbert.model.measure import measure

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "family.md").read_text(encoding="utf-8")
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "draw_family.py"))
FIGURES = re.findall(r"^\| `([\w-]+)` \| (\d+) M \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)


def test_every_architecture_is_shown() -> None:
    shown = {PRESETS[name].model_type for name, *_ in FIGURES}
    assert shown == {config.model_type for config in PRESETS.values()}
    assert [
        name for name, *_ in FIGURES if f"![{name.split('-')[0]}](pictures/{name}.svg)" in PAGE.lower()
    ] == [name for name, *_ in FIGURES]
    assert set(SCRIPT["MODELS"]) == {name for name, *_ in FIGURES}


@pytest.mark.parametrize(("name", "millions", "blocks", "width"), FIGURES)
def test_figures_are_those_of_the_models(name, millions, blocks, width) -> None:
    found = measure(PRESETS[name])
    assert (round(found.parameters / 1e6), found.layers, found.width) == (
        int(millions),
        int(blocks),
        int(width),
    )


@pytest.mark.parametrize("name", SCRIPT["MODELS"])
def test_pictures_are_drawn_from_the_configs(name) -> None:
    kept = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert kept == SCRIPT["picture"](name), "run scripts/draw_family.py"
