"""The folder a run writes to: what may be there, what is saved, and what a failure leaves behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from pocketbert.errors import TrainingError
from pocketbert.train import state
from pocketbert.train.log import Log
from pocketbert.train.settings import LoopSettings

BEST, SNAPSHOTS, LOG, CURVES, RUN = "best", "snapshots", "log.jsonl", "curves.png", "run.json"


class Output:
    """The output folder; only the main process writes."""

    def __init__(self, settings: LoopSettings, *, main: bool) -> None:
        """Look at the folder; nothing is written yet."""
        self.folder, self.main = settings.output_dir, main
        self._keep, self._overwrite = settings.save_total_limit, settings.overwrite_output_dir
        self.resume = _resume_folder(settings)
        self.good: Path | None = self.resume
        if self.resume is None and not self._overwrite and settings.resume_from_checkpoint is None:
            found = [path.name for path in state.checkpoints(self.folder)]
            if found:
                raise TrainingError(
                    f"{self.folder} holds an earlier run ({found[-1]}): add --resume_from_checkpoint latest "
                    "to go on with it, --overwrite_output_dir to delete it, or choose another --output_dir"
                )

    def prepare(self, step: int) -> None:
        """Make the folder ready for a run that begins after `step`."""
        if self.main:
            with self.writing(step):
                self.folder.mkdir(parents=True, exist_ok=True)
                if self.resume is None:
                    for path in (
                        *state.checkpoints(self.folder),
                        self.folder / BEST,
                        self.folder / SNAPSHOTS,
                    ):
                        shutil.rmtree(path, ignore_errors=True)
                state.prune(self.folder, max(self._keep, len(state.checkpoints(self.folder))))
        with self.writing(step):
            self.log = Log(self.folder / LOG, after=step if self.resume else None, enabled=self.main)

    def save(self, step: int, checkpoint: state.Checkpoint) -> None:
        """Write the checkpoint of a step, then delete the oldest."""
        if self.main:
            folder = state.checkpoint_folder(self.folder, step)
            with self.writing(step):
                state.write_folder(folder, checkpoint)
                self.good = folder
                state.prune(self.folder, self._keep)

    @contextmanager
    def writing(self, step: int) -> Iterator[None]:
        """Within, a disk that is full or broken ends the run with a clear error."""
        try:
            yield
        except (OSError, SafetensorError) as error:
            cause = f"cannot write to {self.folder}: {getattr(error, 'strerror', None) or error}"
            raise self.failure(step, cause) from error

    def failure(self, step: int, cause: object) -> TrainingError:
        """The error that ends a run: step, cause, and what is left."""
        return TrainingError(f"step {step}: {cause}; {self.left()}")

    def left(self) -> str:
        """Which checkpoint is good, and how to go on from it."""
        if self.good is None:
            return "no checkpoint had been written"
        return f"the last good checkpoint is {self.good}; resume with --resume_from_checkpoint {self.good}"


def _resume_folder(settings: LoopSettings) -> Path | None:
    wanted = settings.resume_from_checkpoint
    if wanted is None:
        return None
    if wanted.lower() in ("latest", "true"):
        found = state.checkpoints(settings.output_dir)
        return found[-1] if found else None
    if not Path(wanted).is_dir():
        known = [str(path) for path in state.checkpoints(settings.output_dir)]
        raise TrainingError(
            f"resume_from_checkpoint = {wanted!r} is no folder; "
            + (f"there are {', '.join(known)}" if known else f"{settings.output_dir} has no checkpoint")
        )
    return Path(wanted)
