#!/usr/bin/env python3
"""Draw the silhouettes of the family into docs/pictures: what each model is made of, all to one scale.

    .venv/bin/python scripts/draw_family.py

From the words at the bottom to the last feature map on top, a bar for every layer, as wide as the vectors it works on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pocketbert.model import Config, preset

OUT = Path(__file__).resolve().parent.parent / "docs" / "pictures"
MODELS = (
    "bert-base",
    "mobilebert",
    "roberta-base",
    "distilbert-base",
    "albert-base",
    "tinybert-4",
    "xlnet-base",
)
COLOURS = {
    "words": "#7a8b99",
    "distances": "#b04fc4",
    "attention": "#2f7ed8",
    "feed-forward": "#e8892b",
    "bottleneck": "#59a869",
}
SCALE = 0.1  # pixels for each channel
HEIGHT, GAP, BLOCK_GAP = 2, 1, 3
WIDTH = 500


class Bar(NamedTuple):
    """A layer: what it is, how many channels it has, and whether its weights are those of one below."""

    kind: str
    channels: int
    shared: bool = False
    begins_block: bool = False


def bars(config: Config) -> Iterator[Bar]:
    """The layers of an encoder, from the words up."""
    yield Bar("words", getattr(config, "embedding_size", config.hidden_size))
    inner = getattr(config, "intra_bottleneck_size", None)
    networks = getattr(config, "num_feedforward_networks", 1)
    groups = getattr(config, "num_hidden_groups", config.num_hidden_layers)
    for number in range(config.num_hidden_layers):
        shared = number >= groups
        if inner is not None:
            yield Bar("bottleneck", inner, begins_block=True)
        relative = (
            config.longest is None
        )  # no table of positions at the bottom: every block looks at distances
        if relative:
            yield Bar("distances", config.hidden_size, begins_block=True)
        yield Bar("attention", inner or config.hidden_size, shared, begins_block=not (inner or relative))
        for _ in range(networks):
            yield Bar("feed-forward", config.intermediate_size, shared)
        if inner is not None:
            yield Bar("bottleneck", config.hidden_size)


def picture(name: str) -> str:
    """One model as SVG."""
    config = preset(name)
    layers = list(bars(config))
    shapes, y = [], 0
    for bar in layers:
        y += BLOCK_GAP if bar.begins_block else 0
        wide = max(2.0, SCALE * bar.channels)
        style = f'fill="{COLOURS[bar.kind]}"'
        if bar.shared:
            style += ' fill-opacity="0.25"'
        shapes.append((f'x="{(330 - wide) / 2 + 10:.1f}" width="{wide:.1f}" height="{HEIGHT}" {style}', y))
        y += HEIGHT + GAP
    tall = max(y + 20, 120)
    kinds = list(dict.fromkeys(bar.kind for bar in layers))
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" width="{WIDTH}" height="{tall}" '
            'role="img" font-family="system-ui, sans-serif" font-size="12">'
        ),
        f"<title>{name}: {config.num_hidden_layers} blocks, width {config.hidden_size}</title>",
        *(f'<rect y="{tall - 10 - place - HEIGHT}" {shape}/>' for shape, place in shapes),
    ]
    for number, kind in enumerate(kinds):
        most = max(bar.channels for bar in layers if bar.kind == kind)
        at = 22 + 18 * number
        lines.append(f'<rect x="352" y="{at - 9}" width="10" height="10" fill="{COLOURS[kind]}"/>')
        lines.append(f'<text x="367" y="{at}" fill="#888">{kind} {most}</text>')
    if any(bar.shared for bar in layers):
        at = 22 + 18 * len(kinds)
        lines.append(
            f'<rect x="352" y="{at - 9}" width="10" height="10" fill="{COLOURS["attention"]}" fill-opacity="0.25"/>'
        )
        lines.append(f'<text x="367" y="{at}" fill="#888">weights shared</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        (OUT / f"{name}.svg").write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    main()
