"""Fixtures for every test: where the real data is, a database server, and a wall against the network."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from postgres_server import Server

ROOT = Path(__file__).resolve().parent.parent

pytest_plugins = ["network"]

# The models in the tests are tiny: threads would only wait for each other, and the suite runs in two processes.
# Set before anything imports torch, and inherited by the commands that tests run.
os.environ.setdefault("OMP_NUM_THREADS", "1")


# What a landing depends on must not depend on chance, nor on how busy a machine is.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    """Each test draws the same numbers, whichever ran before it in its process."""
    random.seed(0)
    np.random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data sets and weights beside the clone; tests that need it are skipped without."""
    folder = ROOT.parent / "shared"
    if not (folder / "unpack").is_file():
        pytest.skip(f"real data was not there: no folder 'shared' beside {ROOT.name}/")
    return folder


@pytest.fixture(scope="session")
def unpacked(shared: Path) -> Callable[[str], Path]:
    """`unpacked("qa")` is the folder of that data set, unpacked at the first call and kept outside the clone.

    The environment variable POCKETBERT_TEST_DATA names another folder to unpack into, or an unpacked one.
    """
    fallback = Path(tempfile.gettempdir()) / f"pocketbert-data-{os.getuid()}"
    cache = Path(os.environ.get("POCKETBERT_TEST_DATA") or fallback)

    def unpack(name: str) -> Path:
        folder = cache / name
        if not (folder / ".complete").exists():
            cache.mkdir(parents=True, exist_ok=True)
            with (cache / ".lock").open("w") as lock:  # two workers may ask at once
                fcntl.flock(lock, fcntl.LOCK_EX)
                subprocess.run([shared / "unpack", cache, name], check=True, capture_output=True, text=True)
        return folder

    return unpack


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server for every process of the tests that needs one."""
    from postgres_server import Server

    # Not in pytest's own folders: the path of a socket must be short, and another user must reach it.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    running = Server(folder / "data")
    yield running
    running.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def address(postgres: Server) -> Iterator[str]:
    """Where an index may be made; it is gone after the test."""
    name = "index_of_a_test"
    yield f"{postgres.address}#{name}"
    postgres.run(f"drop schema if exists {name} cascade")
