"""All contenders alive at once, each in its own process; in each round each has its turn, with a rest before it."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

REST = 0.3  # seconds, in which the threads of the contender before stop spinning


class Contender:
    """A process that takes cases."""

    def __init__(self, kind: str, folder: str, threads: int) -> None:
        self.peak = 0.0
        command = [sys.executable, str(Path(__file__).with_name("contenders.py")), kind, folder, str(threads)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def take(self, case: dict[str, Any]) -> dict[str, Any]:
        """How long a case took, and what came out."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        time.sleep(REST)
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        said: dict[str, Any] = json.loads(self._process.stdout.readline())
        self.peak = max(self.peak, said["megabytes"])
        return said

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def encode(
    contenders: dict[str, Contender], texts: list[str], *, rounds: int, folder: Path
) -> dict[str, list[float]]:
    """Seconds of each round; the vectors of the first, which warms up and does not count, go to `folder`."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for round_number in range(rounds + 1):
        for number, (name, contender) in enumerate(contenders.items()):
            vectors = None if round_number else str(folder / f"{number}.npy")
            said = contender.take({"task": "encode", "texts": texts, "vectors": vectors})
            if round_number:
                taken[name].append(said["seconds"])
    return taken


def speeds(
    taken: dict[str, list[float]], texts: int, base: str, contenders: dict[str, Contender]
) -> dict[str, dict[str, Any]]:
    """Sentences a second, how many times that is the first contender's, and memory."""
    usual = {name: statistics.median(seconds) for name, seconds in taken.items()}
    return {
        name: {
            "sentences_per_second": round(texts / seconds, 1),
            "times": round(usual[base] / seconds, 2),
            "peak_megabytes": round(contenders[name].peak),
        }
        for name, seconds in usual.items()
    }


def agreement(folder: Path, names: list[str], base: str) -> dict[str, dict[str, float]]:
    """The cosines between each contender's vectors and those of the first, where they are of the same model."""
    vectors = {name: np.load(folder / f"{number}.npy") for number, name in enumerate(names)}
    found = {}
    for name, rows in vectors.items():
        if rows.shape != vectors[base].shape or name == base:
            continue
        products = (rows * vectors[base]).sum(axis=1)
        cosines = products / (np.linalg.norm(rows, axis=1) * np.linalg.norm(vectors[base], axis=1))
        found[name] = {"mean": round(float(cosines.mean()), 5), "least": round(float(cosines.min()), 5)}
    return found
