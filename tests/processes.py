"""Processes that the tests start: several that find each other, as `torchrun` does it, and some that may do less."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

_PORTS = iter(range(20_000 + 500 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]), 32_768))


def free_port() -> int:
    """A port that nobody listens on, and that the system gives to nobody who asks for any."""
    for port in _PORTS:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)):
                return port
    raise OSError("no port is free")


def launch(command: Sequence[str], count: int = 2) -> None:
    """What `torchrun --nproc_per_node 2` sets up, without the time its own process takes."""
    shared = {
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "ACCELERATE_USE_CPU": "true",
        "LOCAL_WORLD_SIZE": str(count),
        "PYTHONFAULTHANDLER": "1",  # a process that dies of a signal says where
    }
    processes = [
        subprocess.Popen(
            command,
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(count)
    ]
    outputs = [process.communicate(timeout=400)[0] for process in processes]
    codes = [process.returncode for process in processes]
    assert codes == [0] * count, f"left with {codes}\n" + "\n".join(outputs)


def obey_permissions() -> None:
    """Called in a new process before its program: permissions of files hold for it, though it may be root's."""
    if sys.platform == "linux" and os.geteuid() == 0:
        drop, dac_override, dac_read_search = 24, 1, 2  # of the capabilities that a program can get
        for capability in (dac_override, dac_read_search):
            if ctypes.CDLL(None, use_errno=True).prctl(drop, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "root cannot be told to obey")
