"""Write what a benchmark measured to results/NAME.json, with the machine, the versions and the commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("pocketbert", "numpy", "onnxruntime", "ray", "tokenizers", "torch", "transformers")


def record(name: str, measured: dict[str, object]) -> Path:
    """Add or replace the entries of `measured`; what an earlier run with other options measured stays."""
    path = RESULTS / f"{name}.json"
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for key, value in measured.items():
        document[key] = {"value": value, "circumstances": circumstances()}
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return path


def recorded(name: str, key: str) -> Any:
    """What results/NAME.json has under a key."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))[key]["value"]


def entries(name: str, prefix: str) -> list[str]:
    """The keys of results/NAME.json that begin so."""
    document = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return [key for key in document if key.startswith(prefix)]


def circumstance(name: str, key: str, which: str) -> Any:
    """Where, when or with what an entry of results/NAME.json was measured."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))[key]["circumstances"][which]


def circumstances() -> dict[str, object]:
    return {
        "command": " ".join(["python", *map(shown, sys.argv)]),
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--", "src")),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {name: installed for name in PACKAGES if (installed := version_or_none(name))},
    }


def shown(argument: str) -> str:
    """An argument of the command; of paths from the root, which mean nothing elsewhere, only the ends."""
    parts = argument.split(",")
    return ",".join(Path(part).name if Path(part).is_absolute() else part for part in parts)


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=RESULTS.parent, capture_output=True, text=True)
    return done.stdout.strip()


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def version_or_none(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
