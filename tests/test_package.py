"""What is installed: the contents of the wheel, and the command that adds a missing extra."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pocketbert.errors import MissingExtraError, install_command, require

ROOT = Path(__file__).resolve().parent.parent
OFFLINE = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]


def test_missing_package_names_the_exact_command() -> None:
    with pytest.raises(MissingExtraError, match="'nonesuch'") as caught:
        require("nonesuch.deep", extra="lab")
    assert str(caught.value).endswith(f"install it with: {install_command('lab')}")
    assert "[lab]" in install_command("lab")


def test_every_extra_that_is_advised_exists() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = project.split("[project.optional-dependencies]")[1].split("\n[")[0]
    known = set(re.findall(r"^(\w+) = \[", section, re.MULTILINE))
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    advised = {name for text in sources for name in re.findall(r'(?:extra=|needing\()"(\w+)"', text)}
    assert "parquet" in advised
    assert advised <= known


def test_missing_module_of_our_own_is_a_mistake() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pocketbert\.nonesuch"):
        require("pocketbert.nonesuch", extra="lab")


@pytest.mark.parametrize(
    "code", ["main(['info', 'mobilebert'])", "main(['train', 'squad'])", "pocketbert.load"]
)
def test_base_install_says_how_to_get_the_lab(code: str) -> None:
    hidden = "sys.modules.update(torch=None, accelerate=None)"  # as if they were not installed
    command = f"import sys; {hidden}; import pocketbert; from pocketbert.cli import main; sys.exit({code})"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith(f"install it with: {install_command('lab')}\n")
    assert done.stdout == ""


def test_the_command_for_a_missing_extra_installs_this_clone(tmp_path: Path) -> None:
    """Run as printed, but dry and without dependencies: nothing is fetched, nothing is changed."""
    command = " ".join([install_command("lab"), "--dry-run", *OFFLINE])
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Would install pocketbert" in done.stdout
    assert "does not provide the extra" not in done.stderr


def test_the_wheel_carries_what_it_must(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", *OFFLINE, "-w", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("pocketbert-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert sources <= set(names)
    assert "pocketbert/py.typed" in names
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
