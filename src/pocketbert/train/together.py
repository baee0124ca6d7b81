"""The processes of a run: which of them this is, and how they wait for each other.

Steps wait for each other by the engine's own rules, under which whoever hears nothing for some minutes gives up. What
comes before the steps may take hours of one process alone: a corpus is tokenised, a teacher reads. For that they wait
here, in a group of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import parse_flag_from_env
from torch import distributed

_PATIENCE = timedelta(days=7)


def processes() -> Any:
    """The processes of a run, for what a recipe does before and after the loop.

    Asked directly, accelerate must be told that there are CPUs only, or each process believes that it is alone; and
    so it must after `torchrun`, which, unlike `accelerate launch`, says nothing of devices.
    """
    return PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.accelerator.is_available())


@contextmanager
def main_first() -> Iterator[None]:
    """Within, the main process works before the others, which wait for it as long as it takes."""
    first, group = processes().is_main_process, _patient_group()
    if not first:
        _wait(group)
    yield
    if first:
        _wait(group)


def wait_for_all() -> None:
    """Let every process come to this line, however long the others take."""
    _wait(_patient_group())


def leave_together() -> None:
    """Let the processes of a run end at the same time: one that leaves early takes the others' connections with it."""
    if distributed.is_available() and distributed.is_initialized():
        distributed.barrier()
        distributed.destroy_process_group()


def _patient_group() -> Any:
    """All processes, over gloo, which needs no device; none where there is one process."""
    if processes().num_processes == 1:
        return None
    return distributed.new_group(backend="gloo", timeout=_PATIENCE)


def _wait(group: Any) -> None:
    if group is not None:
        distributed.barrier(group=group)
