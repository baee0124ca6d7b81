"""`pocketbert search`: the passages of indexed documents that fit a query best."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import click

from pocketbert.cli.finding import finding_options, wanted_documents

NOTHING = 3  # exit status


@click.command("search")
@click.argument("query")
@click.option("--index", "written", metavar="FILE|ADDRESS",
              help="The index: a file, or postgresql://USER@HOST/DATABASE#NAME "
                   "[default: that of this folder, of one above, or of the one right below].")  # fmt: skip
@click.option("--top", default=5, show_default=True, type=click.IntRange(min=1), help="How many passages.")
@finding_options
@click.option("--model", metavar="MODEL", help="Where the embedder of the index is, if it was moved.")
@click.option("--threads", type=int, metavar="N",
              help="Processor threads [default: OMP_NUM_THREADS, or all].")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    query: str,
    written: str | None,
    top: int,
    by: Any,
    pattern: str | None,
    since: datetime | None,
    until: datetime | None,
    reranker: str | None,
    model: str | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Find the passages of indexed documents that fit a query.

    Each comes with its file, its line or page, and a score that is comparable within one search only. The exit status
    is 0 if something was found and 3 if not.
    """
    from pocketbert.cli.index import index_place
    from pocketbert.cli.texts import shown
    from pocketbert.cli.tokens import visible
    from pocketbert.runtime.rerank import Reranker
    from pocketbert.search.models import embedder_of
    from pocketbert.search.rank import Searcher

    wanted = wanted_documents(pattern, since, until)
    with index_place(written, ()).open() as store:
        embedder = None if by == "words" else embedder_of(store, model, threads=threads)
        again = None if reranker is None else Reranker.load(reranker, threads=threads)
        searcher = Searcher(store, embedder, reranker=again)
        hits = searcher.search(query, top=top, by=by, where=wanted)
        if as_json:
            rows = [hit.to_json() for hit in hits]
            click.echo(json.dumps({"query": query, "by": by or searcher.usual, "hits": rows}))
        for hit in [] if as_json else hits:
            place = f"{visible(hit.kept.path)}, {hit.kept.where}"
            click.echo(f"{hit.score:.3f}  {place}  {shown(hit.kept.passage.text)}")
    if not hits:
        if not as_json:
            click.echo("nothing was found")
        raise click.exceptions.Exit(NOTHING)
