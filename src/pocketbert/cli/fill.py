"""`pocketbert fill`: what a masked language model would write."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from pocketbert.errors import InputError, require

if TYPE_CHECKING:
    from pocketbert.model import HeadKind


@click.command(name="fill")
@click.argument("text", metavar="TEXT")
@click.option(
    "--model", required=True, help="A folder or hub name of a model with a head that guesses words."
)
@click.option("--top", default=5, show_default=True, help="How many words for each gap.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(text: str, model: str, top: int, as_json: bool) -> None:
    """Show the likeliest words for each [MASK] in a text.

    TEXT is read from standard input when it is "-".
    """
    if top < 1:
        raise InputError(f"--top is {top}; it must be 1 or more")
    require("torch", extra="lab")
    if text == "-":
        text = sys.stdin.read()
    gaps = _fill(text, model, top)
    if as_json:
        click.echo(json.dumps({"text": text, "gaps": gaps}, ensure_ascii=False, indent=2))
        return
    for number, words in enumerate(gaps, start=1):
        if len(gaps) > 1:
            click.echo(f"gap {number}")
        for word in words:
            click.echo(f"{word['probability']:7.4f}  {word['token']}")


def _fill(text: str, model: str, top: int) -> list[list[dict[str, Any]]]:
    import torch

    from pocketbert import checkpoint, hub
    from pocketbert.heads import load
    from pocketbert.model import architecture, read_config
    from pocketbert.model.xlnet import guesses
    from pocketbert.text import Tokenizer

    folder = hub.resolve(model).folder
    family = architecture(read_config(checkpoint.read_json(folder / "config.json")).model_type)
    head: HeadKind = "masked-lm" if "masked-lm" in family.heads else "permutation-lm"
    filler = load(folder, head=head).eval()
    if filler.report.new:
        raise InputError(
            f"{model} has no {head} head, so it cannot fill gaps; give a folder that was saved with one"
        )
    tokenizer = Tokenizer.load(folder)
    # A [MASK] written out in a text is text everywhere else; here it is what the user asks about.
    pieces = text.replace(tokenizer.token(tokenizer.mask_id), "[MASK]").split("[MASK]")
    if len(pieces) < 2:
        raise InputError(
            'the text has no gap: write [MASK] where a word is wanted, as in "The [MASK] barks."'
        )
    words: list[int] = []
    gaps: list[int] = []
    for number, piece in enumerate(pieces):
        if number:
            gaps.append(len(tokenizer.layout.before) + len(words))
            words.append(tokenizer.mask_id)
        # The blank before a gap belongs to the word that is wanted.
        kept = piece if number == len(pieces) - 1 else piece.rstrip()
        words += tokenizer.encode(kept, special=False).ids
    ids, places = torch.tensor([tokenizer.frame(words)]), torch.tensor([gaps])
    types = torch.tensor([tokenizer.layout.types(len(words))])
    wanted = {"positions": places} if head == "masked-lm" else guesses(places, ids.shape[1])
    with torch.no_grad():
        logits = filler(ids, token_type_ids=types, **wanted).logits[0]  # (gaps, vocabulary)
    found = logits.softmax(-1).topk(min(top, logits.shape[-1]))
    return [
        [
            {"token": tokenizer.token(token), "id": token, "probability": round(probability, 6)}
            for token, probability in zip(tokens, probabilities, strict=True)
        ]
        for tokens, probabilities in zip(found.indices.tolist(), found.values.tolist(), strict=True)
    ]
