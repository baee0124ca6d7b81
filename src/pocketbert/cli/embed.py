"""`pocketbert embed`: one vector for each text of files, written to a file that others read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.cli.bulk import bulk_options, is_bulk, run_bulk
from pocketbert.cli.sentences import given_texts, sentence_options, warnings_told
from pocketbert.errors import InputError, require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pocketbert.vectors.rounding import VectorPrecision

ENDINGS = (".npy", ".parquet")
FORMS = ("float32", "int8", "uint8", "binary", "ubinary")
BLOCK = 4096  # rows that are rounded and written at once


@click.command("embed")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True,
              help="Write the vectors to an .npy file of numpy, with their texts to a .parquet file, or with "
              "all columns of Parquet tables to a folder of parts (a name without an ending).")  # fmt: skip
@click.option(
    "--model", metavar="MODEL", help="Folder or hub name of an embedder [default: the embedded one]."
)
@click.option("--prompt_name", metavar="NAME", help="The model's prompt for each text, such as query.")
@click.option("--truncate_dim", type=click.IntRange(min=1), help="Keep so many numbers of a vector.")
@click.option("--normalize", is_flag=True, help="Make vectors one long, whatever the model does.")
@click.option("--as", "form", type=click.Choice(FORMS), default="float32", show_default=True,
              help="How a vector's numbers are written.")  # fmt: skip
@click.option("--long", type=click.Choice(["windows", "truncate"]), default="windows", show_default=True,
              help="Read long texts to their end, in windows, or cut them.")  # fmt: skip
@bulk_options
@sentence_options
def command(
    files: tuple[Path, ...],
    output: Path,
    model: str | None,
    prompt_name: str | None,
    truncate_dim: int | None,
    normalize: bool,
    form: Any,
    long: Any,
    engine: str,
    ray_address: str | None,
    part_rows: int | None,
    column: str | None,
    columns: str | None,
    precision: Any,
    threads: int | None,
    as_json: bool,
) -> None:
    """Write a vector for each text of files.

    FILE is a text file with a text a line, "-" for the standard input, or a table (.csv, .tsv, .jsonl, .parquet) whose
    column --text names. Vectors are written as they come, and never all held in memory. Of Parquet tables, or folders
    of them, the output may be a folder of parts: a run that was killed is gone on with, here or on many machines.
    """
    from pocketbert.cli.texts import told
    from pocketbert.runtime.embed import Embedder

    where: dict[str, Any] = {"engine": engine, "ray_address": ray_address, "part_rows": part_rows}
    if is_bulk(output, **where):
        from pocketbert.bulk.jobs import Embed

        if column is None:
            raise InputError("which column of the tables holds the text? Name it by --text")
        if columns is not None:
            raise InputError("Parquet tables name their columns themselves; --columns is for others")
        job = Embed(
            column,
            model=model,
            precision=precision,
            prompt_name=prompt_name,
            normalize=normalize,
            truncate_dim=truncate_dim,
            form=form,
            long=long,
        )
        run_bulk(job, files, output, threads=threads, as_json=as_json, **where)
        return
    if output.suffix not in ENDINGS:
        raise InputError(
            f"{output}: vectors are written to {' or '.join(ENDINGS)}, or of Parquet tables to a folder; give a "
            "name that ends so, or has no ending"
        )
    keep = output.suffix == ".parquet"
    if keep:  # said before hours of work, not after them
        require("pyarrow.parquet", extra="parquet")
    embedder = Embedder.load(model, precision=precision, threads=threads)
    output.parent.mkdir(parents=True, exist_ok=True)
    draft = output.with_name(f".{output.name}.{os.getpid()}.draft")
    raw = draft.with_suffix(".numbers")
    texts: list[str] = []

    def passing() -> Iterator[str]:
        for entry in given_texts(files, column=column, columns=columns):
            if keep:
                texts.append(entry.text)
            yield entry.text

    vectors = embedder.stream(
        passing(),
        prompt_name=prompt_name,
        normalize_embeddings=normalize,
        truncate_dim=truncate_dim,
        long=long,
    )
    try:
        count = width = 0
        with raw.open("wb") as file, warnings_told():
            for vector in told(vectors):
                file.write(vector.tobytes())
                count, width = count + 1, len(vector)
        blocks = rounded(raw, (count, width), form)
        (write_parquet if keep else write_npy)(draft, blocks, count, texts)
        draft.replace(output)
    finally:
        raw.unlink(missing_ok=True)
        draft.unlink(missing_ok=True)
    told_of = {"output": str(output), "texts": count, "dimensions": width, "as": form}
    click.echo(json.dumps(told_of) if as_json else f"{output}: {count} texts, {width} dimensions, as {form}")


def rounded(raw: Path, shape: tuple[int, int], form: VectorPrecision) -> Iterator[NDArray[Any]]:
    """Blocks of the vectors that lie in a file, in the wanted form; the ranges of int8 are those of all vectors."""
    import numpy as np

    from pocketbert.vectors.rounding import quantize_embeddings

    if form in ("int8", "uint8") and shape[0] < 2:
        raise InputError(
            f"one text does not tell between which numbers {form} has to tell apart; give more texts, or another "
            "form by --as, such as float32 or ubinary"
        )
    held = np.memmap(raw, dtype=np.float32, mode="r", shape=shape)
    ranges = np.stack([held.min(axis=0), held.max(axis=0)]) if form in ("int8", "uint8") else None
    for start in range(0, len(held), BLOCK):
        yield quantize_embeddings(held[start : start + BLOCK], form, ranges)


def write_npy(path: Path, blocks: Iterator[NDArray[Any]], count: int, _texts: list[str]) -> None:
    """An .npy file, block by block."""
    import numpy as np

    body = path.with_suffix(".body")
    try:
        with body.open("wb") as file:
            for block in blocks:
                file.write(block.tobytes())
        header = {
            "descr": np.lib.format.dtype_to_descr(block.dtype),
            "fortran_order": False,
            "shape": (count, block.shape[1]),
        }
        with path.open("wb") as file, body.open("rb") as numbers:
            np.lib.format.write_array_header_1_0(file, header)
            shutil.copyfileobj(numbers, file)
    finally:
        body.unlink(missing_ok=True)


def write_parquet(path: Path, blocks: Iterator[NDArray[Any]], _count: int, texts: list[str]) -> None:
    """A .parquet file with the columns text and vector."""
    arrow = require("pyarrow", extra="parquet")
    parquet = require("pyarrow.parquet", extra="parquet")
    writer, start = None, 0
    try:
        for block in blocks:
            flat = arrow.array(block.reshape(-1))
            columns = {
                "text": arrow.array(texts[start : start + len(block)]),
                "vector": arrow.FixedSizeListArray.from_arrays(flat, block.shape[1]),
            }
            table = arrow.table(columns)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
            start += len(block)
    finally:
        if writer is not None:
            writer.close()
