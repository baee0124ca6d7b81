"""Runs of the command line, some side by side; a run that is done is not run again, one that was killed goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Run:
    """One command of pocketbert, with the file that is there when it is done."""

    folder: Path
    verb: tuple[str, ...]
    flags: Mapping[str, Any] = field(default_factory=dict)
    done: str = "scores.json"
    processes: int = 1
    """That learn together; each takes as many examples a step as a single one would."""

    @property
    def command(self) -> list[str]:
        """The arguments after `pocketbert`."""
        given = {**self.flags, "output_dir": self.folder}
        return [*self.verb, *(part for name, value in given.items() for part in (f"--{name}", str(value)))]

    @property
    def launched(self) -> list[str]:
        """All of it, with what starts several processes."""
        together = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={self.processes}"]
        return [sys.executable, *(together if self.processes > 1 else ()), "-m", "pocketbert", *self.command]

    def finish(self, threads: int) -> None:
        """Run it, or what is left of it; its output goes to FOLDER.log."""
        if (self.folder / self.done).is_file():
            return
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with self.folder.with_suffix(".log").open("ab") as log:
            status = subprocess.run(
                self.launched,
                stdout=log,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"},
            ).returncode
        if status:
            sys.exit(f"{self.folder.name} ended with {status}: see {log.name}")
        print(
            f"{self.folder.name}: {(time.monotonic() - began) / 60:.1f} minutes", file=sys.stderr, flush=True
        )


def finish(runs: Sequence[Run], *, jobs: int = 1, threads: int = 1) -> None:
    """Finish all runs, `jobs` at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda run: run.finish(threads), runs):
            pass


def read(file: Path) -> Any:
    """What a run wrote as JSON."""
    return json.loads(file.read_text(encoding="utf-8"))
