"""`pocketbert list`: the recipes, their presets, and the model presets."""

from __future__ import annotations

import json
from importlib.util import find_spec

import click

from pocketbert.train import catalogue


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(as_json: bool) -> None:
    """List recipes, their presets and the model presets."""
    found = {
        name: {"summary": catalogue.describe(file), "presets": list(catalogue.presets_of(file))}
        for name, file in catalogue.recipes().items()
    }
    models = _model_presets()
    if as_json:
        click.echo(json.dumps({"recipes": found, "models": models}))
        return
    click.echo("Recipes (pocketbert train RECIPE --preset PRESET)")
    for name, recipe in found.items():
        click.echo(f"  {name}: {recipe['summary']}")
        for preset in recipe["presets"]:
            click.echo(f"    {preset}")
    click.echo("Models (pocketbert info MODEL)")
    for name in models:
        click.echo(f"  {name}")
    if not models:
        click.echo('  none without the lab: pip install "pocketbert[lab]"')


def _model_presets() -> list[str]:
    if find_spec("torch") is None:
        return []
    from pocketbert.model import PRESETS

    return list(PRESETS)
