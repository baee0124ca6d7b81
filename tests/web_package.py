"""The package in `web`, installed and built once for all tests, and its two programs that tests talk to."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pocketbert.runtime.folder import EMBEDDED
from pocketbert.runtime.manifest import FILE_NAME, write_manifest
from pocketbert.text.loading import EMBEDDED as WORDS

WEB = Path(__file__).resolve().parent.parent / "web"
SETTINGS = ("package.json", "package-lock.json", "vite.config.ts", "tsconfig.json", "tsconfig.build.json")


def node(*command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program of the installed package; if it fails, so does the test, with all that it said."""
    done = subprocess.run(
        [tool(command[0]), *command[1:]], cwd=WEB, encoding="utf-8", capture_output=True, **options
    )
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done


def tool(name: str) -> str:
    """Where a program is; `scripts/test` sees to it that it is there."""
    local = WEB / "node_modules" / ".bin" / name
    found = str(local) if local.exists() else shutil.which(name)
    assert found, f"the tests of the web package need {name}; run scripts/test, or install it"
    return found


def installed() -> Path:
    """The package with what it depends on, as its lock file says."""
    with _locked():
        wanted = _hash(["package.json", "package-lock.json"])
        stamp = WEB / "node_modules" / ".installed"
        if not stamp.exists() or stamp.read_text() != wanted:
            node("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
            stamp.write_text(wanted)
    return WEB


def built() -> Path:
    """The package, installed and built: `dist` is published, `dist-page` and `dist-extension` go into bundles.

    `build` has programs for tests.
    """
    installed()
    with _locked():
        wanted = _hash(("src", "page", "extension", "tests", *SETTINGS))
        stamp = WEB / "build" / ".built"
        if not stamp.exists() or stamp.read_text() != wanted:
            for build in ("build", "build:page", "build:extension", "build:programs"):
                node("npm", "run", "--silent", build)
            stamp.write_text(wanted)
    return WEB


def asked(folder: Path, requests: Iterable[dict[str, Any]]) -> list[Any]:
    """What JavaScript answers to some requests, with the tokenizer of a folder."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = node("node", str(built() / "build" / "parity.js"), str(folder), input=lines)
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def in_chromium(scenario: str, model: Path, **job: Any) -> Any:
    """What a scenario gave in a real browser, which asked nobody else and broke no rule of the page."""
    web = built()
    job |= {"dist": str(web / "dist"), "model": str(model), "chromium": tool("chromium")}
    done = node("node", str(web / "build" / "chromium.js"), scenario, input=json.dumps(job), timeout=240)
    answer = json.loads(done.stdout)
    assert answer["offOrigin"] == []
    assert answer["violations"] == []
    assert answer["requests"]
    return answer["outcome"]


def embedded_folder(folder: Path) -> Path:
    """The embedded reader and its vocabulary as one folder, the way a page serves it."""
    shutil.copytree(EMBEDDED, folder, ignore=shutil.ignore_patterns(FILE_NAME, "README.md"))
    shutil.copy(WORDS / "vocab.txt", folder)
    write_manifest(folder)
    return folder


def _hash(names: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        path = WEB / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(f"{file.relative_to(WEB)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


@contextmanager
def _locked() -> Iterator[None]:
    """One at a time: tests run in several processes."""
    handle = os.open(WEB / "package.json", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
