"""`pocketbert classify`: labels for texts, by an exported model and without torch."""

from __future__ import annotations

import json
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.cli.bulk import bulk_options, is_bulk, run_bulk
from pocketbert.errors import InputError
from pocketbert.runtime.session import FILES

if TYPE_CHECKING:
    from pocketbert.cli.texts import Given
    from pocketbert.runtime.classify import Classification


@click.command("classify")
@click.argument("model", metavar="MODEL")
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--file", type=click.Path(path_type=Path), help="A table, or a text file with a text a line.")
@click.option("--text", "column", metavar="COLUMN", help="Of a table: the column with the text.")
@click.option(
    "--text_pair", "pair_column", metavar="COLUMN", help="Of a table: the column with the second text."
)
@click.option("--columns", help="Names of the columns (a,b,c) of a table that does not say them.")
@click.option("--pair", metavar="TEXT", help="A second text, for a model of pairs.")
@click.option("--out", type=click.Path(path_type=Path),
              help="Write the rows and what was said of them to a .csv, .tsv or .jsonl file, or those of Parquet "
              "tables to a folder of parts (a name without an ending).")  # fmt: skip
@click.option(
    "--top", default=1, show_default=True, type=click.IntRange(min=1), help="How many labels to show."
)
@click.option(
    "--window", type=int, metavar="N", help="Read so many tokens of a text [default: as in training]."
)
@click.option("--precision", type=click.Choice(list(FILES)), help="Which ONNX file to run.")
@click.option(
    "--threads", type=int, metavar="N", help="Processor threads [default: OMP_NUM_THREADS, or all]."
)
@bulk_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, a line for each text.")
def command(
    model: str,
    texts: tuple[str, ...],
    file: Path | None,
    column: str | None,
    pair_column: str | None,
    columns: str | None,
    pair: str | None,
    out: Path | None,
    top: int,
    window: int | None,
    precision: Any,
    threads: int | None,
    engine: str,
    ray_address: str | None,
    part_rows: int | None,
    as_json: bool,
) -> None:
    """Label texts with an exported classifier.

    MODEL is a folder that `pocketbert export` wrote, or a hub name. Without a TEXT, texts are read from the standard
    input, one a line. A label's score is its probability; calibrated if the model was exported with --data. If --out is
    a folder, --file may be one of Parquet tables: a run that was killed is gone on with, here or on many machines.
    """
    from pocketbert.cli.texts import predicted, table_for, texts_given, told
    from pocketbert.runtime.classify import Classifier

    where: dict[str, Any] = {"engine": engine, "ray_address": ray_address, "part_rows": part_rows}
    if is_bulk(out, **where):
        from pocketbert.bulk.jobs import Classify

        if out is None or file is None or column is None or texts or pair is not None or columns is not None:
            raise InputError(
                "a folder of parts is made of Parquet tables: give --file TABLE and --text COLUMN, and no other texts"
            )
        job = Classify(model, column, pair_column, precision=precision, window=window)
        run_bulk(job, [file], out, threads=threads, as_json=as_json, **where)
        return
    given = texts_given(
        texts,
        file=file,
        column=column,
        pair=pair,
        pair_column=pair_column,
        header=columns,
        lines=True,
        empty_rows=out is not None,
    )
    classifier = Classifier.load(model, precision=precision, threads=threads)
    entries, again = tee(given)
    pairs = (
        entry.text if entry.pair is None else (entry.text, entry.pair)
        for entry in entries
        if not _lacks_text(entry)
    )
    results = told(classifier.stream(pairs, window=window))
    count = cut = 0
    lacking: list[int] = []
    with table_for(out) as table:
        for entry in again:
            count += 1
            if table is not None and _lacks_text(entry):
                lacking.append(count)
                table.write(predicted(entry, dict.fromkeys(classifier.columns)))
                continue
            result = next(results)
            cut += result.truncated > 0
            if table is not None:
                table.write(predicted(entry, result.to_cells()))
            elif as_json:
                click.echo(json.dumps(entry.texts() | result.to_json(), ensure_ascii=False))
            else:
                click.echo(_line(entry, result, top))
        next(results, None)  # the word about progress goes away with the last one
    if cut:
        click.echo(f"{cut} of {count} texts are longer than {classifier.window(window)} tokens: "
                   "their ends were not read (--window)", err=True)  # fmt: skip
    if lacking:
        click.echo(f"{len(lacking)} of {count} rows have no text, so they have no prediction; the first is row "
                   f"{lacking[0]}", err=True)  # fmt: skip
    if out is not None:
        click.echo(json.dumps({"out": str(out), "texts": count}) if as_json else f"{out}: {count} texts")


def _lacks_text(entry: Given) -> bool:
    """Whether a row of a table has nothing to label."""
    return entry.cells is not None and (not entry.text or entry.pair == "")


def _line(entry: Given, result: Classification, top: int) -> str:
    from pocketbert.cli.texts import shown
    from pocketbert.cli.tokens import visible

    if result.problem == "regression":
        return f"{result.score:.2f}  {shown(entry.text)}"
    # Of several labels all that are given, or as many as are asked for.
    given = len(result.labels) if result.problem == "multi" and top == 1 else top
    said = ", ".join(f"{score:.2f} {visible(name)}" for name, score in result.top(given))
    return f"{said or 'none'}  {shown(entry.text)}"
