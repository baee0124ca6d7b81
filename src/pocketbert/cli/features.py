"""`pocketbert features`: a vector for every token of texts, by an exported encoder and without torch."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.errors import InputError
from pocketbert.runtime.session import FILES

if TYPE_CHECKING:
    from pocketbert.runtime.features import TokenFeatures


@click.command("features")
@click.argument("model", metavar="MODEL")
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--file", type=click.Path(path_type=Path), help="A text file with a text a line, or a table.")
@click.option("--text", "column", metavar="COLUMN", help="Of a table: the column with the text.")
@click.option("--columns", help="Names of the columns (a,b,c) of a table that does not say them.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the vectors to an .npz file of numpy.")
@click.option(
    "--window", type=int, metavar="N", help="Read so many tokens at once [default: 512, or all it can]."
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
    out: Path | None,
    window: int | None,
    precision: Any,
    threads: int | None,
    as_json: bool,
) -> None:
    """Give a vector for every token, for a model of your own.

    MODEL is a folder that `pocketbert export --head none` wrote, or a hub name. An .npz file holds `vectors`
    (tokens, width), `offsets` (tokens, 2), `ids`, and `texts`, the number of the text that each token is from.
    """
    from pocketbert.cli.texts import shown, texts_given, told
    from pocketbert.runtime.features import Features

    if out is not None and out.suffix != ".npz":
        raise InputError(f"{out}: vectors are written to an .npz file; give a name that ends so")
    given = texts_given(texts, file=file, column=column, header=columns, lines=True)
    features = Features.load(model, precision=precision, threads=threads)
    found = told(features.stream((entry.text for entry in given), window=window))
    if out is not None:
        count, tokens = _write(out, found, features.tokenizer.id)
        click.echo(json.dumps({"out": str(out), "texts": count, "tokens": tokens}) if as_json
                   else f"{out}: {count} texts, {tokens} tokens")  # fmt: skip
        return
    for entry in found:
        if as_json:
            click.echo(json.dumps(entry.to_json(), ensure_ascii=False))
            continue
        for token, row in zip(entry.tokens, entry.vectors, strict=True):
            click.echo(
                f"{shown(token):<16}  {' '.join(f'{number:7.3f}' for number in row[:6])} … ({len(row)})"
            )


def _write(out: Path, found: Iterable[TokenFeatures], number_of: Any) -> tuple[int, int]:
    import numpy as np

    entries = list(found)
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.draft.npz")
    np.savez(
        draft,
        vectors=np.concatenate([entry.vectors for entry in entries]),
        offsets=np.concatenate([entry.offsets for entry in entries]),
        ids=np.array([number_of(token) for entry in entries for token in entry.tokens], dtype=np.int32),
        texts=np.repeat(np.arange(len(entries)), [len(entry) for entry in entries]),
    )
    draft.replace(out)
    return len(entries), sum(map(len, entries))
