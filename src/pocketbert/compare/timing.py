"""Time and memory of several models, measured in turns: a busy moment of the machine meets all of them alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pocketbert.errors import PocketbertError

WARM_UP = 2  # runs that do not count: caches fill and kernels are chosen


@dataclass(frozen=True)
class Timing:
    """What one model needs for one batch."""

    milliseconds: float
    """The median."""
    low: float
    """A quarter of the runs were faster,"""
    high: float
    """and a quarter slower."""
    peak_megabytes: float
    """The most memory that its process ever held, the interpreter and the engine included."""


def time_in_turns(
    contenders: Mapping[tuple[str, str], str],
    *,
    batch: int,
    length: int,
    rounds: int,
    threads: int,
    progress: Callable[[int], object] = lambda _: None,
) -> dict[tuple[str, str], Timing]:
    """Time contenders, (name, form) -> what the form opens; `progress` is told how many runs are done."""
    processes: dict[tuple[str, str], subprocess.Popen[str]] = {}
    try:
        for key, opened in contenders.items():
            processes[key] = _open(key[1], opened, threads)
        seconds: dict[tuple[str, str], list[float]] = {key: [] for key in contenders}
        peaks: dict[tuple[str, str], float] = {}
        for turn in range(WARM_UP + rounds):
            for key, process in processes.items():
                taken, peaks[key] = _ask(key, process, [batch, length])
                if turn >= WARM_UP:
                    seconds[key].append(taken)
                progress(1)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
    return {key: _timing(seconds[key], peaks[key]) for key in contenders}


def _open(form: str, model: str, threads: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pocketbert.compare.contender", form, model, str(threads)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)  # noqa: S603


def _ask(key: tuple[str, str], process: subprocess.Popen[str], shape: list[int]) -> tuple[float, float]:
    assert process.stdin is not None  # noqa: S101 -- all three are pipes
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(json.dumps(shape) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    except BrokenPipeError:
        answer = ""
    if not answer:
        said = process.communicate()[1].strip().splitlines()
        raise PocketbertError(f"{key[0]} ({key[1]}) failed: {said[-1] if said else 'its process ended'}")
    seconds, peak = json.loads(answer)
    return seconds, peak


def _timing(seconds: list[float], peak: float) -> Timing:
    low, median, high = 1000 * np.percentile(seconds, [25, 50, 75])
    return Timing(round(float(median), 2), round(float(low), 2), round(float(high), 2), round(peak, 1))
