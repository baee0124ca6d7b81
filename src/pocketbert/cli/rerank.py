"""`pocketbert rerank`: the texts of files in the order in which they fit a query, by a cross-encoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pocketbert.cli.sentences import given_texts, sentence_options, warnings_told


@click.command("rerank")
@click.argument("query", metavar="QUERY")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", metavar="MODEL", required=True, help="Folder or hub name of a reranker.")
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(min=1), help="How many texts to show."
)
@sentence_options
def command(
    query: str,
    files: tuple[Path, ...],
    model: str,
    top: int,
    column: str | None,
    columns: str | None,
    precision: Any,
    threads: int | None,
    as_json: bool,
) -> None:
    """Show the texts that fit a query best.

    FILE is a text file with a text a line, "-" for the standard input, or a table whose column --text names. MODEL
    reads the query together with each text and gives one number: a folder that `pocketbert export` wrote.
    """
    from pocketbert.cli.texts import shown
    from pocketbert.runtime.rerank import Reranker

    reranker = Reranker.load(model, precision=precision, threads=threads)
    texts = [entry.text for entry in given_texts(files, column=column, columns=columns)]
    with warnings_told():
        hits = reranker.rank(query, texts, top_k=top, return_documents=True)
    for hit in hits:
        if as_json:
            click.echo(json.dumps(hit | {"score": round(hit["score"], 6)}, ensure_ascii=False))
        else:
            click.echo(f"{hit['score']:.4f}  {shown(hit['text'])}")
