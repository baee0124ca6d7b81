"""`pocketbert distill`: the recipe of that name, as a verb of its own."""

from __future__ import annotations

from pocketbert.cli.train import load
from pocketbert.train.catalogue import find
from pocketbert.train.command import recipe_command

_FILE = find("distill")
_RECIPE = load(_FILE)

command = recipe_command(_FILE, _RECIPE.Settings, _RECIPE.run)
