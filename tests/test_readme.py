"""Nothing shipped is untested text: every command and code block of the documents is run as it stands."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import documents

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name != "LOG.md"),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_document_does_what_it_shows(document: Path, workplace: Path) -> None:
    path = f"{workplace / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    documents.run(document, folder=workplace, environment={**os.environ, "PATH": path, "NO_COLOR": "1"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```console\n$ echo two words\ntwo worms\n```", "but gives:\ntwo words"),
        ("```console\n$ echo one\n$ false\n```", "but gives:\none"),
        ("```console\n$ false\n```", "ended with 1"),
        ("```console\necho\n```", "commands start with"),
        ("```python\nprint(1)\n```", "but gives:\n1"),
        ("```python\nx = 1\n```\n```python\nprint(x + y)\n```", "name 'y' is not defined"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```", "but gives:\n1"),
        ("```python\nimport warnings; warnings.warn('old')\n```", "UserWarning: old"),
        ("```\nwhat am I\n```", "is it python"),
        ("```console\n$ echo", "never closed"),
    ],
)
def test_a_document_that_lies_is_found_out(text: str, complaint: str, tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text(text)
    with pytest.raises(AssertionError) as caught:
        documents.run(document, folder=tmp_path, environment=os.environ)
    assert complaint in str(caught.value)


def test_what_a_document_may_leave_out(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text(
        "```console\n"
        "$ printf 'first\\nsecond\\nthird 3\\n'\nfirst\n...\nthird ...\n"
        "$ echo --max_steps \\\n    900\n--max_steps 2\n"
        "$ scripts/test\n"
        "```\n"
        "```python\nx = 1\n```\n"
        "```python\nprint(x)\n```\n```text\n1\n```\n"
    )
    documents.run(document, folder=tmp_path, environment=os.environ)


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A copy of the clone for documents to work in; its scripts/run and pip set up and fetch nothing."""
    folder = tmp_path / "pocketbert"
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name in {"benchmarks", "docs", "examples", "scripts"}:
            shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.is_file():
            shutil.copy(path, folder)
    (folder / "src").symlink_to(ROOT / "src")
    python = shlex.quote(sys.executable)
    offline = "--quiet --dry-run --no-deps --no-index --no-build-isolation --disable-pip-version-check"
    write_script(folder / "scripts" / "run", f'exec {python} -m pocketbert "$@"')
    write_script(folder / "bin" / "pip", f'exec {python} -m pip "$@" {offline}')
    write_script(folder / ".venv" / "bin" / "pip", f'exec {python} -m pip "$@" {offline}')
    return folder


def write_script(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{line}\n")
    path.chmod(0o755)
