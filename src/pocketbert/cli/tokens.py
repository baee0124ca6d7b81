"""`pocketbert tokens`: what a model sees of a text."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pocketbert.errors import InputError

if TYPE_CHECKING:
    from pocketbert.text import Encoding, Tokenizer

COLOURS = {"special": "magenta", "continuation": "cyan", "unknown": "red"}


@click.command("tokens")
@click.argument("text", required=False)
@click.option("--file", type=click.Path(path_type=Path), help="Read the text from this UTF-8 file.")
@click.option(
    "--pair", metavar="TEXT", help="A second text behind the first, as a document behind a question."
)
@click.option(
    "--model", metavar="MODEL", help="Folder or hub name of a model [default: BERT's uncased vocabulary]."
)
@click.option("--max-length", type=int, metavar="N", help="Cut to N tokens, and say how many were cut.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(
    text: str | None,
    file: Path | None,
    pair: str | None,
    model: str | None,
    max_length: int | None,
    as_json: bool,
) -> None:
    """Show how a text is cut into tokens.

    TEXT is read from the standard input if it is "-" or left out. Offsets count characters (code points) of the
    text as given.
    """
    given = read_text(text, file)
    tokenizer = load_tokenizer(model)
    encoding = tokenizer.encode(given, pair, max_length=max_length)
    if as_json:
        click.echo(json.dumps(_report([given, pair or ""], encoding)))
    else:
        click.echo(
            _table(encoding, tokenizer, coloured=sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
        )
    if encoding.truncated:
        click.echo(f"tokens cut to keep to {max_length}: {encoding.truncated}", err=True)


def read_text(text: str | None, file: Path | None) -> str:
    """The text that a verb was given: as an argument, in a file or on the standard input."""
    if text is not None and file is not None:
        raise click.UsageError("Give a text or --file, not both.")
    if text is not None and text != "-":
        return text
    if file is not None:
        try:
            return file.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{file} is not UTF-8 (byte {error.start}); convert it first") from error
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from error
    stream = sys.stdin.buffer
    if text is None and stream.isatty():
        raise click.UsageError("Give a text, --file, or a text on the standard input.")
    try:
        return stream.read().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the standard input is not UTF-8 (byte {error.start}); convert it first") from error


def load_tokenizer(model: str | None) -> Tokenizer:
    """The tokenizer of a folder, a file or a hub name; of nothing, the one that comes with the package."""
    from pocketbert.text import Tokenizer

    if model is None or Path(model).exists():
        return Tokenizer.load(model)
    from pocketbert.hub import resolve
    from pocketbert.text.loading import PATTERNS

    return Tokenizer.load(resolve(model, patterns=PATTERNS).folder)


def visible(text: str) -> str:
    """A text that cannot steer a terminal: what is not printable is escaped."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _report(texts: list[str], encoding: Encoding) -> dict[str, object]:
    rows = zip(encoding.tokens, encoding.ids, encoding.offsets, encoding.sequence_ids, strict=True)
    return {
        "tokens": [
            {
                "token": token,
                "id": number,
                "start": start,
                "end": end,
                "text": "" if sequence is None else texts[sequence][start:end],
                "sequence": sequence,
                "special": sequence is None,
            }
            for token, number, (start, end), sequence in rows
        ],
        "count": len(encoding),
        "truncated": encoding.truncated,
    }


def _table(encoding: Encoding, tokenizer: Tokenizer, *, coloured: bool) -> str:
    lines = [
        "    id   start     end           token"
    ]  # the last as nobody knows how wide a terminal draws it
    for number, (start, end), sequence in zip(
        encoding.ids, encoding.offsets, encoding.sequence_ids, strict=True
    ):
        token = visible(tokenizer.token(number))
        if sequence is None:
            lines.append(f"{number:>6}  {'':14}  special  {_painted(token, 'special', coloured)}")
            continue
        kind = "unknown" if number == tokenizer.unk_id else tokenizer.kind(number)
        lines.append(f"{number:>6}  {start:>6}  {end:>6}  {'':7}  {_painted(token, kind, coloured)}")
    return "\n".join(lines)


def _painted(token: str, kind: str, coloured: bool) -> str:
    return click.style(token, fg=COLOURS[kind]) if coloured and kind in COLOURS else token
