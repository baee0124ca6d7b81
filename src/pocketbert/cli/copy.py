"""`pocketbert copy`: make a recipe one's own."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pocketbert.train import catalogue


@click.command("copy")
@click.argument("recipe")
@click.argument("destination", type=click.Path(path_type=Path), default=".")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(recipe: str, destination: Path, as_json: bool) -> None:
    """Copy a recipe and its presets, to change and to own.

    DESTINATION is a folder or a file that ends in .py [default: the current folder]. Nothing is overwritten.
    """
    written = [str(path) for path in catalogue.copy(catalogue.find(recipe), destination)]
    if as_json:
        click.echo(json.dumps({"files": written}))
    else:
        click.echo("\n".join(written))
        click.echo(f"run it with: python {written[0]} --help", err=True)
