"""The state of every random generator as tensors, so that a resumed run draws the same numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor


def seed_everything(seed: int) -> None:
    """Seed Python, numpy and torch (every device)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def random_state() -> dict[str, Tensor]:
    """The state of all generators; the shapes are the same in every process of a run."""
    _, words, next_gauss = random.getstate()
    kind, keys, position, has_gauss, gauss = np.random.get_state()
    assert kind == "MT19937"  # noqa: S101
    state = {
        "python.words": torch.tensor(words, dtype=torch.int64),
        "python.gauss": torch.tensor(
            [float("nan") if next_gauss is None else next_gauss], dtype=torch.float64
        ),
        "numpy.words": torch.from_numpy(np.asarray(keys).astype(np.int64)),
        "numpy.position": torch.tensor([position, has_gauss], dtype=torch.int64),
        "numpy.gauss": torch.tensor([gauss], dtype=torch.float64),
        "torch.cpu": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["torch.cuda"] = torch.cuda.get_rng_state()
    return state


def set_random_state(state: dict[str, Tensor]) -> None:
    """Put all generators back; a device that is not here is left out."""
    gauss = float(state["python.gauss"][0])
    random.setstate((3, tuple(state["python.words"].tolist()), None if gauss != gauss else gauss))
    position, has_gauss = state["numpy.position"].tolist()
    words = state["numpy.words"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", words, position, has_gauss, float(state["numpy.gauss"][0])))
    torch.set_rng_state(state["torch.cpu"])
    if "torch.cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["torch.cuda"])


@contextmanager
def randomness_kept() -> Iterator[None]:
    """Whatever is drawn inside changes nothing outside: how often one evaluates never moves a run."""
    before = random_state()
    try:
        yield
    finally:
        set_random_state(before)
