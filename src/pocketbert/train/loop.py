"""The training loop that every recipe shares, on `accelerate`: one process or many, any device.

    result = train(model, examples=windows, collate=collate, loss_function=loss, settings=settings,
                   evaluate=evaluate, best="f1")

Afterwards `model` has the weights worth keeping: the best by `best`, else the averaged, else the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from torch import Tensor, nn

from pocketbert.errors import CheckpointError, TrainingError
from pocketbert.train import parts, schedule, state, watch
from pocketbert.train.batches import Batches, Course
from pocketbert.train.best import Best
from pocketbert.train.fields import to_json
from pocketbert.train.interrupt import Interrupted, Signals
from pocketbert.train.job import Job, Lengths, Result
from pocketbert.train.log import Progress
from pocketbert.train.machine import Machine
from pocketbert.train.output import Output
from pocketbert.train.provenance import describe_run
from pocketbert.train.settings import LoopSettings
from pocketbert.train.standing import Standing
from pocketbert.train.step import Stepper

Example = TypeVar("Example")
Batch = TypeVar("Batch")


def train(
    model: nn.Module,
    *,
    examples: Sequence[Example],
    collate: Callable[[list[Example]], Batch],
    loss_function: Callable[[nn.Module, Batch, int], tuple[Tensor, Mapping[str, float]]],
    settings: LoopSettings,
    lengths: Lengths | None = None,
    weight: Callable[[Batch], float] | None = None,
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
    best: str | None = None,
    greater_is_better: bool = True,
    rates: schedule.Rates | None = None,
    data_files: Sequence[Path] = (),
    identity: Mapping[str, Any] | None = None,
) -> Result:
    """Train a model in place.

    `collate` turns examples into what `loss_function(model, batch, step)` takes; it is called once per batch in
    a fixed order, so it may draw random numbers. The loss is a mean: over examples, or over what `weight(batch)`
    counts (masked words, say); then accumulated batches and several processes equal one large batch.
    `loss_function` also returns floats to log, the same names on every call of a step. It must call `model(...)`
    itself, not a part of it, or several processes could not share gradients.

    `examples` may have a method `at(epoch)`, which gives those of an epoch: as many, as long, but masked anew.
    `lengths` are the examples' token counts (default: of their `input_ids`). `evaluate(model)` gives scores, of
    which `best` is the one to choose by; every process calls it. `rates(step, part)` replaces the schedule; a part
    whose rate is 0 rests in that step, and gets no gradient. `data_files` are hashed into run.json. `identity` is what,
    besides, a run cannot be resumed without: a teacher's hash, say.
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
        identity=identity or {},
    )
    trained = [tensor for tensor in model.parameters() if tensor.requires_grad]
    parts.freeze(model, settings)
    try:
        return _Loop(job).run()
    finally:
        for tensor in trained:  # also those whose part rested in the last step
            tensor.requires_grad_(True)


class _Loop:
    """One run: its steps, and what is due after each."""

    def __init__(self, job: Job) -> None:
        settings = self.settings = job.settings
        self.job = job
        self.machine = Machine(job)
        self.output = Output(settings, main=self.machine.main)
        self.batches = Batches(
            job.example_lengths(),
            batch_size=settings.per_device_train_batch_size,
            batches_per_step=settings.gradient_accumulation_steps * self.machine.processes,
            max_tokens=settings.max_tokens_per_batch,
            by_length=settings.group_by_length,
            seed=settings.seed,
        )
        self.course = Course(self.batches, epochs=settings.num_train_epochs, max_steps=settings.max_steps)
        rates = job.rates or schedule.from_settings(settings, self.course.total)
        self.stepper = Stepper(job, self.machine, self.batches, rates)
        self.now = Standing(
            Best(
                metric=(settings.metric_for_best_model or job.best) if job.evaluate else None,
                greater_is_better=(
                    job.greater_is_better
                    if settings.greater_is_better is None
                    else settings.greater_is_better
                ),
            )
        )

    def run(self) -> Result:
        if self.output.resume is not None:
            self._resume(self.output.resume)
        self.machine.wait()  # every process has read what the main one may now delete
        counts = {"examples": len(self.job.examples), "steps": self.course.total}
        settings = to_json(self.settings)
        described = describe_run(settings, self.job.data_files, **counts) if self.machine.main else {}
        self.output.prepare(self.now.step, {"settings": settings, "run": described})
        self.output.log("start", self.now.step, counts)
        self.progress = Progress(self.course.total, enabled=self.machine.main)
        self.saved, self.saved_at = self.now.step, time.monotonic()
        try:
            with Signals() as signals:
                self._after_step(stop=False, save=False)
                while not self._over():
                    self._step(signals)
                return self._finish()
        finally:
            self.progress.close()
            self.machine.close()

    def _step(self, signals: Signals) -> None:
        now, began = self.now, time.monotonic()
        minutes = self.settings.save_minutes
        late = self.machine.main and minutes is not None and began - self.saved_at > 60 * minutes
        epoch, position = self.course.at(now.step)
        batches = self.batches.step(epoch, position)
        try:
            outcome = self.stepper.run(now.step, batches, (signals.number > 0, late), epoch=epoch)
        except TrainingError as error:
            raise self.output.failure(now.step + 1, error) from error
        now.step += 1
        if self.machine.average is not None:
            self.machine.average.update(now.step)
        now.window.add(outcome, time.monotonic() - began)
        speed = now.window.tokens_per_second
        self.progress.show(now.step, loss=outcome.loss, rate=outcome.rate, tokens_per_second=speed)
        if now.step % self.settings.logging_steps == 0 or now.step == self.course.total:
            line = {"epoch": round(self.course.epoch(now.step), 4), **now.window.line()}
            line.update(rate=outcome.rate, gradient_norm=outcome.gradient_norm)
            self.output.log("train", now.step, line)
        # A signal that came during the step counts now with one process, and a step later with several.
        stop = outcome.shared[0] > 0 or (signals.number > 0 and self.machine.processes == 1)
        self._after_step(stop=stop, save=outcome.shared[1] > 0)

    def _after_step(self, *, stop: bool, save: bool) -> None:
        """Evaluate and save what is due; when told to stop, save at once and leave the rest to the resumed run."""
        step = self.now.step
        if stop:
            self._save()
            raise Interrupted(f"stopped after step {step} of {self.course.total}; {self.output.left()}")
        if self._evaluation_due() and self.now.evaluated != step:
            self._evaluate()
        every = self.settings.average_steps or self.settings.save_steps
        if self.settings.average_last and step and step % every == 0:
            self.output.snapshot(step, self.machine.weights())
        if save or ((self._over() or step % self.settings.save_steps == 0) and self.saved != step):
            self._save()

    def _over(self) -> bool:
        patience = self.settings.early_stopping_patience
        return self.now.step == self.course.total or (
            patience is not None and self.now.best.waited >= patience
        )

    def _evaluation_due(self) -> bool:
        step, strategy = self.now.step, self.settings.eval_strategy
        if self.job.evaluate is None or strategy == "no":
            return False
        if step == 0:
            return self.settings.eval_on_start
        if strategy == "steps":
            return step % self.settings.eval_steps == 0 or step == self.course.total
        return self.course.ends_epoch(step)

    def _evaluate(self, **note: str) -> None:
        assert self.job.evaluate is not None  # noqa: S101 - asked before
        now = self.now
        with self.machine.evaluating():
            scores = {name: float(value) for name, value in self.job.evaluate(self.machine.model).items()}
        now.scores, now.evaluated = self.machine.agree(scores), now.step
        try:
            better = now.best.offer(now.scores, now.step)
        except TrainingError as error:
            raise self.output.failure(now.step, error) from error
        if better:
            self.output.keep_best(now.step, self.machine.weights(), now.scores)
        self.output.log("evaluation", now.step, {"scores": now.scores, "best": better, **note})
        self.progress.say(
            f"step {now.step}: " + "  ".join(f"{name} {value:g}" for name, value in now.scores.items())
        )
        self.output.draw(now.step)
        if now.best.metric is not None:
            watch.tell(
                watch.Sight(
                    metric=now.best.metric,
                    score=now.scores[now.best.metric],
                    greater_is_better=now.best.greater_is_better,
                    epoch=self.course.epoch(now.step),
                )
            )

    def _save(self) -> None:
        progress = {**self.now.state(), "scale": self.machine.scale(), "identity": self._identity()}
        tensors = self.machine.tensors()
        if not state.finite(tensors["model"]):  # a step can do that whose loss and gradients were
            raise self.output.failure(
                self.now.step, "some weights are no longer finite: lower the learning rate"
            )
        self.output.save(self.now.step, state.Checkpoint(tensors, progress), self.now.best.step)
        self.saved, self.saved_at = self.now.step, time.monotonic()

    def _resume(self, folder: Path) -> None:
        saved = state.read_folder(folder)
        if "identity" not in saved.progress:
            raise CheckpointError(
                f"{folder} holds weights only; to resume, give a folder such as checkpoint-500"
            )
        before, now = saved.progress["identity"], self._identity()
        for name in now:
            if before.get(name) != now[name]:
                raise TrainingError(
                    f"{folder} cannot be resumed exactly: {name} was {before.get(name)} and is now {now[name]}; "
                    "resume with the settings and data the run began with"
                )
        if saved.progress["step"] > self.course.total:
            raise TrainingError(
                f"{folder} is at step {saved.progress['step']}, but this run ends at {self.course.total}: "
                "raise num_train_epochs or max_steps"
            )
        self.machine.load(saved.tensors, saved.progress["scale"], folder)
        self.now.load(saved.progress)
        if self.now.best.score is not None and not self.output.has_best(self.now.best.step):
            self.now.best.forget()

    def _identity(self) -> dict[str, Any]:
        """What the order of the examples and the optimiser's state follow from: a run cannot change it."""
        names = ["seed", "optim", "per_device_train_batch_size", "gradient_accumulation_steps"]
        names += ["max_tokens_per_batch", "group_by_length"]
        return {
            "examples": len(self.job.examples),
            "tokens": int(self.batches.lengths.sum()),
            "processes": self.machine.processes,
            **{name: getattr(self.settings, name) for name in names},
            **self.job.identity,
        }

    def _finish(self) -> Result:
        now = self.now
        self.machine.settle(self.output.folder)
        self.machine.wait()
        mean = self.output.snapshots.mean() if self.settings.average_last else {}
        if mean:
            state.set_weights(self.machine.model, mean, self.output.folder)
            if self.job.evaluate is not None and self.settings.eval_strategy != "no":
                self._evaluate(of="the mean of the snapshots")
        kept = now.best.score is not None and self.settings.load_best_model_at_end
        self.machine.wait()
        if kept:
            state.set_weights(self.machine.model, self.output.best(now.best.step), self.output.folder)
        stopped: Literal["finished", "patience"] = "finished" if now.step == self.course.total else "patience"
        best_step = now.best.step if kept else now.step
        self.output.log("end", now.step, {"stopped": stopped, "best_step": best_step})
        self.output.draw(now.step)
        return Result(
            steps=now.step,
            epochs=round(self.course.epoch(now.step), 4),
            seconds=round(now.window.total_seconds, 3),
            stopped=stopped,
            scores=dict(now.best.scores if kept else now.scores),
            best_step=best_step,
            checkpoint=state.checkpoint_folder(self.output.folder, now.step),
        )
