"""What a run will take before it begins: steps, tokens, arithmetic, memory and time.

Arithmetic is counted in the encoders' matrix products and in the word table, two for a multiplication and an addition;
a backward pass takes twice its forward pass. Memory is counted in tensors: weights, gradients and moments in fp32, and
what autograd keeps of one batch, found by running the model on torch's meta device, which computes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from pocketbert.heads import build
from pocketbert.model import Config, HeadKind, build_encoder
from pocketbert.model.measure import measure

_ENOUGH_SECONDS = 1.0


@dataclass(frozen=True)
class Phase:
    """A stretch of a run; `flops` are those of one step on one sequence."""

    name: str
    steps: int
    flops: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run on so many processes that each do so many floating-point operations a second."""

    phases: Sequence[Phase]
    sequences: int  # of a step, over all processes
    length: int
    processes: int
    flops_per_second: float
    measured: bool
    memory: Mapping[str, int]  # bytes of one process, by what they hold

    @property
    def steps(self) -> int:
        return sum(phase.steps for phase in self.phases)

    def seconds(self, phase: Phase) -> float:
        """How long a phase takes, if the processes share the work evenly."""
        return phase.steps * phase.flops * self.sequences / (self.flops_per_second * self.processes)

    def to_json(self) -> dict[str, Any]:
        """Everything as one document."""
        rows = [
            {
                **asdict(phase),
                "tokens": self._tokens(phase.steps),
                "total_flops": phase.flops * phase.steps * self.sequences,
                "seconds": self.seconds(phase),
            }
            for phase in self.phases
        ]
        return {
            "phases": rows,
            "steps": self.steps,
            "sequences_per_step": self.sequences,
            "max_seq_length": self.length,
            "tokens": self._tokens(self.steps),
            "total_flops": sum(row["total_flops"] for row in rows),
            "seconds": sum(row["seconds"] for row in rows),
            "processes": self.processes,
            "flops_per_second": self.flops_per_second,
            "measured": self.measured,
            "memory": dict(self.memory) | {"total": sum(self.memory.values())},
        }

    def __str__(self) -> str:
        data = self.to_json()
        rows = [("stage", "steps", "tokens", "FLOPs", "time")]
        for row in [*data["phases"], {**data, "name": "all"}]:
            cells = (
                f"{row['steps']:,}",
                _short(row["tokens"]),
                _short(row["total_flops"]),
                duration(row["seconds"]),
            )
            rows.append((row["name"], *cells))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        how = "measured here" if self.measured else "as given"
        speed = f"{_short(self.flops_per_second)}FLOP/s, {how}"
        held = ", ".join(f"{name} {_short(size)}B" for name, size in data["memory"].items())
        devices = f"{self.processes} process{'es' * (self.processes > 1)} of {speed}"
        lines += ["", f"a step: {self.sequences:,} sequences of {self.length} tokens on {devices}"]
        lines += [f"memory of a process: {held}"]
        return "\n".join(lines)

    def _tokens(self, steps: int) -> int:
        return steps * self.sequences * self.length


def forward_flops(config: Config, *, length: int, depth: int | None = None) -> float:
    """Operations of a forward pass of one sequence through the embeddings and the first `depth` blocks."""
    blocks = config.num_hidden_layers
    whole = _flops(config, length)
    if depth is None or depth == blocks or blocks == 1:
        return whole
    return whole - (blocks - depth) * (whole - _flops(replace(config, num_hidden_layers=1), length)) / (
        blocks - 1
    )


def word_flops(config: Config, words: int) -> float:
    """Operations of a masked-LM head at so many places: its own layer and the word table."""
    width = config.hidden_size
    return 2.0 * words * width * (width + config.vocab_size)


def parameters(config: Config, head: HeadKind | None = None) -> int:
    """How many weights a model has; builds nothing that takes memory."""
    with torch.device("meta"):
        return sum(weight.numel() for weight in build(config, head).parameters())


def saved_bytes(config: Config, *, batch: int, length: int) -> int:
    """What autograd keeps of one batch for the backward pass of an encoder, weights not counted."""
    with torch.device("meta"):
        encoder = build_encoder(config)
        ids = torch.zeros(batch, length, dtype=torch.long)
        return kept_bytes(encoder, lambda: encoder(ids, torch.ones_like(ids)))


def kept_bytes(model: nn.Module, forward: Callable[[], object]) -> int:
    """What autograd keeps of a forward pass for its backward pass, the model's weights not counted."""
    own = {weight.untyped_storage()._cdata for weight in model.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        forward()
    return sum(tensor.untyped_storage().nbytes() for key, tensor in kept.items() if key not in own)


def training_memory(weights: int, *, shards: int = 1) -> dict[str, int]:
    """Bytes of what is trained, in fp32; with shards every process has its part."""
    return {
        "weights": 4 * weights // shards,
        "gradients": 4 * weights // shards,
        "moments": 8 * weights // shards,
    }


def measured_speed(config: Config, *, batch: int, length: int) -> float:
    """Operations a second of a training step on this machine, by doing some of them."""
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    encoder = build_encoder(config).to(device or "cpu").train()
    ids = torch.randint(1, config.vocab_size, (batch, length), device=device or "cpu")
    began, done = 0.0, -1  # the first step is for warming up
    while done < 1 or time.perf_counter() - began < _ENOUGH_SECONDS:
        if done == 0:
            began = time.perf_counter()
        float(encoder(ids).last.square().mean().detach())
        encoder(ids).last.square().mean().backward()
        done += 1
    per_step = 4 * batch * forward_flops(config, length=length)  # two forward passes and a backward pass
    return done * per_step / (time.perf_counter() - began)


def duration(seconds: float) -> str:
    """A time as one says it."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


@lru_cache(maxsize=64)
def _flops(config: Config, length: int) -> float:
    return float(measure(config, length=length).flops)


def _short(number: float) -> str:
    for size, letter in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {letter}"
    return f"{number:.0f} "
