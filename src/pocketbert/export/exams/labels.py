"""What exams of models with labels share: how such a model reads, and rows as batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pocketbert import checkpoint
from pocketbert.export.gate import Batch
from pocketbert.tasks.predict import TokenRow, padded
from pocketbert.text.label_config import FILE_NAME, LabelConfig

LONGEST = 512


def training_settings(source: Path) -> dict[str, Any]:
    """The settings of the run that made a model, where its folder has them."""
    saved = source / "settings.json"
    return dict(checkpoint.read_json(saved)) if saved.is_file() else {}


def reading_of(model: Any, source: Path) -> LabelConfig:
    """How a model with labels reads: as its folder says, as in training, or as much at once as it can."""
    if (source / FILE_NAME).is_file():
        return LabelConfig.load(source)
    trained = training_settings(source).get("max_seq_length")
    return LabelConfig(window=model.config.at_most(trained or LONGEST))


def batches_of(rows: Sequence[TokenRow], pad_id: int) -> list[Batch]:
    """Each row as a batch of its own."""
    return [padded([row], pad_id=pad_id)[0] for row in rows]
