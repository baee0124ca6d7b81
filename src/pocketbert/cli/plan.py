"""`pocketbert plan`: what a run will take, before it begins."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import ModuleType

import click

from pocketbert.cli.train import load
from pocketbert.errors import InputError
from pocketbert.train import catalogue
from pocketbert.train.command import recipe_command
from pocketbert.train.fields import setting


class Plans(click.Group):
    """A group whose commands plan a recipe's run instead of doing it."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for name, file in catalogue.recipes().items() if _has_plan(file)]

    def get_command(self, context: click.Context, name: str) -> click.Command:
        file = catalogue.find(name)
        if not _has_plan(file):
            known = ", ".join(self.list_commands(context))
            raise InputError(f"the recipe {name} cannot be planned; there are plans for: {known}")
        module = load(file)
        return recipe_command(file, _plan_settings(module), module.plan)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Recipes"):
            formatter.write_dl(
                [(name, catalogue.describe(catalogue.find(name))) for name in self.list_commands(context)]
            )


@click.command(
    "plan",
    cls=Plans,
    subcommand_metavar="RECIPE [--preset NAME] [--setting value …] [--processes N] [--flops_per_second N]",
    epilog="The settings are the recipe's: pocketbert plan RECIPE --help.",
)
def command() -> None:
    """Tell the steps, tokens, memory and time of a run in advance.

    Without --flops_per_second the speed of this machine is measured by a short step.
    """


def _has_plan(file: Path) -> bool:
    return "\ndef plan(" in file.read_text(encoding="utf-8")


def _plan_settings(module: ModuleType) -> type:
    """A recipe's settings, those of the machine added, without those that only a real run needs."""
    added = [
        ("processes", int, setting(1, help="how many devices share the work")),
        (
            "flops_per_second",
            float | None,
            setting(None, help="what one device does in this precision; none: measure this machine"),
        ),
        ("output_dir", Path, setting(Path("unused"), help="a plan writes nothing")),
        ("train_file", tuple[str, ...], setting((), help="a plan reads nothing")),
    ]
    return dataclasses.make_dataclass(
        "PlanSettings", added, bases=(module.Settings,), frozen=True, kw_only=True
    )
