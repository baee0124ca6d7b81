"""`pocketbert train`: run a recipe, ours by name or one's own by path."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import click

from pocketbert.errors import InputError, require
from pocketbert.train import catalogue
from pocketbert.train.command import recipe_command


class Recipes(click.Group):
    """A group whose commands are recipes; one is imported when it is run."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(catalogue.recipes())

    def get_command(self, context: click.Context, name: str) -> click.Command:  # noqa: ARG002
        file = catalogue.find(name)
        module = load(file)
        return recipe_command(file, module.Settings, module.run)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Recipes"):
            formatter.write_dl(
                [(name, catalogue.describe(file)) for name, file in catalogue.recipes().items()]
            )


@click.command(
    "train",
    cls=Recipes,
    subcommand_metavar="RECIPE [--preset NAME] [--setting value …] [key=value …]",
    epilog="Each recipe explains its settings: pocketbert train RECIPE --help.",
)
def command() -> None:
    """Train a model with a recipe.

    RECIPE is a name of the list below or the path of your own file (`pocketbert copy` makes you one). What
    comes later wins: defaults, --preset, --config, flags and key=value.
    """


def load(file: Path) -> ModuleType:
    """Import a recipe file."""
    for package in ("torch", "accelerate"):
        require(package, extra="lab")
    ours = file.parent == catalogue.FOLDER
    module = import_module(f"pocketbert.recipes.{file.stem}") if ours else _import_file(file)
    for name in ("Settings", "run"):
        if not hasattr(module, name):
            raise InputError(f"{file} is no recipe: it must define `{name}` (see pocketbert copy)")
    return module


def _import_file(file: Path) -> ModuleType:
    name = f"pocketbert_recipe_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their annotations there
    spec.loader.exec_module(module)
    return module
