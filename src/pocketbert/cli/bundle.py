"""`pocketbert bundle`: a reader and all that a browser needs to run it, as one folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from pocketbert.bundle.folder import TOLERANCE
from pocketbert.bundle.targets import TARGETS
from pocketbert.errors import InputError
from pocketbert.runtime.session import FILES


@click.command("bundle")
@click.argument("words", metavar="[MODEL] OUT", nargs=-1, required=True)
@click.option("--for", "target", type=click.Choice(list(TARGETS)), default="page", show_default=True,
              help="What the bundle is for.")  # fmt: skip
@click.option("--precision", type=click.Choice(list(FILES)),
              help="Which of the model's files to take [default: the fastest in a browser].")  # fmt: skip
@click.option("--data", "files", multiple=True,
              help="SQuAD JSON file, or a data set's name, to examine the reader with; repeatable.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=2), help="Only so many questions of the data.")
@click.option("--tolerance", type=click.FloatRange(min=0), default=TOLERANCE, show_default=True,
              help="How many points of F1 the bundled model may lose.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(
    words: tuple[str, ...],
    target: str,
    precision: Any,
    files: tuple[str, ...],
    limit: int | None,
    tolerance: float,
    as_json: bool,
) -> None:
    """Write a reader and all that a browser needs to run it.

    MODEL is a model folder or a hub name, by default the embedded reader; OUT is a folder that is not there yet, or an
    older bundle. The model must answer as before, and with --data keep its F1, or nothing is written. In a clone the
    web files are built first, with node and npm.
    """
    from pocketbert.bundle.folder import make_bundle

    if len(words) > 2:
        raise InputError(
            f"{len(words)} words are given: {' '.join(words)[:200]}; write: pocketbert bundle [MODEL] OUT"
        )
    *model, out = words
    questions = None
    if files:
        from pocketbert.tasks.squad.reading import read_questions

        questions = list(read_questions(files, split="validation").questions)[:limit]
    made = make_bundle(
        model[0] if model else None,
        Path(out),
        target=target,
        precision=precision,
        questions=questions,
        tolerance=tolerance,
        progress=lambda what: click.echo(what, err=True),
    )
    if as_json:
        click.echo(json.dumps(asdict(made) | {"path": str(made.path)}))
        return
    click.echo(f"{made.path}  {made.files} files  {made.bytes / 1e6:.1f} MB  for {target}")
    checked = made.model.check
    line = f"model in {made.model.precision}: {checked.questions} of {checked.questions} answers are the same"
    if checked.f1 is not None and checked.source_f1 is not None:
        line += f", F1 {checked.f1:.2f} (before {checked.source_f1:.2f})"
    click.echo(line)
