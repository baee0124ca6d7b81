"""`pocketbert fill`: what a masked language model would write."""

from __future__ import annotations

import json
import sys
from pathlib import Path
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

    TEXT is read from standard input when it is "-". A folder that `pocketbert export` wrote needs no torch.
    """
    if top < 1:
        raise InputError(f"--top is {top}; it must be 1 or more")
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
    from pocketbert.runtime.config import head_of, read_config
    from pocketbert.runtime.fill import HEADS
    from pocketbert.runtime.session import FILES

    folder = Path(model)
    exported = any((folder / file).is_file() for file in FILES.values())
    if exported and head_of(read_config(folder / "config.json")) in HEADS:
        return _in_runtime(text, model, top)
    require("torch", extra="lab")
    return _in_torch(text, model, top)


def _in_runtime(text: str, model: str, top: int) -> list[list[dict[str, Any]]]:
    from pocketbert.runtime.fill import Filler

    gaps = Filler.load(model)(text, top_k=top)
    return [
        [{"token": guess.token, "id": guess.id, "probability": round(guess.score, 6)} for guess in gap]
        for gap in gaps
    ]


def _in_torch(text: str, model: str, top: int) -> list[list[dict[str, Any]]]:
    import torch

    from pocketbert import checkpoint, hub
    from pocketbert.heads import load
    from pocketbert.model import architecture, read_config
    from pocketbert.model.xlnet import guesses
    from pocketbert.text import Tokenizer
    from pocketbert.text.gaps import with_gaps

    folder = hub.resolve(model).folder
    family = architecture(read_config(checkpoint.read_json(folder / "config.json")).model_type)
    head: HeadKind = "masked-lm" if "masked-lm" in family.heads else "permutation-lm"
    filler = load(folder, head=head).eval()
    if filler.report.new:
        raise InputError(
            f"{model} has no {head} head, so it cannot fill gaps; give a folder that was saved with one"
        )
    tokenizer = Tokenizer.load(folder)
    words, gaps = with_gaps(text, tokenizer)
    before = len(tokenizer.layout.before)
    ids, places = torch.tensor([tokenizer.frame(words)]), torch.tensor([[before + gap for gap in gaps]])
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
