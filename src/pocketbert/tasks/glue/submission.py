"""Predictions as GLUE's server takes them: a file for each test set, `index` and `prediction` in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.tasks.classify.metrics import decide
from pocketbert.tasks.glue.benchmark import Part, Task


def write_submission(
    task: Task, folder: Path, indices: Sequence[str], logits: NDArray[np.float32], *, part: Part = "test"
) -> Path:
    """Write the predictions for a test set, labels spelled as the official files spell them; returns the file."""
    names = dict(task.to_submit)
    if part not in names:
        raise InputError(f"{task.name} has no test set {part!r}; it has {', '.join(names)}")
    if len(indices) != len(logits):
        raise InputError(f"{len(indices)} rows came with {len(logits)} predictions; give one for each")
    said = decide(logits, task.problem)
    lines = ["index\tprediction"]
    for index, value in zip(indices, said, strict=True):
        if task.problem == "regression":
            least, most = task.range
            lines.append(f"{index}\t{min(max(float(value), least), most):.3f}")
        else:
            lines.append(f"{index}\t{task.labels[int(value)]}")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / names[part]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
