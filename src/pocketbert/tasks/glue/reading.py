"""GLUE's files: the official folders, the hub's `glue`, or a clone of it; a slip is reported with its file and row."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pocketbert.errors import InputError
from pocketbert.tables import Row, read_rows
from pocketbert.tables.reading import open_lines
from pocketbert.tasks.classify.examples import Example, Label, label_of
from pocketbert.tasks.glue.benchmark import Part, Task

HUB = "nyu-mll/glue"


@dataclass(frozen=True)
class GluePart:
    """The examples of a part of a task, their numbers, and the file they are from."""

    examples: list[Example]
    indices: list[str]
    file: Path | None = None


def read_part(task: Task, data: str | os.PathLike[str], part: Part) -> GluePart:
    """A part of a task from the folder that holds all tasks' folders, from the task's own, or from the hub (`glue`)."""
    if not Path(data).is_dir():
        if str(data) in ("glue", HUB):
            return _from_hub(task, [f"{HUB}:{task.hub}"], part)
        raise InputError(f"{data}: there is no such folder; give GLUE's, or 'glue' for the hub's set")
    folder = _folder(task, Path(data))
    if _is_clone(folder):
        shards = sorted(folder.glob(f"{dict(task.hub_parts).get(part)}-*.parquet"))
        return _from_hub(task, list(map(str, shards)), part)
    file, rows = _rows(task, folder, part)
    numbers = task.scheme.numbers
    labelled = not part.startswith("test")
    examples, indices = [], []
    for number, row in enumerate(rows):
        label = label_of(_within(task, row), task.label, task.scheme, numbers) if labelled else None
        examples.append(_example(task, row, task.columns, label))
        indices.append(str(row.cells.get(task.index, number)))
    return GluePart(examples, indices, file)


def parts_of(task: Task, data: str | os.PathLike[str], parts: tuple[Part, ...]) -> list[Part]:
    """Those of some parts that a task has, and of which the file is there."""
    known = dict(task.files)
    if not Path(data).is_dir():
        return [part for part in parts if part in known]
    folder = _folder(task, Path(data))
    if _is_clone(folder):
        return [part for part, name in task.hub_parts if part in parts and any(folder.glob(f"{name}-*"))]
    return [part for part in parts if part in known and (folder / known[part]).is_file()]


def _folder(task: Task, data: Path) -> Path:
    name = task.folder or task.name
    names = (name.lower(), task.hub)
    if data.name.lower() in names:
        return data
    folders = sorted(each for each in data.iterdir() if each.is_dir())
    for folder in folders:
        if folder.name.lower() in names:
            return folder
    found = ", ".join(folder.name for folder in folders) or "none"
    raise InputError(f"{data} has no folder {name}; its folders are {found}")


def _is_clone(folder: Path) -> bool:
    """Whether the files are the hub's, which are Parquet, and not the official ones."""
    return any(folder.glob("*.parquet"))


def _rows(task: Task, folder: Path, part: Part) -> tuple[Path, Iterator[Row]]:
    known = dict(task.files)
    if part not in known:
        raise InputError(f"{task.name} has no part {part!r}; it has {', '.join(known)}")
    test = part.startswith("test")
    if task.original is not None and not test and (folder / task.original[0]).is_file():
        corpus, listed = (folder / name for name in task.original)
        return corpus, _from_original(corpus, listed, part)
    file = folder / known[part]
    if not file.is_file():
        there = ", ".join(sorted(each.name for each in folder.iterdir() if each.is_file())) or "none"
        raise InputError(
            f"{file}: there is no such file, which {task.name}'s part {part!r} needs; files there: {there}"
        )
    if task.broken == "skip" and not test:  # the server wants a prediction for every row
        return file, _whole_rows(file)
    columns = task.columns if test else (*task.columns, task.label)
    header = None if test else task.header
    return file, read_rows(file, columns=columns, header=header, quotes="characters")


def _whole_rows(file: Path) -> Iterator[Row]:
    """Rows of a file with broken lines in it: QQP's questions with line breaks, which make two lines of a row."""
    lines = open_lines(file, newline="\n")
    names = next(lines, "").rstrip("\r\n").split("\t")
    for number, line in enumerate(lines, start=2):
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) == len(names):
            yield Row(f"{file}, line {number}", dict(zip(names, fields, strict=True)))


def _from_original(corpus: Path, listed: Path, part: Part) -> Iterator[Row]:
    """MRPC as the official script makes it: the original corpus, of which a list of pairs is the dev part."""
    dev = {tuple(line.split()) for line in open_lines(listed) if line.strip()}
    for row in read_rows(corpus, form="tsv", quotes="characters"):
        cells = {name: str(cell).strip() for name, cell in row.cells.items()}
        if ((cells["#1 ID"], cells["#2 ID"]) in dev) == (part == "dev"):
            yield Row(row.place, cells)


def _from_hub(task: Task, sources: Sequence[str], part: Part) -> GluePart:
    known = dict(task.hub_parts)
    if part not in known:
        raise InputError(f"{task.name} has no part {part!r}; it has {', '.join(known)}")
    columns = [*task.hub_columns, "label", "idx"]
    examples, indices = [], []
    for source in sources:
        for row in read_rows(source, columns=columns, split=known[part]):
            value = row.number("label")
            label: Label | None = None
            if value >= 0 and task.problem == "regression":  # -1 where it is secret
                label = np.array(value, dtype=np.float32)
            elif value >= 0:
                label = np.array(value, dtype=np.int64)
            examples.append(_example(task, row, task.hub_columns, label))
            indices.append(str(row.cells["idx"]))
    if not examples:
        raise InputError(
            f"{task.name}: there are no files {known[part]}-*.parquet, which its part {part!r} needs"
        )
    return GluePart(examples, indices)


def _example(task: Task, row: Row, columns: tuple[str, ...], label: Label | None) -> Example:
    if task.broken == "skip":  # the file that has broken rows has empty questions, too
        texts = [str(row.cells[column] or "") for column in columns]
    else:
        texts = [row.text(column) for column in columns]
    return Example(texts[0], texts[1] if len(texts) == 2 else None, label)


def _within(task: Task, row: Row) -> Row:
    """The row, if its score lies where the task's scores lie."""
    if task.problem == "regression":
        row.number(task.label, least=task.range[0], most=task.range[1])
    return row
