"""Several processes of one program that find each other, as `torchrun` and `accelerate launch` start them."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence


def launch(command: Sequence[str], count: int = 2) -> None:
    """What `accelerate launch --cpu --num_processes 2` sets up, without the time its own process takes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "ACCELERATE_USE_CPU": "true",
        "LOCAL_WORLD_SIZE": str(count),
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
    assert [process.returncode for process in processes] == [0] * count, "\n".join(outputs)
