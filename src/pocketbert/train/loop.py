"""The training loop that every recipe shares, on `accelerate`: one process or many, any device.

    result = train(model, examples=windows, collate=collate, loss_function=loss, settings=settings,
                   evaluate=evaluate, best="f1")

Afterwards `model` has the weights worth keeping: the best by `best`, else the averaged, else the last.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, broadcast
from torch import Tensor, nn

from pocketbert.errors import InputError, TrainingError
from pocketbert.train import optimisers, parts, schedule, seeds, state
from pocketbert.train.averages import MovingAverage, Snapshots
from pocketbert.train.batches import Batches, Course
from pocketbert.train.best import Best
from pocketbert.train.curves import draw
from pocketbert.train.fields import to_json
from pocketbert.train.interrupt import Interrupted, Signals
from pocketbert.train.job import Job, Result
from pocketbert.train.log import Progress
from pocketbert.train.output import BEST, CURVES, LOG, RUN, SNAPSHOTS, Output
from pocketbert.train.provenance import describe_run, write_json
from pocketbert.train.settings import LoopSettings
from pocketbert.train.step import Stepper
from pocketbert.train.window import Window

Example = TypeVar("Example")
Batch = TypeVar("Batch")


def train(
    model: nn.Module,
    *,
    examples: Sequence[Example],
    collate: Callable[[list[Example]], Batch],
    loss_function: Callable[[nn.Module, Batch, int], tuple[Tensor, Mapping[str, float]]],
    settings: LoopSettings,
    lengths: Sequence[int] | None = None,
    weight: Callable[[Batch], float] | None = None,
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
    best: str | None = None,
    greater_is_better: bool = True,
    rates: schedule.Rates | None = None,
    data_files: Sequence[Path] = (),
) -> Result:
    """Train a model in place.

    `collate` turns examples into what `loss_function(model, batch, step)` takes; it is called once per batch in
    a fixed order, so it may draw random numbers. The loss is a mean: over examples, or over what `weight(batch)`
    counts (masked words, say); then accumulated batches and several processes equal one large batch.
    `loss_function` also returns floats to log, the same names on every call. It must call `model(...)` itself,
    not a part of it, or several processes could not share gradients.

    `lengths` are the examples' token counts (default: of their `input_ids`). `evaluate(model)` gives scores, of
    which `best` is the one to choose by; every process calls it. `rates(step, part)` replaces the schedule.
    `data_files` are hashed into run.json.
    """
    job = Job(
        model=model,
        examples=examples,
        collate=collate,
        loss_function=loss_function,
        settings=settings,
        lengths=lengths,
        weight=weight,
        evaluate=evaluate,
        best=best,
        greater_is_better=greater_is_better,
        rates=rates,
        data_files=data_files,
    )
    frozen = parts.freeze(model, settings)
    try:
        return _Loop(job).run()
    finally:
        for tensor in frozen:
            tensor.requires_grad_(True)


class _Loop:
    """One run: its step, and what is due after each step."""

    def __init__(self, job: Job) -> None:
        settings = self.settings = job.settings
        self.job = job
        self.accelerator = _accelerator(settings)
        self.main = self.accelerator.is_main_process
        self.output = Output(settings, main=self.main)
        seeds.seed_everything(settings.seed + self.accelerator.process_index)
        self.batches = Batches(
            job.example_lengths(),
            batch_size=settings.per_device_train_batch_size,
            batches_per_step=settings.gradient_accumulation_steps * self.accelerator.num_processes,
            max_tokens=settings.max_tokens_per_batch,
            by_length=settings.group_by_length,
            seed=settings.seed,
        )
        self.course = Course(self.batches, epochs=settings.num_train_epochs, max_steps=settings.max_steps)
        rates = job.rates or schedule.from_settings(settings, self.course.total)
        self.optimiser = optimisers.make(
            parts.groups(job.model, settings, by_part=job.rates is not None), settings
        )
        prepared, stepping = self.accelerator.prepare(job.model.train(), self.optimiser)
        self.stepper = Stepper(job, self.accelerator, prepared, stepping, self.batches, rates)
        self.average = None if settings.ema_decay is None else MovingAverage(job.model, settings.ema_decay)
        self.snapshots = Snapshots(self.output.folder / SNAPSHOTS, settings.average_last)
        self.window = Window()
        self.best = Best(
            metric=(settings.metric_for_best_model or job.best) if job.evaluate else None,
            greater_is_better=(
                job.greater_is_better if settings.greater_is_better is None else settings.greater_is_better
            ),
        )
        self.step = 0  # steps done
        self.evaluated = 0 if not settings.eval_on_start else -1  # step of the last evaluation
        self.scores: dict[str, float] = {}

    def run(self) -> Result:
        if self.output.resume is not None:
            self._resume(self.output.resume)
        self.accelerator.wait_for_everyone()  # every process has read what the main one may now delete
        self.output.prepare(self.step)
        self._describe()
        self.progress = Progress(self.course.total, enabled=self.main)
        self.saved, self.saved_at = self.step, time.monotonic()
        try:
            with Signals() as signals:
                self._after_step(stop=False, save=False)
                while self.step < self.course.total and not self._patience_lost():
                    self._do_step(signals)
                return self._finish()
        finally:
            self.progress.close()
            self.accelerator.unwrap_model(self.stepper.model, keep_fp32_wrapper=False)

    def _do_step(self, signals: Signals) -> None:
        began = time.monotonic()
        minutes = self.settings.save_minutes
        late = self.main and minutes is not None and began - self.saved_at > 60 * minutes
        batches = self.batches.step(*self.course.at(self.step))
        try:
            outcome = self.stepper.run(self.step, batches, (signals.number > 0, late))
        except TrainingError as error:
            raise self.output.failure(self.step + 1, error) from error
        self.step += 1
        if self.average is not None:
            self.average.update(self.step)
        self.window.add(outcome, time.monotonic() - began)
        self.progress.show(
            self.step,
            loss=outcome.loss,
            rate=outcome.rate,
            tokens_per_second=self.window.tokens_per_second,
        )
        if self.step % self.settings.logging_steps == 0 or self.step == self.course.total:
            line = {"epoch": round(self.course.epoch(self.step), 4), **self.window.line()}
            self._log("train", {**line, "rate": outcome.rate, "gradient_norm": outcome.gradient_norm})
        # A signal that came during the step counts now with one process, a step later with several.
        stop = outcome.shared[0] > 0 or (signals.number > 0 and self.accelerator.num_processes == 1)
        self._after_step(stop=stop, save=outcome.shared[1] > 0)

    def _after_step(self, *, stop: bool, save: bool) -> None:
        """Evaluate and save what is due; when asked to stop, save at once and leave the rest to the resumed run."""
        if stop:
            self._save()
            raise Interrupted(f"stopped after step {self.step} of {self.course.total}; {self.output.left()}")
        if self._evaluation_due() and self.evaluated != self.step:
            self._evaluate()
        every = self.settings.average_steps or self.settings.save_steps
        if self.settings.average_last and self.step and self.step % every == 0 and self.main:
            with self.output.writing(self.step):
                self.snapshots.take(self.step, self._weights())
        last = self.step == self.course.total or self._patience_lost()
        if save or ((last or self.step % self.settings.save_steps == 0) and self.saved != self.step):
            self._save()

    def _evaluation_due(self) -> bool:
        strategy = self.settings.eval_strategy
        if self.job.evaluate is None or strategy == "no":
            return False
        if self.step == 0:
            return self.settings.eval_on_start
        if strategy == "steps":
            return self.step % self.settings.eval_steps == 0 or self.step == self.course.total
        return self.course.ends_epoch(self.step)

    def _evaluate(self) -> None:
        with nullcontext() if self.average is None else self.average.applied():
            self.scores = self._scores()
            better = self.best.offer(self.scores, self.step)
            if better and self.main:
                self._keep_best()
        self.evaluated = self.step
        shown = {name: value if math.isfinite(value) else None for name, value in self.scores.items()}
        self._log("evaluation", {"scores": shown, "best": better})
        self.progress.say(
            f"step {self.step}: " + "  ".join(f"{name} {value:g}" for name, value in shown.items())
        )
        if self.settings.plot_curves and self.main:
            with self.output.writing(self.step):
                draw(self.output.folder / LOG, self.output.folder / CURVES)

    def _scores(self) -> dict[str, float]:
        assert self.job.evaluate is not None  # noqa: S101
        with seeds.randomness_kept(), torch.no_grad():
            scores = {name: float(value) for name, value in self.job.evaluate(self.job.model.eval()).items()}
        self.job.model.train()
        if self.accelerator.num_processes == 1:
            return scores
        # Processes must agree on what is best: the main one's figures count.
        values = torch.tensor([*scores.values()], dtype=torch.float64, device=self.accelerator.device)
        return dict(zip(scores, broadcast(values).tolist(), strict=True))

    def _keep_best(self) -> None:
        kept = state.Checkpoint({"model": state.weights_of(self.job.model)}, self.best.state())
        with self.output.writing(self.step):
            state.write_folder(self.output.folder / BEST, kept)

    def _patience_lost(self) -> bool:
        patience = self.settings.early_stopping_patience
        return patience is not None and self.best.waited >= patience

    def _save(self) -> None:
        scaler = self.accelerator.scaler
        tensors = {
            "model": state.weights_of(self.job.model),
            "optimiser": state.optimiser_state(self.optimiser, self.job.model),
            "random": _gathered(self.accelerator, seeds.random_state()),
        }
        if self.average is not None:
            tensors["average"] = self.average.weights
        progress = {
            "step": self.step,
            "evaluated": self.evaluated,
            "scores": self.scores,
            "best": self.best.state(),
            "window": self.window.state(),
            "scaler": None if scaler is None else scaler.state_dict(),
            "order": self._order(),
        }
        self.output.save(self.step, state.Checkpoint(tensors, progress))
        self.saved, self.saved_at = self.step, time.monotonic()

    def _resume(self, folder: Path) -> None:
        saved = state.read_folder(folder)
        tensors, progress = saved.tensors, saved.progress
        order = progress["order"]
        for name, value in self._order().items():
            if order[name] != value:
                raise TrainingError(
                    f"{folder} cannot be resumed exactly: {name} was {order[name]} and is now {value}; "
                    "resume with the settings and data the run began with"
                )
        state.set_weights(self.job.model, tensors["model"], folder)
        state.set_optimiser_state(self.optimiser, self.job.model, tensors["optimiser"], folder)
        if self.average is not None and "average" in tensors:
            self.average.load(tensors["average"])
        if self.accelerator.scaler is not None and progress["scaler"] is not None:
            self.accelerator.scaler.load_state_dict(progress["scaler"])
        own = f"{self.accelerator.process_index}/"
        seeds.set_random_state(
            {
                name.removeprefix(own): value
                for name, value in tensors["random"].items()
                if name.startswith(own)
            }
        )
        if (self.output.folder / BEST).is_dir():
            self.best.load(progress["best"])
        self.step, self.evaluated = progress["step"], progress["evaluated"]
        self.scores, self.window = dict(progress["scores"]), Window.load(progress["window"])
        if self.main:
            self.snapshots.rewind(self.step)

    def _order(self) -> dict[str, Any]:
        """What the order of the examples follows from."""
        return {
            "examples": len(self.job.examples),
            "tokens": int(self.batches.lengths.sum()),
            "seed": self.settings.seed,
            "per_device_train_batch_size": self.settings.per_device_train_batch_size,
            "gradient_accumulation_steps": self.settings.gradient_accumulation_steps,
            "max_tokens_per_batch": self.settings.max_tokens_per_batch,
            "group_by_length": self.settings.group_by_length,
            "processes": self.accelerator.num_processes,
        }

    def _finish(self) -> Result:
        if self.average is not None:
            state.set_weights(self.job.model, self._weights(), self.output.folder)
        if self.settings.average_last:
            self._try_mean()
        kept = self.best.score is not None and self.settings.load_best_model_at_end
        if kept:
            folder = self.output.folder / BEST
            state.set_weights(self.job.model, state.read_folder(folder).tensors["model"], folder)
        result = Result(
            steps=self.step,
            epochs=round(self.course.epoch(self.step), 4),
            seconds=round(self.window.total_seconds, 3),
            stopped="finished" if self.step == self.course.total else "patience",
            scores=dict(self.best.scores if kept else self.scores),
            best_step=self.best.step if kept else self.step,
            checkpoint=state.checkpoint_folder(self.output.folder, self.step),
        )
        self._log("end", {"stopped": result.stopped, "best_step": result.best_step})
        if self.settings.plot_curves and self.main:
            with self.output.writing(self.step):
                draw(self.output.folder / LOG, self.output.folder / CURVES)
        self.job.model.eval()
        return result

    def _try_mean(self) -> None:
        """Put the mean of the snapshots into the model, and into `best` where it scores better."""
        self.accelerator.wait_for_everyone()
        mean = self.snapshots.mean()
        if not mean:
            return
        state.set_weights(self.job.model, mean, self.output.folder)
        if self.job.evaluate is not None and self.settings.eval_strategy != "no":
            self.scores = self._scores()
            better = self.best.offer(self.scores, self.step)
            self._log("evaluation", {"scores": self.scores, "best": better, "of": "mean"})
            if better and self.main:
                self._keep_best()
            self.accelerator.wait_for_everyone()

    def _weights(self) -> dict[str, Tensor]:
        """The weights to evaluate and keep: the moving average where there is one."""
        averaged = {} if self.average is None else self.average.weights
        return {**state.weights_of(self.job.model), **averaged}

    def _describe(self) -> None:
        settings = to_json(self.settings)
        counts = {"examples": len(self.job.examples), "steps": self.course.total}
        if self.main:
            with self.output.writing(self.step):
                write_json(self.output.folder / "settings.json", settings)
                write_json(self.output.folder / RUN, describe_run(settings, self.job.data_files, **counts))
        self._log("start", counts)

    def _log(self, kind: str, values: Mapping[str, Any]) -> None:
        with self.output.writing(self.step):
            self.output.log.write(kind, self.step, values)


def _accelerator(settings: LoopSettings) -> Accelerator:
    handlers = [DistributedDataParallelKwargs(find_unused_parameters=settings.ddp_find_unused_parameters)]
    try:
        return Accelerator(mixed_precision=settings.mixed_precision, kwargs_handlers=handlers)
    except ValueError as error:
        raise InputError(f"mixed_precision = {settings.mixed_precision}: {error}") from error


def _gathered(accelerator: Accelerator, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every process's tensors as `process/name`."""
    if accelerator.num_processes == 1:
        return {f"0/{name}": tensor for name, tensor in tensors.items()}
    gathered: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        rows = accelerator.gather(tensor.unsqueeze(0).to(accelerator.device)).cpu()
        gathered.update((f"{process}/{name}", row) for process, row in enumerate(rows))
    return gathered
