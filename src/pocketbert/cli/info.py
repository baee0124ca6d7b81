"""`pocketbert info`: what models are made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pocketbert.errors import InputError, require

if TYPE_CHECKING:
    from pocketbert.model.measure import Measure


@click.command(name="info")
@click.argument("models", nargs=-1, required=True, metavar="MODEL…")
@click.option(
    "--length", default=128, show_default=True, help="Tokens of the sequence that FLOPs are counted for."
)
@click.option(
    "--names", is_flag=True, help="List every tensor, under our name and Hugging Face's, with its shape."
)
@click.option("--blocks", is_flag=True, help="Show the parameters of every block.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(models: tuple[str, ...], length: int, names: bool, blocks: bool, as_json: bool) -> None:
    """Show what models are made of: parameters, FLOPs, memory.

    A MODEL is a preset (pocketbert list), a model folder or a name on the hub. Several are shown side by side.
    """
    if length < 1:
        raise InputError(f"--length is {length}; it must be 1 or more")
    require("torch", extra="lab")
    described = [_describe(model, length, names=names) for model in models]
    if as_json:
        click.echo(json.dumps(described if len(described) > 1 else described[0], indent=2))
        return
    click.echo(_table(described, blocks=blocks))
    for entry in described:
        for name in entry.get("names", []):
            shape = " x ".join(map(str, name["shape"]))
            click.echo(f"{name['name']}  {name['hugging_face']}  {shape}")


def _describe(model: str, length: int, *, names: bool) -> dict[str, Any]:
    """One model's measures as JSON; weights are never read, a folder's config says enough."""
    from pocketbert import checkpoint, hub
    from pocketbert.heads.folder import saved_head, tensor_names
    from pocketbert.model import PRESETS, architecture, read_config
    from pocketbert.model.measure import measure

    if model in PRESETS and not Path(model).is_dir():
        config, head = PRESETS[model], None
    else:
        folder = hub.resolve(model, presets=tuple(PRESETS)).folder
        data = checkpoint.read_json(folder / "config.json")
        config = read_config(data)
        head = saved_head(data, architecture(config.model_type))
    found: Measure = measure(config, length=length)
    described = {"model": model, "head": head} | found.to_json()
    if names:
        described["names"] = [
            {"name": ours, "hugging_face": theirs, "shape": list(shape)}
            for ours, theirs, shape in tensor_names(config, head)
        ]
    return described


def _table(described: list[dict[str, Any]], *, blocks: bool) -> str:
    """Measures as rows, models as columns."""
    rows: dict[str, list[str]] = {
        "": [entry["model"] for entry in described],
        "family": [entry["family"] for entry in described],
        "head": [entry["head"] or "-" for entry in described],
        "parameters": [f"{entry['parameters']:,}" for entry in described],
        "  embeddings": [f"{entry['embeddings']:,}" for entry in described],
        "  blocks": [f"{sum(entry['blocks']):,}" for entry in described],
        "  pooler": [f"{entry['pooler']:,}" for entry in described],
        "layers": [str(entry["layers"]) for entry in described],
        "heads": [str(entry["heads"]) for entry in described],
        "width": [str(entry["width"]) for entry in described],
        "vocabulary": [f"{entry['vocabulary']:,}" for entry in described],
        "positions": [str(entry["positions"] or "any") for entry in described],
        "one block": [f"{entry['blocks'][0]:,}" for entry in described],
        "  attention": [f"{entry['block']['attention']:,}" for entry in described],
        "  feed-forward": [f"{entry['block']['feed-forward']:,}" for entry in described],
        "  bottleneck": [f"{entry['block']['bottleneck']:,}" for entry in described],
        "  attention / feed-forward": [f"{entry['attention_ratio']:.2f}" for entry in described],
        f"GFLOPs at {described[0]['length']} tokens": [f"{entry['flops'] / 1e9:.2f}" for entry in described],
        "MB in fp32": [f"{entry['megabytes']:,.1f}" for entry in described],
    }
    if blocks:
        for number in range(max(entry["layers"] for entry in described)):
            rows[f"block {number}"] = [
                f"{entry['blocks'][number]:,}" if number < entry["layers"] else "-" for entry in described
            ]
    first = max(map(len, rows))
    widths = [max(len(cells[column]) for cells in rows.values()) for column in range(len(described))]
    return "\n".join(
        f"{name:<{first}}  "
        + "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, cells in rows.items()
    )
