"""How a model with labels reads, and how far it trusts itself: what `label_config.json` of a model folder holds.

A fine-tuned model is nearly always too sure of itself. Its logits divided by one number, the temperature, give
probabilities that hold: of the texts with a score of 0.8 four of five are right (Guo et al. 2017, arXiv 1706.04599).
The temperature is fitted on texts that the model has not seen, and never changes which label is the likeliest.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import ConfigError
from pocketbert.text.calibration import sigmoid
from pocketbert.text.settings_file import read_settings, write_settings
from pocketbert.text.spans import Floats

FILE_NAME = "label_config.json"


@dataclass(frozen=True)
class LabelConfig:
    """The settings of a classifier or a tagger."""

    window: int = 512
    """Tokens that are read at once, special ones included."""
    overlap: int | None = None
    """Tokens that neighbouring windows of a tagger share; None is a quarter of the window."""
    temperature: float | None = None
    """None: it was never fitted, and scores are the model's bare softmax or sigmoid."""

    def __post_init__(self) -> None:
        for name, least in (("window", 3), ("overlap", 0)):
            value = getattr(self, name)
            if name == "overlap" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"{name} is {value!r}; it must be a whole number from {least} up")
        heat = self.temperature
        if heat is None:
            return
        if not isinstance(heat, (int, float)) or isinstance(heat, bool) or not 0 < heat < math.inf:
            raise ConfigError(f"temperature is {heat!r}; it must be a number above 0, or null")

    @property
    def heat(self) -> float:
        """What logits are divided by."""
        return 1.0 if self.temperature is None else self.temperature

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `label_config.json` into a model folder."""
        return write_settings(Path(folder) / FILE_NAME, self)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> LabelConfig:
        """Read `label_config.json` of a model folder."""
        return read_settings(Path(folder) / FILE_NAME, cls, mend="export the model again")


def shares(logits: NDArray[np.floating], temperature: float = 1.0) -> Floats:
    """Probabilities of which one is right: the softmax over the last axis.

    >>> import numpy as np
    >>> shares(np.array([2.0, 0.0]), temperature=2.0).round(2).tolist()
    [0.73, 0.27]
    """
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    exponents = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    result: Floats = exponents / exponents.sum(axis=-1, keepdims=True)
    return result


def chances(logits: NDArray[np.floating], temperature: float = 1.0) -> Floats:
    """Probabilities of each one by itself: the sigmoid."""
    return sigmoid(np.asarray(logits, dtype=np.float64) / temperature)
