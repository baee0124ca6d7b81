"""`pocketbert export`: a torch model as ONNX files, examined before they are written."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.errors import require
from pocketbert.runtime.session import FILES

if TYPE_CHECKING:
    from pocketbert.export.folder import Exported


@click.command(name="export")
@click.argument("model", metavar="MODEL")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--precision", "precisions", type=click.Choice(list(FILES)), multiple=True, default=["fp32"],
              show_default=True, help="Which file to write; repeatable.")  # fmt: skip
@click.option("--data", "files", multiple=True,
              help="SQuAD JSON file, or a data set's name, to examine a reader with; repeatable.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=2), help="Only so many questions of the data.")
@click.option("--tolerance", type=click.FloatRange(min=0), default=0.5, show_default=True,
              help="How many points of F1 an export may lose.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    model: str,
    folder: Path,
    precisions: tuple[Any, ...],
    files: tuple[str, ...],
    limit: int | None,
    tolerance: float,
    as_json: bool,
) -> None:
    """Write a model as ONNX files for the light runtime.

    MODEL is a model folder or a name on the hub; DIR gets onnx/, the tokenizer and the settings. Each file is compared
    with torch: by its outputs, and, for a reader with --data, by its F1. If one is worse, nothing is written.
    """
    require("torch", extra="lab")
    require("onnx", extra="lab")
    from pocketbert.export.folder import export_folder
    from pocketbert.tasks.squad.reading import read_questions

    questions = list(read_questions(files, split="validation").questions)[:limit] if files else None
    made = export_folder(
        model,
        folder,
        precisions=list(dict.fromkeys(precisions)),
        questions=questions,
        tolerance=tolerance,
        progress=_say if sys.stderr.isatty() else lambda _: None,
    )
    if as_json:
        rows = [asdict(item) | {"path": str(item.path)} for item in made]
        click.echo(json.dumps(rows, indent=2))
        return
    for item in made:
        click.echo(_line(item))


def _say(what: str) -> None:
    click.echo(what, err=True)


def _line(item: Exported) -> str:
    comparison = item.comparison
    line = f"{item.path}  {item.bytes / 1e6:.1f} MB  error {comparison.error:.2g}"
    if comparison.torch is None or comparison.exported is None:
        return line
    return (
        f"{line}  F1 {comparison.exported.f1:.2f} (torch {comparison.torch.f1:.2f})  "
        f"equal answers {comparison.equal:.1f} %"
    )
