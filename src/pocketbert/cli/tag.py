"""`pocketbert tag`: entities of texts of any length, by an exported model and without torch."""

from __future__ import annotations

import json
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.runtime.session import FILES

if TYPE_CHECKING:
    from pocketbert.runtime.tags import Tags


@click.command("tag")
@click.argument("model", metavar="MODEL")
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--file", type=click.Path(path_type=Path), help="A text file, which is one text, or a table.")
@click.option("--text", "column", metavar="COLUMN", help="Of a table: the column with the text.")
@click.option("--columns", help="Names of the columns (a,b,c) of a table that does not say them.")
@click.option(
    "--lines", is_flag=True, help="Take each line of a text file, or of the input, for a text of its own."
)
@click.option("--out", type=click.Path(path_type=Path),
              help="Write the rows and what was found in them to a .csv, .tsv or .jsonl file.")  # fmt: skip
@click.option("--words", is_flag=True, help="Show every word with its tag, not only entities.")
@click.option(
    "--window", type=int, metavar="N", help="Read so many tokens at once [default: as in training]."
)
@click.option("--precision", type=click.Choice(list(FILES)), help="Which ONNX file to run.")
@click.option(
    "--threads", type=int, metavar="N", help="Processor threads [default: OMP_NUM_THREADS, or all]."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, a line for each text.")
def command(
    model: str,
    texts: tuple[str, ...],
    file: Path | None,
    column: str | None,
    columns: str | None,
    lines: bool,
    out: Path | None,
    words: bool,
    window: int | None,
    precision: Any,
    threads: int | None,
    as_json: bool,
) -> None:
    """Find entities, or tag words, with an exported tagger.

    MODEL is a folder that `pocketbert export` wrote, or a hub name. Without a TEXT, it is read from the standard input.
    A text may be of any length. Places count characters (code points) of the text as given.
    """
    from pocketbert.cli.texts import predicted, table_for, texts_given, told, windows_told
    from pocketbert.runtime.tags import Tagger

    given = texts_given(texts, file=file, column=column, header=columns, lines=lines)
    tagger = Tagger.load(model, precision=precision, threads=threads)
    entries, again = tee(given)
    several = len(texts) > 1 or column is not None or lines
    results = tagger.stream(
        (entry.text for entry in entries), window=window, progress=None if several else windows_told()
    )
    count = 0
    with table_for(out) as table:
        for entry, result in zip(again, told(results), strict=True):
            count += 1
            found = _found(result, words)
            if table is not None:
                table.write(predicted(entry, {"words" if words else "entities": found}))
            elif as_json:
                key = "words" if words else "entities"
                click.echo(json.dumps(entry.texts() | {key: found}, ensure_ascii=False))
            else:
                _show(found, number=count if several else None)
    if out is not None:
        click.echo(json.dumps({"out": str(out), "texts": count}) if as_json else f"{out}: {count} texts")


def _found(result: Tags, words: bool) -> list[dict[str, Any]]:
    if not words:
        found: list[dict[str, Any]] = result.to_json()["entities"]
        return found
    return [
        {
            "text": word.text,
            "start": word.start,
            "end": word.end,
            "label": word.tag,
            "score": round(word.score, 6),
        }
        for word in result.words
    ]


def _show(found: list[dict[str, Any]], *, number: int | None) -> None:
    """A line for each entity: score, label, place and words; with the number of the text if there are several."""
    from pocketbert.cli.texts import shown
    from pocketbert.cli.tokens import visible

    width = max((len(visible(row["label"])) for row in found), default=0)
    for row in found:
        place = f"{row['start']}-{row['end']}"
        line = f"{row['score']:.2f}  {visible(row['label']):<{width}}  {place:>11}  {shown(row['text'])}"
        click.echo(line if number is None else f"{number:>4}  {line}")
