"""What computes: the model, the optimiser and the averaged weights on `accelerate`, and their whole state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, DistributedType, broadcast
from torch import Tensor

from pocketbert.errors import InputError
from pocketbert.train import optimisers, parts, seeds, sharding, state
from pocketbert.train.averages import MovingAverage
from pocketbert.train.job import Job
from pocketbert.train.settings import LoopSettings
from pocketbert.train.together import processes

# Engines that take the optimiser over keep its state in pieces that only they can put together.
_WHOLE = (DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU, DistributedType.MULTI_XPU)


class Machine:
    """A model made ready to train, in one process or in several that share gradients."""

    def __init__(self, job: Job) -> None:
        """Place the model, seed the generators, make the optimiser."""
        settings = job.settings
        if job.rates is not None:  # a part that rests gets no gradient, and the others must not wait for it
            settings = replace(settings, ddp_find_unused_parameters=True)
        self.accelerator = _accelerator(settings)
        self.main: bool = self.accelerator.is_main_process
        self.processes: int = self.accelerator.num_processes
        seeds.seed_everything(settings.seed + self.accelerator.process_index)
        # What is evaluated and kept is the recipe's own model; what learns is the same, or a copy cut into shards.
        self.model = job.model
        self._sharded = settings.sharding == "full" and self.processes > 1
        self._trained = sharding.sharded(job.model, self.accelerator.device) if self._sharded else job.model
        groups = parts.groups(self._trained, settings, by_part=job.rates is not None)
        self._optimiser = optimisers.make(groups, settings)
        # What a step uses: the same model and optimiser, wrapped for precision and for several processes.
        self.stepping_model = self.accelerator.prepare_model(
            self._trained.train(), evaluation_mode=self._sharded
        )
        self.stepping_optimiser = self.accelerator.prepare_optimizer(self._optimiser)
        self._decay = settings.ema_decay
        self.average = None if self._decay is None else MovingAverage(job.model, self._decay)

    def close(self) -> None:
        """Give the model back as it was, without the wrapper that mixed precision puts round it."""
        self.accelerator.unwrap_model(self.stepping_model, keep_fp32_wrapper=False)
        self.model.eval()

    def weights(self) -> dict[str, Tensor]:
        """The weights worth keeping: the moving average where there is one. Every process must call this."""
        averaged = {} if self.average is None else self.average.weights
        return {**_whole(state.weights_of(self._trained)), **averaged}

    def settle(self, source: Path) -> None:
        """Put the weights worth keeping into the model for good: nothing more is learnt."""
        state.set_weights(self.model, self.weights(), source)
        self.average, self._sharded, self._trained = None, False, self.model

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Within, the model has the weights worth keeping and is in evaluation mode; nothing else changes."""
        with seeds.randomness_kept(), torch.no_grad():
            if self._sharded:
                state.set_weights(self.model.to(self.accelerator.device), self.weights(), Path("a shard"))
            self.model.eval()
            if self.average is not None:
                self.average.swap()
            try:
                yield
            finally:
                if self.average is not None:
                    self.average.swap()
                self.model.train()

    def agree(self, scores: Mapping[str, float]) -> dict[str, float]:
        """The main process's figures, so that all processes choose alike."""
        if self.processes == 1:
            return dict(scores)
        values = torch.tensor([*scores.values()], dtype=torch.float64, device=self.accelerator.device)
        return dict(zip(scores, broadcast(values).tolist(), strict=True))

    def wait(self) -> None:
        """Let every process come to this line."""
        self.accelerator.wait_for_everyone()

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All that a checkpoint holds in tensors; every process must call this, as it gathers from all."""
        tensors = {
            "model": _whole(state.weights_of(self._trained)),
            "optimiser": _whole(state.optimiser_state(self._optimiser, self._trained)),
            "random": self._gathered(seeds.random_state()),
        }
        if self.average is not None:
            tensors["average"] = self.average.weights
        return tensors

    def unscale(self) -> None:
        """Take fp16's loss scale out of the gradients, so that they can be measured and clipped."""
        if self.accelerator.scaler is not None:
            self.accelerator.scaler.unscale_(self._optimiser)

    def scale(self) -> dict[str, Any] | None:
        """The state of fp16's loss scale."""
        scaler = self.accelerator.scaler
        return None if scaler is None else dict(scaler.state_dict())

    def load(
        self, tensors: Mapping[str, Mapping[str, Tensor]], scale: dict[str, Any] | None, source: Path
    ) -> None:
        """Put back what `tensors` and `scale` gave."""
        state.set_weights(self._trained, tensors["model"], source)
        state.set_optimiser_state(self._optimiser, self._trained, tensors["optimiser"], source)
        if self._decay is not None:
            self.average = MovingAverage(self.model, self._decay)
            if "average" in tensors:
                self.average.load(tensors["average"])
        if self.accelerator.scaler is not None and scale is not None:
            self.accelerator.scaler.load_state_dict(scale)
        own = f"{self.accelerator.process_index}/"
        seeds.set_random_state(
            {
                name.removeprefix(own): value
                for name, value in tensors["random"].items()
                if name.startswith(own)
            }
        )

    def _gathered(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Every process's tensors as `process/name`."""
        gathered: dict[str, Tensor] = {}
        for name, tensor in tensors.items():
            rows = tensor.unsqueeze(0)
            if self.processes > 1:
                rows = self.accelerator.gather(rows.to(self.accelerator.device)).cpu()
            gathered.update((f"{process}/{name}", row) for process, row in enumerate(rows))
        return gathered


def _whole(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: sharding.whole(tensor) for name, tensor in tensors.items()}


def _accelerator(settings: LoopSettings) -> Accelerator:
    handlers = [DistributedDataParallelKwargs(find_unused_parameters=settings.ddp_find_unused_parameters)]
    processes()
    try:
        accelerator = Accelerator(mixed_precision=settings.mixed_precision, kwargs_handlers=handlers)
    except ValueError as error:
        raise InputError(f"mixed_precision = {settings.mixed_precision}: {error}") from error
    if settings.mixed_precision == "fp16" and accelerator.scaler is None:
        raise InputError("mixed_precision = fp16: this device has none; use bf16, or no")
    if accelerator.distributed_type not in _WHOLE:
        raise InputError(
            f"accelerate is set to {accelerator.distributed_type.value}; the loop runs in one process or in several "
            "(torchrun, or accelerate launch --multi_gpu), and cuts the model into shards itself "
            "(--sharding full)"
        )
    return accelerator
