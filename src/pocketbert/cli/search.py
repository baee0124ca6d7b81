"""`pocketbert search`: the passages of indexed documents that fit a query best."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import click

NOTHING = 3  # exit status


@click.command("search")
@click.argument("query")
@click.option("--index", "written", metavar="FILE|ADDRESS",
              help="The index: a file, or postgresql://USER@HOST/DATABASE#NAME "
                   "[default: .pocketbert.db here or in a folder above].")  # fmt: skip
@click.option("--top", default=5, show_default=True, type=click.IntRange(min=1), help="How many passages.")
@click.option("--by", type=click.Choice(["words", "vectors", "both"]),
              help="By words, by meaning, or both [default: both if the index has vectors].")  # fmt: skip
@click.option(
    "--path", "pattern", metavar="GLOB", help='Only files whose paths are like this, as "notes/*.md".'
)
@click.option("--since", type=click.DateTime(), help="Only files that were changed since then.")
@click.option("--model", metavar="MODEL", help="Where the embedder of the index is, if it was moved.")
@click.option("--reranker", metavar="MODEL", help="Folder or hub name of a cross-encoder, for the last word.")
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
    model: str | None,
    reranker: str | None,
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
    from pocketbert.search.store import Filter

    wanted = Filter(pattern, None if since is None else int(since.timestamp()) * 10**9)
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
