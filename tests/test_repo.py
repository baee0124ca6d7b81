"""The repository keeps house: paths in documents exist, the changelog is current, nothing private is tracked."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import pocketbert

ROOT = Path(__file__).resolve().parent.parent
TRACKED = subprocess.run(
    ["git", "ls-files", "-z", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split("\0")[:-1]
MODES = {line.split("\t", 1)[1]: line.split()[0] for line in TRACKED}
FILES = [ROOT / name for name in MODES if (ROOT / name).is_file()]
DOCUMENTS = [path for path in FILES if path.suffix == ".md"]

# Put together from pieces, so that this file holds none of them.
UNWANTED = ["/" + "root/", "/" + "work/", "TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_that_a_document_names_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    missing = [name for name in paths_named(text) if not exists(name, document)]
    assert missing == []


def test_a_missing_path_is_found_out() -> None:
    text = "See [there](docs/nowhere.md#top), `scripts/nothing --fast` and [the web](https://example.org/docs/x.md)."
    assert paths_named(text) == ["docs/nowhere.md", "scripts/nothing"]
    assert not exists("docs/nowhere.md", ROOT / "README.md")
    assert exists("tests/test_*.py", ROOT / "README.md")


def test_the_changelog_has_this_version() -> None:
    assert f"## [{pocketbert.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_nothing_private_or_unfinished_is_tracked() -> None:
    found = []
    for path in FILES:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a binary file
        found += [f"{path.relative_to(ROOT)}: {word}" for word in UNWANTED if word in text]
    assert found == []


def test_nothing_large_is_tracked() -> None:
    """But the embedded models, which have a limit of their own."""
    limits = {path: 27_000_000 if path.match("assets/*/onnx/*.onnx") else 5_000_000 for path in FILES}
    assert [path for path, limit in limits.items() if path.stat().st_size > limit] == []


def test_scripts_can_be_run() -> None:
    scripts = {name: mode for name, mode in MODES.items() if name.startswith(("scripts/", ".ci/"))}
    wanted = {
        name: "100644" if name.endswith(".sh") else "100755" for name in scripts
    }  # .sh is sourced, not run
    assert scripts == wanted


def test_torch_is_pinned() -> None:
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()


def paths_named(text: str) -> list[str]:
    """Targets of relative links, and words in backticks that begin with one of our folders."""
    links = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    code = [word for span in re.findall(r"`([^`\n]+)`", text) for word in span.split()]
    ours = re.compile(r"(src|tests|docs|scripts|benchmarks|examples|\.ci)/[\w./*-]+")
    return [target for target in links if target] + [word for word in code if ours.fullmatch(word)]


def exists(name: str, document: Path) -> bool:
    """Links are relative to their document; names in the text are relative to the clone."""
    return any(next(base.glob(name), None) is not None for base in (document.parent, ROOT))
