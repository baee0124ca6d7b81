"""Which room may import which, and what no room may do at all: read from the source, nothing is imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
PACKAGE = SOURCE / "pocketbert"
FILES = sorted(PACKAGE.rglob("*.py"))

GROUND = {"errors", "text", "hub", "checkpoint", "tables", "vectors"}
MODELS = GROUND | {"model", "heads"}
PREPARATION = {"data", "transfer", "tasks"}

# Room -> the rooms it may import, besides itself. The arrows of the design point one way only.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "hub": {"errors"},
    "checkpoint": {"errors"},
    "text": {"errors"},
    "tables": {"errors"},
    "vectors": {"errors", "text"},
    "model": GROUND,
    "heads": GROUND | {"model"},
    "data": MODELS,
    "transfer": MODELS,
    "tasks": MODELS,
    "train": MODELS | PREPARATION,
    "recipes": MODELS | PREPARATION | {"train", "runtime"},
    "runtime": {"errors", "text", "hub", "vectors"},
    "search": {"errors", "text", "hub", "vectors", "runtime"},
    "serve": {"errors", "text", "hub", "runtime"},
    "bulk": {"errors", "tables", "vectors", "runtime"},
    "export": MODELS | {"tasks", "runtime"},
    "bundle": {"errors", "text", "hub", "runtime", "tasks", "export"},
    "compare": MODELS | {"tasks", "runtime", "export"},
    "cli": MODELS
    | PREPARATION
    | {"train", "recipes", "runtime", "search", "serve", "export", "compare", "bundle", "bulk"},
    "__main__": {"cli"},
    "__init__": MODELS | PREPARATION | {"train", "recipes", "runtime", "search", "serve", "export"},
}
WITHOUT_TORCH = {
    "errors",
    "hub",
    "text",
    "tables",
    "vectors",
    "tasks",
    "runtime",
    "search",
    "serve",
    "bundle",
    "bulk",
}
RUNS_A_MODEL = "predict.py"  # the one kind of file in tasks that needs torch: metrics and features never do
RUNS_ON_RAY = PACKAGE / "bulk" / "on_ray.py"  # imported when Ray is asked for, and by nobody else
THE_ONE_DOOR = PACKAGE / "model" / "foreign.py"  # any transformers encoder may come in here, and nowhere else
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "job" + "lib"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_file_keeps_the_rules(file: Path) -> None:
    assert complaints(file, file.read_text(encoding="utf-8")) == []


def test_light_rooms_load_no_torch() -> None:
    modules = [module_of(file) for file in FILES if without_torch(file)]
    code = f"import sys, {', '.join(modules)}; print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("text/words.py", "from pocketbert.model import preset", "room text imports room model"),
        ("text/words.py", "def f():\n    from ..heads.span import SpanHead", "room text imports room heads"),
        ("hub.py", "from pocketbert import checkpoint", "room hub imports room checkpoint"),
        (
            "model/bert.py",
            "if TYPE_CHECKING:\n    from pocketbert.train import Loop",
            "room model imports room train",
        ),
        ("data/pairs.py", "from pocketbert import Tokenizer", "imports the public name Tokenizer"),
        ("runtime/session.py", "import torch.nn as nn", "room runtime imports torch"),
        ("text/words.py", 'torch = require("torch", extra="lab")', "room text imports torch"),
        ("tasks/squad.py", "def f():\n    from torch import Tensor", "room tasks imports torch"),
        ("text/predict.py", "import torch", "room text imports torch"),
        ("heads/span.py", "import transformers", "imports transformers outside the one door"),
        ("cli/info.py", 'import_module("transformers")', "imports transformers outside the one door"),
        ("runtime/session.py", 'require("ray", extra="ray")', "imports ray outside its one file"),
        ("bulk/plan.py", "import ray.data", "imports ray outside its one file"),
        ("bulk/plan.py", "from pocketbert.cli.texts import told", "room bulk imports room cli"),
        ("train/state.py", "import marshal", "imports marshal"),
        ("train/state.py", "from dill import dump", "imports dill"),
        ("train/state.py", "read = torch.load", "uses torch.load"),
        ("train/state.py", "from torch import load", "uses torch.load"),
        ("train/state.py", "numpy.load(path, allow_pickle=True)", "passes allow_pickle"),
        ("model/foreign.py", "Auto.from_pretrained(x, trust_remote_code=True)", "passes trust_remote_code"),
        ("train/state.py", "eval(text)", "calls eval"),
        ("train/state.py", "exec(text)", "calls exec"),
        ("text/utils.py", "", "is called utils.py"),
        ("text/words.py", "\n" * 401, "is longer than 400 lines"),
        ("attic/words.py", "", "is in no room of the design"),
    ],
)
def test_each_rule_bites(path: str, text: str, complaint: str) -> None:
    assert complaint in complaints(PACKAGE / path, text)


def test_what_is_allowed_passes() -> None:
    lines = [
        "import pocketbert",
        "from pocketbert import __version__",
        "from ..text.words import cut",
        "model.eval()",
    ]
    assert complaints(PACKAGE / "heads" / "span.py", "\n".join(lines)) == []
    assert complaints(PACKAGE / "tasks" / "squad" / "predict.py", "import torch") == []
    assert complaints(THE_ONE_DOOR, 'require("transformers", extra="dev")') == []


def complaints(file: Path, text: str) -> list[str]:
    """What is wrong with a source file, as short sentences without their subject."""
    room = room_of(file)
    if room not in MAY_IMPORT:
        return ["is in no room of the design"]
    found = []
    if file.name == "utils.py":
        found.append("is called utils.py")
    if text.count("\n") > 400:
        found.append("is longer than 400 lines")
    tree = ast.parse(text)
    for name in imports(tree, file):
        top, *rest = name.split(".")
        if top == "pocketbert" and rest:
            if rest[0] in MAY_IMPORT:
                if rest[0] not in MAY_IMPORT[room] | {room}:
                    found.append(f"room {room} imports room {rest[0]}")
            elif rest[0] != "__version__":
                # From its home, please: the arrows cannot be seen otherwise.
                found.append(f"imports the public name {rest[0]}")
        if top == "torch" and without_torch(file):
            found.append(f"room {room} imports torch")
        if top == "transformers" and file != THE_ONE_DOOR:
            found.append("imports transformers outside the one door")
        if top == "ray" and file != RUNS_ON_RAY:
            found.append("imports ray outside its one file")
        if top in UNSAFE_MODULES:
            found.append(f"imports {top}")
        if name == "torch.load":
            found.append("uses torch.load")
    return found + list(unsafe_calls(tree))


def imports(tree: ast.AST, file: Path) -> Iterator[str]:
    """Every name that a file imports, wherever in it and however it is done, as a full dotted name."""
    package = module_of(file).split(".")
    if file.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, node.module] if node.module else base
            yield from (".".join([*base, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Call) and called(node) in {"require", "import_module", "__import__"}:
            yield from (str(argument.value) for argument in node.args if isinstance(argument, ast.Constant))


def unsafe_calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "load":
            if isinstance(node.value, ast.Name) and node.value.id == "torch":
                yield "uses torch.load"
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in {"eval", "exec"}:
                yield f"calls {node.func.id}"
            for keyword in node.keywords:
                if (
                    keyword.arg in {"allow_pickle", "trust_remote_code"}
                    and ast.unparse(keyword.value) != "False"
                ):
                    yield f"passes {keyword.arg}"


def without_torch(file: Path) -> bool:
    return room_of(file) in WITHOUT_TORCH and not (room_of(file) == "tasks" and file.name == RUNS_A_MODEL)


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def module_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
