"""The folder a run writes to: what may be there, what is kept, and what a failure leaves behind.

output_dir/
settings.json, run.json    resolved settings; data hashes, versions, command
log.jsonl, curves.png      every logged step and evaluation
checkpoint-500/            to resume from (the last few)
best-400/                  the weights of the best evaluation
snapshots/step-500/        weights to be averaged
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import Tensor

from pocketbert.errors import TrainingError
from pocketbert.train import state
from pocketbert.train.averages import Snapshots
from pocketbert.train.curves import draw
from pocketbert.train.log import Log
from pocketbert.train.provenance import write_json
from pocketbert.train.settings import LoopSettings

_LOG = "log.jsonl"


class Output:
    """The output folder of a run; only the main process writes to it."""

    def __init__(self, settings: LoopSettings, *, main: bool) -> None:
        """Look at the folder; nothing is written yet."""
        self.folder, self._main, self._settings = settings.output_dir, main, settings
        self.resume = _resume_folder(settings)
        self._good = self.resume
        self.snapshots = Snapshots(self.folder / "snapshots", settings.average_last)
        if settings.resume_from_checkpoint is None and not settings.overwrite_output_dir:
            found = [path.name for path in state.checkpoints(self.folder)]
            if found:
                raise TrainingError(
                    f"{self.folder} holds an earlier run ({found[-1]}): add --resume_from_checkpoint latest "
                    "to go on with it, --overwrite_output_dir to delete it, or choose another --output_dir"
                )

    def prepare(self, step: int, documents: Mapping[str, Mapping[str, Any]]) -> None:
        """Make the folder ready for a run that begins after `step`, and describe that run in it."""
        with self.writing(step):
            if self._main:
                self.folder.mkdir(parents=True, exist_ok=True)
                state.sweep(self.folder)
                if self.resume is None:
                    for path in (*state.checkpoints(self.folder), *self._bests()):
                        state.discard(path)
                self.snapshots.rewind(step)
                for name, document in documents.items():
                    write_json(self.folder / f"{name}.json", document)
            self._log = Log(self.folder / _LOG, after=step if self.resume else None, enabled=self._main)

    def log(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        with self.writing(step):
            self._log.write(kind, step, values)

    def draw(self, step: int) -> None:
        """Draw the curves anew."""
        if self._main and self._settings.plot_curves:
            with self.writing(step):
                draw(self.folder / _LOG, self.folder / "curves.png")

    def save(self, step: int, checkpoint: state.Checkpoint, best_step: int) -> None:
        """Write the checkpoint of a step, then delete what it has made superfluous."""
        if self._main:
            folder = state.checkpoint_folder(self.folder, step)
            with self.writing(step):
                state.write_folder(folder, checkpoint)
                self._good = folder
                for path in state.checkpoints(self.folder)[: -self._settings.save_total_limit]:
                    state.discard(path)
                # Not earlier: until now the checkpoint to resume from still named an older best.
                for path in self._bests():
                    if path != self._best(best_step):
                        state.discard(path)

    def keep_best(self, step: int, weights: Mapping[str, Tensor], scores: Mapping[str, float]) -> None:
        """Write the weights of the best evaluation so far."""
        if self._main:
            with self.writing(step):
                state.write_folder(self._best(step), state.Checkpoint({"model": weights}, {"scores": scores}))

    def best(self, step: int) -> Mapping[str, Tensor]:
        """The weights of the best evaluation."""
        return state.read_folder(self._best(step)).tensors["model"]

    def has_best(self, step: int) -> bool:
        """Whether these weights are here; a run resumed in another folder has left them behind."""
        return self._best(step).is_dir()

    def snapshot(self, step: int, weights: Mapping[str, Tensor]) -> None:
        """Keep weights to be averaged at the end."""
        if self._main:
            with self.writing(step):
                self.snapshots.take(step, weights)

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
        if self._good is None:
            return "no checkpoint had been written yet"
        return f"the last good checkpoint is {self._good}: resume with --resume_from_checkpoint {self._good}"

    def _best(self, step: int) -> Path:
        return self.folder / f"best-{step}"

    def _bests(self) -> list[Path]:
        return [path for path in self.folder.glob("best-*") if path.name.removeprefix("best-").isdigit()]


def _resume_folder(settings: LoopSettings) -> Path | None:
    wanted = settings.resume_from_checkpoint
    if wanted is None:
        return None
    found = state.checkpoints(settings.output_dir)
    if wanted.lower() in ("latest", "true"):
        return found[-1] if found else None
    if not Path(wanted).is_dir():
        known = ", ".join(map(str, found))
        raise TrainingError(
            f"resume_from_checkpoint = {wanted!r} is no folder; "
            + (f"there are {known}" if known else f"{settings.output_dir} has no checkpoint")
        )
    return Path(wanted)
