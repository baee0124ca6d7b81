"""`pocketbert export`: a torch model as ONNX files, examined before they are written."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.errors import InputError, require
from pocketbert.runtime.session import FILES

if TYPE_CHECKING:
    from pocketbert.export.folder import Exported


@click.command(name="export")
@click.argument("model", metavar="MODEL")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--precision", "precisions", type=click.Choice(list(FILES)), multiple=True, default=["fp32"],
              show_default=True, help="Which file to write; repeatable.")  # fmt: skip
@click.option("--head", type=click.Choice(["auto", "none", "masked-lm"]), default="auto", show_default=True,
              help="The head that goes along: the saved one, none, or the one that fills gaps.")  # fmt: skip
@click.option("--data", "files", multiple=True,
              help="Data that the model has not seen, to examine and calibrate with; repeatable.")  # fmt: skip
@click.option(
    "--limit", type=click.IntRange(min=2), help="Only so many questions, texts or sentences of the data."
)
@click.option("--tolerance", type=click.FloatRange(min=0), default=0.5, show_default=True,
              help="How many points of the task's score an export may lose.")  # fmt: skip
@click.option("--text", help="Of a table: the column with the text; by default as in training.")
@click.option("--text_pair", help="Of a table: the column with the second text; by default as in training.")
@click.option("--label", help="Of a table: the column with the label, the labels or the score.")
@click.option("--columns", help="Names of the columns (a,b,c) of a table that does not say them.")
@click.option(
    "--format", type=click.Choice(["auto", "conll", "conllu"]), help="How tagged files are written."
)
@click.option(
    "--column", help="Of tagged files: the column with the tag, a number from 2, or upos, xpos, deprel."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    model: str,
    folder: Path,
    precisions: tuple[Any, ...],
    head: Any,
    files: tuple[str, ...],
    limit: int | None,
    tolerance: float,
    as_json: bool,
    columns: str | None,
    **reading: Any,
) -> None:
    """Write a model as ONNX files for the light runtime.

    MODEL is a model folder or a name on the hub; DIR gets onnx/, the tokenizer and the settings. Each file is compared
    with torch: by its outputs, and with --data by the task's score. If one is worse, nothing is written. Data is SQuAD
    JSON for a reader, a table (or GLUE's folder) for a classifier, CoNLL files for a tagger, texts or scored pairs of
    them for an embedder, and texts for a masked language model or an encoder. The scores of classifiers and taggers are
    calibrated by it.
    """
    require("torch", extra="lab")
    require("onnx", extra="lab")
    from pocketbert.export.exams.data import Data, examine
    from pocketbert.export.folder import export_folder

    named = tuple(columns.split(",")) if columns else None
    if not files and (named or limit or any(reading.values())):
        raise InputError("options about data are given, but none; name some by --data, or leave them out")
    data = Data(files=files, limit=limit, columns=named, **reading)
    made = export_folder(
        model,
        folder,
        precisions=list(dict.fromkeys(precisions)),
        head=head,
        examine=examine(data) if files else None,
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
    from pocketbert.export.gate import shown_name

    comparison = item.comparison
    line = f"{item.path}  {item.bytes / 1e6:.1f} MB  error {comparison.error:.2g}"
    score = comparison.score
    if score is None or comparison.torch is None or comparison.exported is None:
        return line
    if "least_cosine" in comparison.exported:
        shown = [f"{shown_name(name)} {value:.2f}" for name, value in comparison.exported.items()]
        if "spearman" in comparison.torch:
            shown.append(f"(torch {comparison.torch['spearman']:.2f})")
        return f"{line}  {'  '.join(shown)}  equal neighbours {comparison.equal:.1f} %"
    return (
        f"{line}  {shown_name(score)} {comparison.exported[score]:.2f} (torch {comparison.torch[score]:.2f})  "
        f"equal answers {comparison.equal:.1f} %"
    )
