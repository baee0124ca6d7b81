"""`pocketbert ask`: the exact words of a page that answer a question, or "not on this page"."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from pocketbert.cli.bulk import bulk_options, is_bulk, run_bulk
from pocketbert.cli.finding import finding_options, wanted_documents
from pocketbert.errors import InputError

NO_ANSWER = 3  # exit status
OF_FOLDERS = ("index", "passages", "by", "pattern", "since", "until", "reranker")


@click.command("ask")
@click.argument("words", metavar="FILE... [QUESTION]", nargs=-1, required=True)
@click.option("-q", "--question", metavar="TEXT", help="The question, where it could be taken for a file.")
@click.option("--top", "top_k", default=1, show_default=True, metavar="N", help="How many answers at most.")
@click.option("--read", type=click.Choice(["fast", "all"]), default="fast", show_default=True,
              help="Stop when the rest is unlikely to hold the answer, or read every window.")  # fmt: skip
@click.option(
    "--deadline", type=float, metavar="SECONDS", help="Stop reading then; how much was read is said."
)
@click.option("--threshold", type=float, metavar="P",
              help="Be silent if no answer is likelier than this; 1 never is [default: the model's own].")  # fmt: skip
@click.option("--why", is_flag=True, help="Show the windows that were read and what each of them said.")
@click.option("--model", metavar="MODEL", help="Folder or hub name of a reader [default: the embedded one].")
@click.option("--index", "index", metavar="FILE|ADDRESS",
              help="Of a folder: its index, a file or a database [default: .pocketbert.db in it].")  # fmt: skip
@click.option("--passages", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
              help="Of a folder: how many passages are read.")  # fmt: skip
@finding_options
@click.option(
    "--threads", type=int, metavar="N", help="Processor threads [default: OMP_NUM_THREADS, or all]."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR",
              help="Answer the rows of Parquet tables; they go to a folder of parts, with their answers.")  # fmt: skip
@click.option("--question_column", default="question", show_default=True, metavar="COLUMN",
              help="Of tables: the column with the question.")  # fmt: skip
@click.option("--context_column", default="context", show_default=True, metavar="COLUMN",
              help="Of tables: the column with the text that may hold the answer.")  # fmt: skip
@bulk_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.pass_context
def command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    question: str | None,
    why: bool,
    model: str | None,
    index: str | None,
    passages: int,
    by: str | None,
    pattern: str | None,
    since: datetime | None,
    until: datetime | None,
    reranker: str | None,
    threads: int | None,
    out: Path | None,
    question_column: str,
    context_column: str,
    engine: str,
    ray_address: str | None,
    part_rows: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer a question with the exact words of a page or a folder.

    FILE is a text, Markdown, HTML or PDF file, "-" for the standard input, or an http address, which is fetched.
    Several files are searched as one. Of a folder all documents are indexed first, or those that have changed since.
    Without a QUESTION you are asked for them; where nobody can be asked, they are read from the standard input, one a
    line. The exit status is 0 with an answer and 3 without one. With --out, FILE is a Parquet table of questions and
    contexts, or a folder of such: a run that was killed is gone on with, here or on many machines.
    """
    from pocketbert.cli import ask_output
    from pocketbert.runtime.options import Options
    from pocketbert.runtime.questions import QuestionAnswerer
    from pocketbert.text.pages import read_page

    where: dict[str, Any] = {"engine": engine, "ray_address": ray_address, "part_rows": part_rows}
    if out is not None or engine == "ray" or ray_address is not None or part_rows is not None:
        columns = question_column, context_column
        answer_tables(context, words, out, columns, where)
        return
    sources, asked = split(words, question)
    Options.of(options)  # what is wrong with them is said before anything is read
    if any(map(is_folder, sources)):
        if len(sources) > 1:
            raise InputError(
                "a folder is asked alone; index several together (pocketbert index DIR DIR --index FILE), and ask "
                "one of them with that --index: all that is in it is asked"
            )
        from pocketbert.cli.ask_folder import FolderOutput, open_library

        reader = QuestionAnswerer.load(model, threads=threads)
        options |= {"passages": passages, "by": by, "where": wanted_documents(pattern, since, until)}
        with open_library(Path(sources[0]), index, reader, reranker=reranker, threads=threads) as library:
            shown = FolderOutput(as_json=as_json, why=why)
            asking = [asked] if asked is not None else prompt(taken=False)
            found = [
                shown.show(library.ask(each, progress=ask_output.progress, **options)) for each in asking
            ]
        if not any(found):
            raise click.exceptions.Exit(NO_ANSWER)
        return
    for option in given_options(context, OF_FOLDERS):
        raise InputError(f"{option} is for a folder, and {sources[0]} is none; leave it out, or ask a folder")
    pages = [read_page(source) for source in sources]
    reader = QuestionAnswerer.load(model, threads=threads)
    documents = [reader.document(page.text) for page in pages]
    output = ask_output.Output(sources, pages, as_json=as_json, why=why)
    answered = False
    for each in [asked] if asked is not None else prompt(taken="-" in sources):
        result = reader.among(each, documents, progress=ask_output.progress, **options)
        output.show(result)
        answered |= result.found
    if not answered:
        raise click.exceptions.Exit(NO_ANSWER)


def answer_tables(
    context: click.Context,
    words: tuple[str, ...],
    out: Path | None,
    columns: tuple[str, str],
    where: dict[str, Any],
) -> None:
    """Answer the questions of Parquet tables; options that mean nothing for them are refused."""
    from pocketbert.bulk.jobs import Answer

    if not is_bulk(out, **where) or out is None:
        raise InputError(
            f"{out}: the answers to a table go to a folder of parts; give a name without an ending"
        )
    given = context.params
    for option in given_options(context, ("question", "top_k", "deadline", "why", *OF_FOLDERS)):
        raise InputError(
            f"{option} is not for tables: every row has its question, and gets one answer; leave it out"
        )
    job = Answer(*columns, model=given["model"], read=given["read"], threshold=given["threshold"])
    run_bulk(
        job, [Path(word) for word in words], out, threads=given["threads"], as_json=given["as_json"], **where
    )


def given_options(context: click.Context, names: Collection[str]) -> Iterator[str]:
    """Which options of some were given, as they are written."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not click.core.ParameterSource.DEFAULT:
            yield parameter.opts[-1]


def split(words: tuple[str, ...], question: str | None) -> tuple[list[str], str | None]:
    """Which words are files, and which is the question: the last, if it is not there as a file."""
    if question is not None:
        return list(words), question
    *files, last = words
    if files and not is_source(last):
        return files, last
    if not is_source(last):
        raise InputError(f'there is no file {last[:200]!r}; write: pocketbert ask FILE "question"')
    return list(words), None


def is_source(word: str) -> bool:
    """Whether a word leads to a page: the standard input, an address on the web, or a file that exists."""
    if word == "-" or word.startswith(("http://", "https://")):
        return True
    with suppress(OSError, ValueError):  # too long for a name, or with a NUL: a question
        return Path(word).exists()
    return False


def is_folder(word: str) -> bool:
    """Whether a word leads to a folder."""
    with suppress(OSError, ValueError):
        return Path(word).is_dir()
    return False


def prompt(*, taken: bool) -> Iterator[str]:
    """Questions from a person, who can call earlier ones back with the arrow keys, or from the standard input."""
    if taken:
        try:
            sys.stdin = Path("/dev/tty").open(encoding="utf-8")  # noqa: SIM115 - open as long as the process
        except OSError:
            raise click.UsageError(
                "The page came from the standard input, so the question must be an argument."
            ) from None
    if not sys.stdin.isatty():
        yield from (line.strip() for line in sys.stdin if line.strip())
        return
    with suppress(ImportError):  # not everywhere; then there is no history
        import readline  # noqa: F401 - changes what input() does
    with suppress(EOFError):
        while question := input("question> ").strip():
            yield question
    click.echo(err=True)
