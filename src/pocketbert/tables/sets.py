"""Sets that the `datasets` library loads: by a hub name, from a folder of its own, or from a table file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pocketbert.errors import InputError, require

# What `datasets` calls the builder of a table file, by the file's ending.
BUILDERS = {".parquet": "parquet", ".jsonl": "json", ".arrow": "arrow"}


def open_set(name: str, split: str) -> Any:
    """A set: `owner/name` or `owner/name:configuration` of the hub, a folder that `datasets` reads, or a table file.

    Only a hub name needs the network. A folder of `Dataset.save_to_disk` without splits is taken as it is.
    """
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix in BUILDERS and not path.is_file():
        raise InputError(f"{name}: there is no such file; give a table file or a data set's name")
    if path.is_file() and suffix not in BUILDERS:
        raise InputError(
            f"{name} is no table by its ending; here they end with {', '.join(BUILDERS)}: convert the file"
        )
    datasets = require("datasets", extra="lab")
    place, _, configuration = (name, "", "") if path.exists() else name.partition(":")
    try:
        if suffix in BUILDERS:
            table = datasets.load_dataset(BUILDERS[suffix], data_files=str(path), split="train")
        elif (path / "state.json").is_file() or (path / "dataset_dict.json").is_file():
            table = datasets.load_from_disk(place)
        else:
            table = datasets.load_dataset(place, configuration or None, split=split)
    except Exception as error:  # the library raises whatever its readers and the network raise
        reason = str(error).strip() or type(error).__name__
        raise InputError(
            f"{name}: `datasets` cannot load it with the split {split!r} ({reason}); give a file, a folder of "
            "save_to_disk, or a hub name such as 'owner/name:configuration' with the network on"
        ) from error
    if isinstance(table, dict):
        if split not in table:
            raise InputError(f"{name}: there is no split {split!r}; it has: {', '.join(table)}")
        table = table[split]
    return table
