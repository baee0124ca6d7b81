"""`pocketbert vocab`: the words that a model knows."""

from __future__ import annotations

import json
from collections import Counter
from typing import get_args

import click

from pocketbert.cli.tokens import load_tokenizer, visible
from pocketbert.text.vocabulary import Kind

NAMES: dict[Kind, str] = {
    "word": "whole words",
    "continuation": "continuations",
    "character": "single characters",
    "unused": "unused",
    "special": "special tokens",
}


@click.command("vocab")
@click.argument("model", required=False)
@click.option("--list", "listed", is_flag=True, help="List every word with its id.")
@click.option("--search", metavar="TEXT", help="List the words that hold TEXT, in upper or lower case.")
@click.option("--kind", type=click.Choice(get_args(Kind)), help="List the words of this kind only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(model: str | None, listed: bool, search: str | None, kind: Kind | None, as_json: bool) -> None:
    """List, search and count the words of a vocabulary.

    MODEL is a folder, a tokenizer file or a hub name; left out, BERT's uncased vocabulary, which comes with the
    package. Without an option the words are counted by kind. Continuations go on inside a word: "##ing".
    """
    tokenizer = load_tokenizer(model)
    words = tokenizer.vocabulary()
    kinds = {word: tokenizer.kind(number) for word, number in words.items()}
    counts = Counter(kinds.values())
    found = [
        {"id": number, "word": word, "kind": kinds[word]}
        for word, number in words.items()
        if (search is None or search.casefold() in word.casefold()) and kind in (None, kinds[word])
    ]
    asked = listed or search is not None or kind is not None
    if as_json:
        report = {"size": tokenizer.size, "counts": {name: counts[name] for name in NAMES}}
        click.echo(json.dumps({**report, "words": found} if asked else report))
    elif asked:
        if found:
            click.echo("\n".join(f"{entry['id']:>6}  {visible(str(entry['word']))}" for entry in found))
        click.echo(f"{len(found):,} of {tokenizer.size:,} words", err=True)
    else:
        rows = [*((title, counts[name]) for name, title in NAMES.items()), ("all", tokenizer.size)]
        click.echo("\n".join(f"{title:<17}  {count:>9,}" for title, count in rows))
