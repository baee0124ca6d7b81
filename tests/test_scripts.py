"""The set-up behind scripts/run and scripts/test, with an installation of our own in the place of pip's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Waits, leaves a line and does what the environment variable INSTALL says: it stands for pip.
SCRIPT = """
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "$0")")/environment.sh"
install_tiny() { echo installed >>"$root/log"; echo to stderr >&2; ${INSTALL:-sleep 0.3}; }
prepare tiny
echo ready
"""


def test_set_up_happens_once_and_again_only_when_needed(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"  # the blank is part of the test
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    for name in ("pyproject.toml", "constraints.txt", "tested.txt"):
        shutil.copy(ROOT / name, clone)
    (clone / "scripts" / "tiny").write_text(SCRIPT)
    kept = clone / ".venv" / "kept"

    both = [start(clone), start(clone)]
    assert [process.communicate()[0] for process in both] == ["ready\n", "ready\n"]
    assert installations(clone) == 1  # two at once, one set-up
    kept.touch()

    again = start(clone)
    assert again.communicate() == ("ready\n", "")
    assert installations(clone) == 1

    with (clone / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    failed = start(clone, INSTALL="false")
    assert failed.communicate()[0] == ""
    assert failed.returncode == 1
    assert start(clone).communicate()[0] == "ready\n"
    assert installations(clone) == 3
    assert kept.exists()  # neither a change nor a failure is a reason to begin from nothing

    (clone / ".venv" / ".installed-tiny").unlink()
    killed = start(clone, INSTALL="sleep 30")
    wait_for(clone / ".venv" / ".unfinished")
    os.killpg(killed.pid, 9)
    killed.communicate()
    assert start(clone).communicate()[0] == "ready\n"
    assert not kept.exists()  # but a set-up that was killed is
    count = installations(clone)

    moved = clone.rename(tmp_path / "moved")
    assert start(moved).communicate()[0] == "ready\n"
    assert installations(moved) == count + 1


def start(clone: Path, **environment: str) -> subprocess.Popen[str]:
    command = ["bash", str(clone / "scripts" / "tiny")]
    environment = {**os.environ, "PYTHON": sys.executable, **environment}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd="/", env=environment, text=True, start_new_session=True, **streams)


def installations(clone: Path) -> int:
    return (clone / "log").read_text().count("installed")


def wait_for(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.02)
