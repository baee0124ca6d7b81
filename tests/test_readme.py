"""Nothing shipped is untested text: every command and code block of the documents is run as it stands."""

from __future__ import annotations

import doctest
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import documents
import pocketbert
from pocketbert.heads import save_sentences, sentence_model
from pocketbert.text.sentence_config import SentenceConfig

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name != "LOG.md"),
]


def sources() -> Iterator[tuple[str, str]]:
    """Every module of the package and its text."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path.read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_document_does_what_it_shows(
    document: Path, workplace: Path, hub_cache: Path, request: pytest.FixtureRequest
) -> None:
    environment = {
        **os.environ,
        "PATH": f"{workplace / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HF_HOME": str(hub_cache),
        "HF_HUB_OFFLINE": "1",
        "NO_COLOR": "1",
    }
    if "$DATABASE" in document.read_text(encoding="utf-8"):
        environment["DATABASE"] = request.getfixturevalue("postgres").address
    documents.run(document, folder=workplace, environment=environment)


def test_numbers_in_documents_are_those_of_the_results() -> None:
    command = [sys.executable, ROOT / "benchmarks" / "tables.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", [module for module, text in sources() if ">>> " in text])
def test_docstring_examples_do_what_they_show(module: str) -> None:
    names = {name: getattr(pocketbert, name) for name in pocketbert.__all__}
    outcome = doctest.testmod(import_module(module), extraglobs=names)
    assert outcome.attempted > 0
    assert outcome.failed == 0


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


@pytest.fixture(scope="module")
def hub_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache as huggingface_hub keeps it, with small random models under the names that the documents use."""
    home = tmp_path_factory.mktemp("huggingface")
    config = replace(pocketbert.preset("mobilebert"), num_hidden_layers=2)
    pocketbert.build(config, "pretraining").save(snapshot(home, "google/mobilebert-uncased"))
    width = SentenceConfig().dimensions
    config = replace(
        pocketbert.preset("bert-nano"), hidden_size=width, vocab_size=30_522, max_position_embeddings=512
    )
    save_sentences(
        sentence_model(pocketbert.build(config), SentenceConfig()),
        snapshot(home, "sentence-transformers/all-MiniLM-L6-v2"),
    )
    pocketbert.build(config, "classification", labels=["LABEL_0"], problem="regression").save(
        snapshot(home, "cross-encoder/ms-marco-MiniLM-L6-v2")
    )
    return home


def snapshot(home: Path, name: str) -> Path:
    """The folder of a model in a cache, with a tokenizer in it."""
    folder = home / "hub" / f"models--{name.replace('/', '--')}"
    revision = "0" * 40
    place = folder / "snapshots" / revision
    place.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(revision)
    pocketbert.Tokenizer.load().save(place)
    return place


def write_script(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{line}\n")
    path.chmod(0o755)
