"""One optimiser step: the batches of the step, their weighted mean loss, its gradient, the move.

The loss of a step is the mean over all its examples (or whatever the recipe's `weight` counts), however they
are split: a batch counts by its weight among all batches of the step, on all processes. So accumulation equals
one large batch even when the last batch is smaller or one holds more masked words than another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from accelerate.utils import send_to_device
from torch import Tensor, nn

from pocketbert.errors import TrainingError
from pocketbert.train.batches import Batches, Indices
from pocketbert.train.job import Job
from pocketbert.train.machine import Machine
from pocketbert.train.schedule import Rates
from pocketbert.train.sharding import whole

_MAX_SKIPPED = 50  # steps in a row whose fp16 gradient overflowed


class Diverged(TrainingError):  # noqa: N818 - what happened, not what was done wrong
    """A loss or a gradient that is no number any more: other settings may do better."""


@dataclass
class Outcome:
    """What one step gave, over all processes."""

    loss: float
    rate: float
    gradient_norm: float
    tokens: int
    padded: int
    shared: tuple[float, ...]
    logged: dict[str, float] = field(default_factory=dict)


class Stepper:
    """Runs steps on a prepared model and optimiser."""

    def __init__(
        self,
        job: Job,
        machine: Machine,
        batches: Batches,
        rates: Rates,
    ) -> None:
        """Take what computes, the batches for their lengths, and the schedule."""
        self.job, self.machine, self.accelerator = job, machine, machine.accelerator
        self.model, self.optimiser = machine.stepping_model, machine.stepping_optimiser
        self.batches, self.rates = batches, rates
        self._skipped = 0

    def run(
        self, step: int, batches: list[Indices], shared: tuple[float, ...] = (), *, epoch: int = 0
    ) -> Outcome:
        """Do step number `step` (from 0) on its batches; `shared` numbers are summed over the processes."""
        settings, world = self.job.settings, self.accelerator.num_processes
        rate = self._set_rates(step)
        own = self._own(batches)
        examples = self.job.examples_at(epoch)
        collated = [self.job.collate([examples[int(number)] for number in part]) for part, _ in own]
        weights = [
            counted * (1.0 if self.job.weight is None else float(self.job.weight(batch)))
            for batch, (_, counted) in zip(collated, own, strict=True)
        ]
        total = self._sum([sum(weights)])[0] or 1.0
        loss_sum, logged = 0.0, dict[str, float]()
        for number, (batch, weight) in enumerate(zip(collated, weights, strict=True)):
            last = number == len(collated) - 1
            with nullcontext() if last or world == 1 else self.accelerator.no_sync(self.model):
                placed = send_to_device(batch, self.accelerator.device)
                loss, values = self.job.loss_function(self.model, placed, step)
                _check_scalar(loss)
                # Several processes average their gradients; `world` makes that the sum it must be.
                self.accelerator.backward(loss * (weight * world / total))
            share = weight / total
            loss_sum += float(loss.detach()) * share
            for name, value in values.items():
                logged[name] = logged.get(name, 0.0) + float(value) * share
        tokens = sum(int(self.batches.lengths[part].sum()) for part, counted in own if counted)
        padded = sum(self.batches.padded(part) for part, counted in own if counted)
        names = sorted(logged)
        sums = self._sum([loss_sum, tokens, padded, *shared, *(logged[name] for name in names)])
        if not math.isfinite(sums[0]):
            parts = dict(zip(names, sums[3 + len(shared) :], strict=True))
            odd = [f", {name} {value}" for name, value in parts.items() if not math.isfinite(value)]
            raise _diverged(f"the loss is {sums[0]}{''.join(odd)}", batches)
        norm = self._clip(settings.max_grad_norm)
        self._move(norm, batches)
        return Outcome(
            loss=sums[0],
            rate=rate,
            gradient_norm=norm,
            tokens=int(sums[1]),
            padded=int(sums[2]),
            shared=tuple(sums[3 : 3 + len(shared)]),
            logged=dict(zip(names, sums[3 + len(shared) :], strict=True)),
        )

    def _own(self, batches: list[Indices]) -> list[tuple[Indices, float]]:
        """The batches of this process, each with its number of examples (1 when the recipe counts itself).

        The last step of an epoch may have too few batches for all. Every process must do the same number of
        backward passes, so the rest see one example that counts nothing.
        """
        each = self.job.settings.gradient_accumulation_steps
        rank = self.accelerator.process_index
        own = [
            (part, float(len(part)) if self.job.weight is None else 1.0)
            for part in batches[rank * each : (rank + 1) * each]
        ]
        missing = min(each, len(batches)) - len(own)
        return own + [(batches[0][:1], 0.0)] * missing

    def _set_rates(self, step: int) -> float:
        """Set the rate of every part; one that rests gets no gradient, which spares the work of computing it."""
        factors = [self.rates(step, group["part"]) for group in self.optimiser.param_groups]
        highest = 0.0
        for group, factor in zip(self.optimiser.param_groups, factors, strict=True):
            group["lr"] = self.job.settings.learning_rate * group["layer_factor"] * factor
            highest = max(highest, group["lr"])
            for weight in group["params"]:
                weight.requires_grad_(factor != 0.0)
        if not any(factors):
            raise TrainingError(
                f"every rate is 0 at step {step}, so that nothing would move: what is to learn in it rests, or is "
                "frozen (freeze_embeddings, freeze_layers)"
            )
        return highest

    def _clip(self, limit: float | None) -> float:
        self.machine.unscale()
        weights = [weight for group in self.optimiser.param_groups for weight in group["params"]]
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        norm = nn.utils.get_total_norm(gradients, foreach=True)
        size = float(whole(norm))
        if limit is not None and size > limit:
            nn.utils.clip_grads_with_norm_(weights, limit, norm, foreach=True)
        return size

    def _move(self, norm: float, batches: list[Indices]) -> None:
        scaled = self.accelerator.scaler is not None
        if not math.isfinite(norm) and not scaled:
            raise _diverged(f"the gradient is {norm}", batches)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        # fp16: a gradient that overflows only lowers the loss scale, unless it does so again and again.
        self._skipped = 0 if math.isfinite(norm) else self._skipped + 1
        if self._skipped > _MAX_SKIPPED:
            raise _diverged(f"the fp16 gradient overflowed {self._skipped} times in a row", batches)

    def _sum(self, values: Iterable[float]) -> list[float]:
        """The sum of each value over all processes."""
        if self.accelerator.num_processes == 1:
            return list(values)
        # float32 would round token counts; gloo and nccl both sum float64.
        tensor = torch.tensor(list(values), dtype=torch.float64, device=self.accelerator.device)
        reduced: Tensor = self.accelerator.reduce(tensor, reduction="sum")
        return [float(value) for value in reduced.tolist()]


def _check_scalar(loss: Tensor) -> None:
    if loss.ndim:
        raise TrainingError(
            f"loss_function gave a loss of shape {list(loss.shape)}; it must be one number, the mean of the batch"
        )


def _diverged(what: str, batches: list[Indices]) -> Diverged:
    numbers = [int(number) for part in batches for number in part]
    shown = f"{', '.join(map(str, numbers[:8]))}{' …' if len(numbers) > 8 else ''}"
    return Diverged(
        f"{what} (examples {shown}), as it would be again: "
        "lower the learning rate, or see whether these examples and the weights are what they should be"
    )
