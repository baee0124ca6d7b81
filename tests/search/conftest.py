"""A server for every process of the tests that needs one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres_server import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    # Not in pytest's own folders: the path of a socket must be short, and another user must reach it.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    running = Server(folder / "data")
    yield running
    running.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def address(server: Server) -> Iterator[str]:
    """Where an index may be made; it is gone after the test."""
    name = "index_of_a_test"
    yield f"{server.address}#{name}"
    server.run(f"drop schema if exists {name} cascade")
