"""One model in a process of its own, which runs a batch when it is told to and says how long it took.

    python -m pocketbert.compare.contender FORM MODEL THREADS

FORM is `torch`, and MODEL a preset or a model folder; or a precision, and MODEL a folder with that ONNX file. Lines of
JSON come in, [batch, length], and go out: [seconds, peak megabytes]. A process each, because only so is a peak of
memory that of one model, and because an exported model must not be helped or hindered by torch.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Run = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], object]
"""Ids, mask and segments of a batch -> whatever comes out."""


def main() -> None:
    form, model, threads = sys.argv[1:]
    run = _torch(model, int(threads)) if form == "torch" else _exported(form, model, int(threads))
    for line in sys.stdin:
        # Words that every vocabulary has.
        ids = np.random.default_rng(0).integers(5, 50, json.loads(line))  # (B, S)
        mask, segments = np.ones_like(ids), np.zeros_like(ids)
        before = time.perf_counter()
        run(ids, mask, segments)
        seconds = time.perf_counter() - before
        sys.stdout.write(json.dumps([seconds, _peak_megabytes()]) + "\n")
        sys.stdout.flush()


def _torch(name: str, threads: int) -> Run:
    import torch

    from pocketbert.heads import build, load
    from pocketbert.model import PRESETS

    torch.set_num_threads(threads)
    model = (build(name) if name in PRESETS else load(name)).eval()

    def run(*batch: NDArray[np.int64]) -> object:
        with torch.inference_mode():
            return model(*map(torch.from_numpy, batch))

    return run


def _exported(precision: str, folder: str, threads: int) -> Run:
    from pocketbert.runtime.session import Session

    return Session.load(folder, precision=precision, threads=threads).run  # type: ignore[arg-type]


def _peak_megabytes() -> float:
    status = Path("/proc/self/status")
    if status.is_file():  # what getrusage says begins with the memory of the process that started this one
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3
    import resource  # not on Windows

    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    main()
