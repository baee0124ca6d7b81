"""How light is it? Import times beside `import numpy` and, when asked, the size of a base install.

    python benchmarks/footprint.py [--rounds 20] [--measure-install]

Writes results/footprint.json. Every import runs in a fresh interpreter; the rounds are interleaved, so that
a busy moment of the machine meets all of them alike, and medians are reported.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from record import record

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {"pip", "setuptools", "_distutils_hack", "distutils", "pkg_resources"}  # what every environment has
CASES = {
    "python alone": "pass",
    "import numpy": "import numpy",
    "import pocketbert": "import pocketbert",
    "pocketbert --help": "import pocketbert.cli; pocketbert.cli.main(['--help'])",
    "from pocketbert import Tokenizer": "from pocketbert import Tokenizer",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20, help="how often each import is timed")
    parser.add_argument(
        "--measure-install", action="store_true", help="install into a fresh environment and weigh it"
    )
    options = parser.parse_args()

    measured: dict[str, object] = {"seconds": import_seconds(options.rounds)}
    if options.measure_install:
        measured["base_install"] = base_install()
    record("footprint", measured)
    print(json.dumps(measured))


def import_seconds(rounds: int) -> dict[str, dict[str, float]]:
    """The medians of each case, interpreter start included: processor time, and time on the wall clock."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    for _ in range(rounds + 1):
        for name, code in CASES.items():
            wall, processor = time.perf_counter(), processor_seconds()
            subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
            taken[name].append((processor_seconds() - processor, time.perf_counter() - wall))
    medians = {name: map(statistics.median, zip(*pairs[1:], strict=True)) for name, pairs in taken.items()}
    return {
        name: dict(zip(("processor", "wall"), rounded(pair), strict=True)) for name, pair in medians.items()
    }


def processor_seconds() -> float:
    """What the processes that this one waited for have used; unlike the wall clock, deaf to busy neighbours."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 3) for value in values]


def base_install() -> dict[str, object]:
    """Megabytes (10^6 bytes) of all that `pip install` brings, bytecode included, pip itself not."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, ROOT], check=True, stderr=subprocess.DEVNULL)
        (site,) = Path(folder).glob("lib/python*/site-packages")
        sizes: Counter[str] = Counter()
        for part in site.iterdir():
            sizes[part.name.removesuffix(".libs").split("-")[0]] += size(part)
    for name in OUTSIDE:
        del sizes[name]
    largest = {name: megabytes(count) for name, count in sizes.most_common(6)}
    return {"megabytes": megabytes(sum(sizes.values())), "largest": largest}


def size(path: Path) -> int:
    files = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
    return sum(file.stat().st_size for file in files)


def megabytes(size_in_bytes: int) -> float:
    return round(size_in_bytes / 1e6, 1)


if __name__ == "__main__":
    main()
