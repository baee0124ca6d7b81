"""The recipes at hand: ours by name, anybody's by path. Looking at them imports nothing."""

from __future__ import annotations

import ast
import difflib
import shutil
from pathlib import Path

from pocketbert.errors import InputError

FOLDER = Path(__file__).parent.parent / "recipes"


def recipes() -> dict[str, Path]:
    """Our recipes by name."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.py")) if not file.stem.startswith("_")}


def find(name_or_path: str) -> Path:
    """The file of a recipe, given its name or the path of one's own."""
    if name_or_path.endswith(".py"):
        path = Path(name_or_path)
        if path.is_file():
            return path
        raise InputError(f"there is no recipe file {name_or_path}")
    known = recipes()
    if name_or_path in known:
        return known[name_or_path]
    near = difflib.get_close_matches(name_or_path, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none'}"
    raise InputError(
        f"no recipe {name_or_path!r}; {hint} Your own is given by its path, such as ./my_{name_or_path}.py"
    )


def presets_of(recipe: Path) -> dict[str, Path]:
    """The presets of a recipe by name: TOML files in `presets/<recipe>` beside it."""
    return {file.stem: file for file in sorted((recipe.parent / "presets" / recipe.stem).glob("*.toml"))}


def docstring(recipe: Path) -> str:
    """The docstring of a recipe, read without running it."""
    try:
        return ast.get_docstring(ast.parse(recipe.read_text(encoding="utf-8"))) or ""
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{recipe} is not a Python file one can read: {error}") from error


def describe(recipe: Path) -> str:
    """What a recipe does, in a line: the first one of its docstring that is not its command."""
    for line in docstring(recipe).splitlines():
        if line.strip() and not line.startswith((" ", "pocketbert ", "$", "python ")):
            return line.strip()
    return ""


def copy(recipe: Path, destination: Path) -> list[Path]:
    """Copy a recipe and its presets to a folder or a `.py` file; returns what was written."""
    target = destination if destination.suffix == ".py" else destination / recipe.name
    presets = {target.parent / "presets" / target.stem / f.name: f for f in presets_of(recipe).values()}
    files = {target: recipe, **presets}
    existing = [str(path) for path in files if path.exists()]
    if existing:
        raise InputError(f"{', '.join(existing)} exists already: copy to another place, or delete it first")
    for path, source in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
    return list(files)
