"""What the verbs share that take whole tables: their options, and what is said of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pocketbert.errors import InputError

if TYPE_CHECKING:
    from pocketbert.bulk.jobs import Job

Function = TypeVar("Function", bound=Callable[..., object])


def bulk_options(function: Function) -> Function:
    """The options of every verb that can write a table as a folder of parts."""
    options = [
        click.option(
            "--engine",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="Run here, or on Ray: Parquet in, a folder of Parquet parts out.",
        ),
        click.option(
            "--ray_address",
            metavar="ADDRESS",
            help="A running Ray cluster [default: RAY_ADDRESS, or Ray is started on this machine].",
        ),
        click.option(
            "--part_rows",
            type=click.IntRange(min=1),
            metavar="N",
            help="Of a folder of parts: rows in each at most [default: 4096].",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def is_bulk(out: Path | None, *, engine: str, ray_address: str | None, part_rows: int | None) -> bool:
    """Whether the output is a folder of parts: a name without an ending. Options that are for those alone say so."""
    if out is not None and not out.suffix:
        return True
    if engine == "ray":
        said = "nothing is said" if out is None else f"it is {out}"
        raise InputError(
            f"with --engine ray the output is a folder of Parquet parts, and {said}; give a name without an ending"
        )
    if ray_address is not None or part_rows is not None:
        name = "--part_rows" if ray_address is None else "--ray_address"
        raise InputError(f"{name} is for a folder of Parquet parts; give an output without an ending")
    return False


def run_bulk(
    job: Job,
    sources: Sequence[Path],
    out: Path,
    *,
    engine: Any,
    ray_address: str | None,
    part_rows: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Do a job, and say what became of it."""
    from pocketbert.bulk.plan import PART_ROWS
    from pocketbert.bulk.run import run
    from pocketbert.cli.texts import told

    report = run(
        job,
        sources,
        out,
        engine=engine,
        part_rows=part_rows or PART_ROWS,
        threads=threads,
        address=ray_address,
        progress=lambda parts: told(parts, what="parts", every=1),
    )
    said = report.said
    if said.truncated:
        click.echo(
            f"{said.truncated} of {said.rows} texts are longer than the model reads at once: their ends were not read",
            err=True,
        )
    if said.skipped:
        click.echo(
            f"{said.skipped} of {said.rows} rows have no result (null); the first: {said.first_skipped}",
            err=True,
        )
    kept = report.parts - report.made
    line = f"{out}: {said.rows} rows in {report.parts} parts" + (
        f", {kept} of them from before" if kept else ""
    )
    click.echo(json.dumps(report.to_json(), ensure_ascii=False) if as_json else line)
