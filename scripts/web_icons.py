#!/usr/bin/env python3
"""Draw the extension's icons: lines of text on dark paper, one of them highlighted.

python scripts/web_icons.py [FOLDER]

They are drawn here from a few shapes, with nothing but the standard library, so that anybody can draw them again.
"""

from __future__ import annotations

import argparse
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent.parent / "web" / "extension" / "static" / "icons"
SIZES = (16, 32, 48, 128)
FINE = 4  # samples along each side of a pixel

Colour = tuple[int, int, int]
PAPER: Colour = (0x2B, 0x27, 0x20)
LINE: Colour = (0x9A, 0x91, 0x80)
AMBER: Colour = (0xFF, 0xBF, 0x3F)


class Shape(NamedTuple):
    """A rectangle with round corners; its measures are parts of the icon's side, in sixteenths."""

    left: float
    top: float
    right: float
    bottom: float
    radius: float
    colour: Colour

    def holds(self, x: float, y: float) -> bool:
        """Whether a point is in the shape."""
        if not (self.left <= x <= self.right and self.top <= y <= self.bottom):
            return False
        across = max(self.left + self.radius - x, x - self.right + self.radius, 0)
        down = max(self.top + self.radius - y, y - self.bottom + self.radius, 0)
        return across**2 + down**2 <= self.radius**2


# Whole sixteenths, so that the smallest icon is sharp.
SHAPES = (
    Shape(0, 0, 16, 16, 3.5, PAPER),
    Shape(3, 3, 11, 5, 1, LINE),
    Shape(2, 6, 14, 10, 1.25, AMBER),
    Shape(3, 11, 13, 13, 1, LINE),
)


def draw(size: int) -> bytes:
    """The icon as a PNG file."""
    rows = [b"\0" + b"".join(pixel(x, y, size) for x in range(size)) for y in range(size)]
    header = struct.pack(">IIBBBBB", size, size, 8, 6, 0, 0, 0)  # 8 bits, colour with transparency
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in chunks)


def pixel(x: int, y: int, size: int) -> bytes:
    """Red, green, blue and opacity of one pixel: the mean of many points in it."""
    step = 16 / size
    total, seen = [0, 0, 0], 0
    for row in range(FINE):
        for column in range(FINE):
            place = (x + (column + 0.5) / FINE) * step, (y + (row + 0.5) / FINE) * step
            colour = next((shape.colour for shape in reversed(SHAPES) if shape.holds(*place)), None)
            if colour:
                seen += 1
                total = [value + part for value, part in zip(total, colour, strict=True)]
    if not seen:
        return bytes(4)
    return bytes([*(round(value / seen) for value in total), round(255 * seen / FINE**2)])


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        (folder / f"{size}.png").write_bytes(draw(size))
