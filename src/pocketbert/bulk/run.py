"""`run`: a job over all rows of some Parquet files, by one engine or another, begun anew or gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal, get_args

from pocketbert.bulk.jobs import Job, Opened
from pocketbert.bulk.parts import DRAFT, Said, make_part, said_of
from pocketbert.bulk.plan import PART_ROWS, Part, Plan, identity
from pocketbert.errors import BulkError, InputError

EngineName = Literal["local", "ray"]
RECORD = "_pocketbert.json"
"""What a folder of parts is the result of. Readers of Parquet folders pass over names that begin so."""


@dataclass(frozen=True)
class Report:
    """What became of a run."""

    out: Path
    parts: int
    made: int
    """How many of the parts this run made; the others were there."""
    said: Said

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {"output": str(self.out), "parts": self.parts, "made": self.made, **asdict(self.said)}


def run(
    job: Job,
    sources: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    engine: EngineName = "local",
    part_rows: int = PART_ROWS,
    threads: int | None = None,
    address: str | None = None,
    progress: Callable[[Iterable[Part]], Iterable[Part]] = iter,
) -> Report:
    """Do a job for every row of Parquet files, and of those in folders, and write the rows as parts to a folder.

    A folder with parts of the same plan is gone on with, whichever engine made them; one with parts of another is
    refused. On `ray`, `threads` are those of each worker (1 if not said), and `address` is that of a running cluster
    (or RAY_ADDRESS); without one, Ray is started on this machine alone.
    """
    if engine not in get_args(EngineName):
        raise InputError(f"engine is {engine!r}; allowed are {', '.join(map(repr, get_args(EngineName)))}")
    if address is not None and engine != "ray":
        raise InputError(f"the address {address!r} is that of a Ray cluster; give the engine 'ray' with it")
    given, folder = [Path(source) for source in sources], Path(out)
    _check_places(given, folder)
    plan = Plan.of(given, part_rows=part_rows)
    opened = job.open(threads)
    plan.check(job.reads, list(opened.types))
    described = plan.described({**job.described(), "model": opened.fingerprint})
    name = identity(described)
    _begin(folder, described)
    missing = [part for part in plan.parts if said_of(folder, part, name) is None]
    if missing:
        if engine == "local":
            made = _one_by_one(job, opened, missing, folder, name)
        else:
            from pocketbert.bulk.on_ray import on_ray

            made = on_ray(job, opened, missing, folder, name, threads=threads or 1, address=address)
        for _ in progress(made):
            pass
    return Report(folder, len(plan.parts), len(missing), _finish(folder, plan, name, described))


def _one_by_one(job: Job, opened: Opened, parts: Sequence[Part], out: Path, plan: str) -> Iterator[Part]:
    for part in parts:
        make_part(part, job.reads, opened, out, plan)
        yield part


def _check_places(given: Sequence[Path], out: Path) -> None:
    if not given:
        raise InputError("no table is given; name a .parquet file, or a folder of such files")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; the parts go to a folder: give another name")
    if any(out.resolve() == (path if path.is_dir() else path.parent).resolve() for path in given):
        raise InputError(f"{out} is where the tables are; the parts need a folder of their own")


def _begin(out: Path, described: dict[str, Any]) -> None:
    """Make the folder, or see that it is one to go on with; what a killed run left half-written is taken away."""
    record = out / RECORD
    if record.is_file():
        try:
            before = json.loads(record.read_text(encoding="utf-8"))
        except ValueError:
            before = {}
        before = {key: value for key, value in before.items() if key != "done"}
        if before != described:
            names = sorted(key for key in {*before, *described} if before.get(key) != described.get(key))
            raise InputError(
                f"{out} holds the parts of another run ({', '.join(names)} differ); "
                "give another folder, or delete this one to start again"
            )
    elif out.is_dir() and any(out.iterdir()):
        raise InputError(f"{out} holds other files; give a folder that is new or empty")
    out.mkdir(parents=True, exist_ok=True)
    _take_drafts_away(out)
    if not record.is_file():
        _write(record, described)


def _finish(out: Path, plan: Plan, name: str, described: dict[str, Any]) -> Said:
    """Count what lies there, file by file, and only then say that all of it is done; dead workers' drafts go."""
    found = [said_of(out, part, name) for part in plan.parts]
    whole = [said for said in found if said is not None]
    said = reduce(Said.__add__, whole, Said())
    if len(whole) != len(plan.parts) or said.rows != plan.rows:
        raise BulkError(
            f"{out} holds {len(whole)} of {len(plan.parts)} parts with {said.rows} of {plan.rows} rows; "
            "something else has changed the folder: run the same command again"
        )
    _take_drafts_away(out)
    _write(out / RECORD, {**described, "done": asdict(said)})
    return said


def _take_drafts_away(out: Path) -> None:
    for draft in out.glob(f".*{DRAFT}"):
        draft.unlink(missing_ok=True)


def _write(path: Path, document: dict[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}{DRAFT}")
    draft.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)
