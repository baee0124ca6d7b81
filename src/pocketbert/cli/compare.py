"""`pocketbert compare`: models side by side on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pocketbert.errors import InputError, require

DEFAULT = ("mobilebert", "albert-base", "distilbert-base", "bert-base")
"""Shown when no model is named: who is small, who is fast, and that the two are not the same."""


@click.command(name="compare")
@click.argument("models", nargs=-1, metavar="[MODEL…]")
@click.option("--form", "forms", multiple=True, type=click.Choice(["torch", "fp32", "int8"]), default=("torch", "fp32"),
              show_default=True, help="Run in torch, or exported in a precision; repeatable.")  # fmt: skip
@click.option("--batch", default=1, show_default=True, help="Sequences in a batch.")
@click.option("--length", default=128, show_default=True, help="Tokens in a sequence.")
@click.option("--rounds", default=10, show_default=True, help="Runs of each model, in turns.")
@click.option("--threads", default=1, show_default=True, help="Threads of each run.")
@click.option("--data", "files", multiple=True, help="SQuAD JSON file that scores the readers; repeatable.")
@click.option("--limit", type=int, help="Only the first so many questions of it.")
@click.option("--join", type=click.Path(path_type=Path),
              help="Add the rows that an earlier run wrote with --json; only from this machine.")  # fmt: skip
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="PNG file for a plot of latency.")
@click.option(
    "--against",
    default="size",
    show_default=True,
    help="What the plot has beside latency: size, f1 or exact.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    models: tuple[str, ...],
    files: tuple[str, ...],
    limit: int | None,
    join: Path | None,
    picture: Path | None,
    against: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the size, speed and scores of models on this machine.

    A MODEL is a preset (pocketbert list), a model folder or a name on the hub; presets run with fresh weights, which
    are as fast as trained ones. Every model gets a process of its own, and they run in turns.
    """
    require("torch", extra="lab")
    from pocketbert.compare.picture import plot, table
    from pocketbert.compare.rows import Comparison, this_machine
    from pocketbert.compare.run import Plan, compare
    from pocketbert.tasks.squad.reading import read_questions

    plan = Plan(**options)
    earlier = Comparison.read(join) if join is not None else None
    if earlier is not None:  # told before the work, not after it
        Comparison(this_machine(), plan.settings(), ()).joined(earlier, str(join))
    if against not in ("size", "f1", "exact"):
        raise InputError(f"--against is {against!r}; it must be size, f1 or exact")
    questions = list(read_questions(files, split="validation").questions)[:limit] if files else []
    found = compare(models or DEFAULT, plan, questions=questions, progress=_progress())
    if earlier is not None:
        found = found.joined(earlier, str(join))
    click.echo(found.to_json() if as_json else table(found))
    if picture is not None:
        plot(found, picture, against=against)


def _progress() -> Any:
    """A line on the terminal that is written over; nothing where nobody looks."""

    def show(what: str, done: int, of: int) -> None:
        if sys.stderr.isatty():
            end = "\r\x1b[K" if what == "timing" and done == of else ""
            click.echo(f"\r\x1b[K{what} ({done} of {of}){end}", nl=False, err=True)

    return show
