"""The few exceptions of the house, and checks that raise them: catch `PocketbertError` and you have caught them all.

Every message says what was given, what is allowed and what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType


class PocketbertError(Exception):
    """Anything that Pocketbert itself refuses to do."""


class InputError(PocketbertError, ValueError):
    """A text, an argument or a data file that cannot be used as it is."""


class ConfigError(PocketbertError, ValueError):
    """A model configuration that is malformed or describes nothing we can build."""


class CheckpointError(PocketbertError):
    """Weights that are missing, malformed, unsafe or do not fit the model."""


class TokenizerError(PocketbertError):
    """A tokenizer file that is missing or malformed."""


class HubError(PocketbertError):
    """A model name that could not be turned into local files."""


class TrainingError(PocketbertError):
    """A training run that cannot start or go on; its last good checkpoint is intact."""


class ExportError(PocketbertError):
    """An exported model that does not give what the model gave; nothing was written."""


class SearchError(PocketbertError):
    """An index of documents that is missing, damaged, in use, full or made with something else."""


class BulkError(PocketbertError):
    """A run over tables that cannot go on; the parts that it has written are whole, and the same command goes on."""


class MissingExtraError(PocketbertError, ImportError):
    """A package of an optional extra is not installed."""


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse what is no whole number, or too small a one."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} is {value!r}; it must be a whole number from {least} up")


def check_folder(path: Path) -> None:
    """Refuse to write into what is a file, or lies below one."""
    for part in (path, *path.parents):
        if part.is_file():
            raise InputError(f"{path} cannot be a folder to write to: {part} is a file; give another name")


def require(module: str, *, extra: str) -> ModuleType:
    """Import a module of an optional extra, or say exactly how to install it."""
    with needing(extra):
        return import_module(module)


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Turn the failed import of a package into an error that says how to install the extra it belongs to."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "pocketbert":
            raise  # a module of our own is no extra: this is a mistake
        raise MissingExtraError(
            f"this needs the package {error.name!r}, which is not installed; "
            f"install it with: {install_command(extra)}",
            name=error.name,
        ) from error


def install_command(extra: str) -> str:
    """The exact command that adds an extra: to the clone that is running, or to an installed release."""
    # Imported here because every module of the house imports this one, and nearly none of them fails.
    import json
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote

    try:
        origin = json.loads(distribution("pocketbert").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    if "dir_info" not in origin:
        return f'pip install "pocketbert[{extra}]"'
    clone = unquote(origin["url"].removeprefix("file://"))
    pip = [sys.executable, "-m", "pip", "install", "-c", f"{clone}/constraints.txt"]
    return shlex.join([*pip, "-e", f"{clone}[{extra}]"])
