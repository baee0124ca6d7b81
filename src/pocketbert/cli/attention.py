"""`pocketbert attention`: a page that shows where every head looks."""

from __future__ import annotations

import base64
import html
import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from pocketbert.cli.tokens import load_tokenizer, read_text
from pocketbert.errors import InputError, require

if TYPE_CHECKING:
    from pocketbert.text import Encoding

LONGEST = 256
"""Tokens on a page: more cannot be told apart on a screen, and the file grows with their square."""


@click.command("attention")
@click.argument("model", metavar="MODEL")
@click.argument("text", required=False)
@click.option("--file", type=click.Path(path_type=Path), help="Read the text from this UTF-8 file.")
@click.option(
    "--pair", metavar="TEXT", help="A second text behind the first, as a document behind a question."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The HTML file to write.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    model: str, text: str | None, file: Path | None, pair: str | None, out: Path, as_json: bool
) -> None:
    """Write a page that shows where every attention head looks.

    MODEL is a model folder, a name on the hub, or a preset, whose fresh weights look nearly everywhere alike. TEXT is
    read from the standard input if it is "-" or left out. The page needs no network and no server.
    """
    torch = require("torch", extra="lab")
    from pocketbert.heads import build, load
    from pocketbert.model import PRESETS

    fresh = model in PRESETS and not Path(model).is_dir()
    given = read_text(text, file)
    tokenizer = load_tokenizer(None if fresh else model)
    encoding = tokenizer.encode(given, pair)
    # A preset has no words of its own: it gets the embedded ones, and a table that holds them all.
    encoder: Any = (
        build(replace(PRESETS[model], vocab_size=tokenizer.size)) if fresh else load(model, head="none")
    )
    most = encoder.config.at_most(LONGEST)
    if len(encoding.ids) > most:
        raise InputError(
            f"the text has {len(encoding.ids)} tokens; a page shows up to {most} of this model: give a shorter one"
        )
    rows = [torch.tensor([row]) for row in (encoding.ids, encoding.attention_mask, encoding.type_ids)]
    with torch.inference_mode():
        maps = encoder.eval()(*rows, attentions=True).attentions
    weights = torch.stack([layer[0] for layer in maps]).float().numpy()  # (L, H, S, S)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        attention_page(Path(model).name if Path(model).is_dir() else model, encoding, weights),
        encoding="utf-8",
        errors="backslashreplace",
    )
    layers, heads, tokens = weights.shape[:3]
    told = {"file": str(out), "layers": layers, "heads": heads, "tokens": tokens}
    click.echo(json.dumps(told) if as_json else f"{out}: {layers} layers, {heads} heads, {tokens} tokens")


def attention_page(name: str, encoding: Encoding, weights: NDArray[np.float32]) -> str:
    """The page for attention weights (L, H, S, S), of which each row sums to 1."""
    data = {
        "tokens": list(encoding.tokens),
        "sequences": list(encoding.sequence_ids),
        "shape": list(weights.shape),
        "weights": base64.b64encode(np.rint(255 * weights).clip(0, 255).astype(np.uint8).tobytes()).decode(),
    }
    template = files("pocketbert.cli").joinpath("attention.html").read_text(encoding="utf-8")
    # Inside a script element only "<" could end it early.
    return template.replace("{{name}}", html.escape(name)).replace(
        "{{data}}", json.dumps(data).replace("<", "\\u003c")
    )
