"""Importing is cheap and has no effects, and the public names are what `__all__` says."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pocketbert
from pocketbert.errors import PocketbertError

HEAVY = [
    "torch",
    "onnxruntime",
    "transformers",
    "huggingface_hub",
    "tokenizers",
    "numpy",
    "datasets",
    "accelerate",
    "ray",
]


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    "code",
    [
        "import pocketbert",
        "import pocketbert.cli",
        "from pocketbert.cli import main; main(['--help'])",
        "from pocketbert.cli import main; main(['--version'])",
        "from pocketbert.cli import main; main(['nonesuch'])",
    ],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    report = f"import sys\n{code}\nprint('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    done = run("-c", report)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("loaded: []\n")


def test_importing_has_no_effects() -> None:
    code = (
        "import os, sys, threading, warnings\n"
        "before = dict(os.environ), list(warnings.filters), threading.active_count(), sys.stdout\n"
        "import pocketbert, pocketbert.cli\n"
        "assert before == (dict(os.environ), list(warnings.filters), threading.active_count(), sys.stdout)"
    )
    done = run("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", pocketbert.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(pocketbert, name) is not None
    assert name in dir(pocketbert)


def test_public_names_are_sorted_and_complete() -> None:
    assert pocketbert.__all__ == sorted(pocketbert.__all__)
    assert set(pocketbert.__all__) == {*pocketbert._HOMES, "__version__"}
    errors = {kind.__name__ for kind in PocketbertError.__subclasses__()} | {"PocketbertError"}
    assert errors <= set(pocketbert.__all__)


def test_unknown_public_name_says_which_there_are() -> None:
    with pytest.raises(AttributeError, match=r"nonesuch.*Tokenizer"):
        pocketbert.nonesuch  # noqa: B018 - the access is the test
