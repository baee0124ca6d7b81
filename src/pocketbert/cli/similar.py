"""`pocketbert similar`: the texts of files that are most alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pocketbert.cli.sentences import encoded, given_texts, sentence_options
from pocketbert.errors import InputError


@click.command("similar")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--model", metavar="MODEL", help="Folder or hub name of an embedder [default: the embedded one]."
)
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(min=1), help="How many pairs to show."
)
@click.option("--threshold", type=click.FloatRange(-1, 1), help="Only pairs that are at least so alike.")
@sentence_options
def command(
    files: tuple[Path, ...],
    model: str | None,
    top: int,
    threshold: float | None,
    column: str | None,
    columns: str | None,
    precision: Any,
    threads: int | None,
    as_json: bool,
) -> None:
    """Show the pairs of texts that are most alike.

    FILE is a text file with a text a line, "-" for the standard input, or a table whose column --text names. Every text
    is compared with every other; the score is the cosine of their vectors. JSON names the files and lines of a pair.
    """
    from pocketbert.cli.texts import shown
    from pocketbert.runtime.embed import Embedder
    from pocketbert.vectors.search import paraphrase_mining_embeddings

    embedder = Embedder.load(model, precision=precision, threads=threads)
    given = list(given_texts(files, column=column, columns=columns))
    texts = [entry.text for entry in given]
    if len(texts) < 2:
        raise InputError(f"there is {len(texts)} text; a pair needs two")
    pairs = paraphrase_mining_embeddings(encoded(embedder, texts), max_pairs=top, top_k=max(top, 100))
    for score, first, second in pairs:
        left, right = given[int(first)], given[int(second)]
        if threshold is not None and score < threshold:
            break
        if as_json:
            row = {
                "score": round(score, 6),
                "first": first,
                "second": second,
                "texts": [left.text, right.text],
                "files": [left.file, right.file],
                "lines": [left.line, right.line],
            }
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            click.echo(f"{score:5.2f}  {shown(left.text)}\n       {shown(right.text)}")
