"""Rows of a question table through the `datasets` library: a hub name, a saved folder, or a table file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pocketbert.errors import InputError, require

# What `datasets` calls the builder of a table file, by the file's ending.
_BUILDERS = {".parquet": "parquet", ".jsonl": "json", ".arrow": "arrow"}


def table_rows(name: str, split: str) -> Iterator[dict[str, Any]]:
    """Rows with `id`, `question`, `context`, `answers` and perhaps `title`, as the hub's `squad` has them.

    `name` is a folder of `Dataset.save_to_disk`, a .parquet, .jsonl or .arrow file, a folder that `load_dataset` reads,
    or a hub name such as `squad` or `squad_v2`, which alone needs the network.
    """
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix in _BUILDERS and not path.is_file():
        raise InputError(
            f"{name}: there is no such file; give a SQuAD JSON file, a table file or a data set's name"
        )
    datasets = require("datasets", extra="lab")
    try:
        if suffix in _BUILDERS:
            table = datasets.load_dataset(_BUILDERS[suffix], data_files=str(path), split="train")
        elif (path / "state.json").is_file() or (path / "dataset_dict.json").is_file():
            table = datasets.load_from_disk(str(path))
        else:
            table = datasets.load_dataset(name, split=split)
    except Exception as error:  # the library raises whatever its readers and the network raise
        reason = str(error).strip() or type(error).__name__
        raise InputError(
            f"{name}: `datasets` cannot load it ({reason}); give a SQuAD JSON file, a folder of save_to_disk, "
            "a table file, or a hub name such as 'squad_v2' with the network on"
        ) from error
    if isinstance(table, dict):
        if split not in table:
            raise InputError(f"{name}: there is no split {split!r}; it has: {', '.join(table)}")
        table = table[split]
    yield from table
