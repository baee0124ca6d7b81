"""The built files of `web`: those that came with the package, or those of a clone, which are built if they are not.

Nothing that is built is in the repository; a wheel carries it in `assets/web`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pocketbert.bundle.targets import Target
from pocketbert.errors import ExportError

PACKAGED = Path(__file__).parent.parent / "assets" / "web"
CLONE = Path(__file__).resolve().parents[3] / "web"
SOURCES = ("src", "page", "extension", "package.json", "package-lock.json", "vite.config.ts")
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")

Progress = Callable[[str], object]


def put_web_files(
    target: Target, folder: Path, *, left_out: Sequence[str] = (), progress: Progress = lambda _: None
) -> None:
    """Copy the built files of a target into a bundle; a clone that has none, or old ones, builds them first.

    `left_out` are patterns of names.
    """
    if (PACKAGED / target.proof).is_file():
        _copy(PACKAGED, target, folder, left_out)
        return
    if not (CLONE / "package.json").is_file():
        raise ExportError(
            f"this installation has no files for browsers ({PACKAGED} is missing); install a release of pocketbert, "
            "or work in a clone of the repository, where they are built"
        )
    with _locked():
        _build(target, progress)
        _copy(CLONE, target, folder, left_out)


def _copy(root: Path, target: Target, folder: Path, left_out: Sequence[str]) -> None:
    for place, name in target.files.items():
        source = _existing(root, name)
        if source.is_dir():
            ignore = shutil.ignore_patterns(*left_out)
            shutil.copytree(source, folder / place, dirs_exist_ok=True, ignore=ignore)
        else:
            shutil.copyfile(source, folder / place)


@contextmanager
def _locked() -> Iterator[None]:
    """One at a time: a build empties the folder that another process may be copying."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where one has to take care oneself
        yield
        return
    with (CLONE / "package.json").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(target: Target, progress: Progress) -> None:
    proof = CLONE / target.proof
    if proof.is_file() and proof.stat().st_mtime >= max(path.stat().st_mtime for path in _sources()):
        return
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        if proof.is_file():
            return  # old files are better than none
        raise ExportError(
            f"the files for browsers are not built yet ({proof} is missing), and building them needs node and npm: "
            "install Node.js 20.19 or newer, which has both, then run this again"
        )
    if not (CLONE / "node_modules").is_dir():
        progress("installing what the build of the web files needs (npm ci)")
        _npm(npm, *INSTALL)
    progress(f"building the web files (npm run {target.script})")
    _npm(npm, "run", "--silent", target.script)
    if not proof.is_file():
        raise ExportError(f"npm run {target.script} made no {proof}; run it in {CLONE} and see what it says")
    proof.touch()  # the build may have copied it with its old date


def _npm(npm: str, *arguments: str) -> None:
    # Its output is progress, and progress goes to stderr.
    done = subprocess.run([npm, *arguments], cwd=CLONE, stdout=sys.stderr, stderr=None, check=False)  # noqa: S603
    if done.returncode:
        raise ExportError(
            f"npm {' '.join(arguments)} ended with {done.returncode} in {CLONE}; see its message above, "
            "mend what it complains about, then run this again"
        )


def _sources() -> Iterator[Path]:
    for name in SOURCES:
        path = CLONE / name
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from (file for file in path.rglob("*") if file.is_file())


def _existing(root: Path, name: str) -> Path:
    """A file of `web`; the licence of a clone lies above it."""
    found = next((path for path in (root / name, root.parent / name) if path.exists()), None)
    if found is None:
        raise ExportError(f"{root / name} is missing; install the package again, or build it: npm run build")
    return found
