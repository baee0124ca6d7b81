#!/usr/bin/env python3
"""Put the built files of `web` into the wheel, if they are there: hatchling calls this, see pyproject.toml.

    (cd web && npm ci && npm run build && npm run build:page && npm run build:extension) && python -m build --wheel

A wheel without them is complete but for `pocketbert web` and `pocketbert bundle`, which then say what is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("dist", "dist-page", "dist-extension")
FILES = ("package.json", "README.md", "ENGINE-LICENSE.txt", "../LICENSE", "../NOTICE")
GRAPHICS = ("webgpu", "asyncify")  # 27 MB that models in eight bits never use


class WebFiles(BuildHookInterface[Any]):
    """Adds `pocketbert/assets/web`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files and where they go."""
        web = Path(self.root) / "web"
        built = [path for folder in FOLDERS for path in sorted((web / folder).rglob("*")) if path.is_file()]
        if version == "editable" or not built:
            return  # a clone finds its own
        for path in built:
            if not any(word in path.name for word in GRAPHICS):
                build_data["force_include"][str(path)] = (
                    f"pocketbert/assets/web/{path.relative_to(web).as_posix()}"
                )
        for name in FILES:
            build_data["force_include"][str(web / name)] = f"pocketbert/assets/web/{Path(name).name}"
