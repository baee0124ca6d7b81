"""What a bundle can be for: which built files of `web` go into it, and where the model goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pocketbert.bundle.archive import archive
from pocketbert.errors import InputError

UNPACKED = "unpacked"
"""Where an extension is that a browser loads as it is."""
PACKED = "pocketbert.zip"
"""The same as the store takes it."""


@dataclass(frozen=True)
class Target:
    """One kind of bundle. To add one, name it in `TARGETS` and let `npm run` build its files."""

    files: Mapping[str, str]
    """Where in the bundle -> what of `web`: a file or a folder; "" is the bundle itself."""
    script: str
    """The script of package.json that builds them."""
    proof: str
    """The file of `web` that is there once they are built."""
    model: str
    """Where in the bundle the model folder is."""
    finish: Callable[[Path], None] = field(default=lambda _folder: None)
    """What is left to do when all files are there but the manifest, given the bundle."""


ENGINE = "ENGINE-LICENSE.txt"  # of onnxruntime, without which no bundle can read

TARGETS: dict[str, Target] = {
    "page": Target(
        files={"": "dist-page", ENGINE: ENGINE},
        script="build:page",
        proof="dist-page/index.html",
        model="model",
    ),
    "extension": Target(
        # A folder below: what the bundle lists is in a manifest.json, and so is what an extension says of itself.
        files={
            UNPACKED: "dist-extension",
            f"{UNPACKED}/LICENSE": "LICENSE",
            f"{UNPACKED}/NOTICE": "NOTICE",
            f"{UNPACKED}/{ENGINE}": ENGINE,
        },
        script="build:extension",
        proof="dist-extension/page.js",
        model=f"{UNPACKED}/model",
        finish=lambda bundle: archive(bundle / UNPACKED, bundle / PACKED),
    ),
    "npm": Target(
        files={
            "dist": "dist",
            "package.json": "package.json",
            "README.md": "README.md",
            "LICENSE": "LICENSE",
            ENGINE: ENGINE,
        },
        script="build",
        proof="dist/pocketbert.js",
        model="dist/model",
    ),
}


def target_of(name: str) -> Target:
    """The target of that name."""
    if name not in TARGETS:
        raise InputError(f"the bundle is for {name!r}; allowed are {', '.join(map(repr, TARGETS))}")
    return TARGETS[name]
