"""The reader in Chromium: as in Python, and against transformers.js and TensorFlow.js.

    python benchmarks/web.py same --data squad2-dev.json [--limit 200] [--precision int8-fast]
    python benchmarks/web.py speed --data squad2-dev.json [--rounds 5] [--limit 12]

`same` asks the same questions in Python and in the browser, with the same bundled file, and lists what differs.
`speed` visits a page with each contender in turn, in a fresh browser with an empty cache: how much is sent, how long it
takes to be ready and to answer, what it holds in memory. All have one thread. transformers.js gets the same reader,
quantised in the usual way (every product on integers, scales found as it reads), and once more our own file;
TensorFlow.js gets a network of the same shape. Needs Node.js, npm and Chromium. Written to results/web.json.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.text import Tokenizer
from record import record

BROWSER = Path(__file__).resolve().parent / "browser"
PACKAGES = BROWSER / "node_modules"
ROOM = (112, 128)
"""Tokens of a question and its passage: nearly a window, so that every contender reads as much."""

Case = tuple[str, str, str]
"""The id of a question, the question, and its passage."""


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        measured = options.measure(options, Path(folder))
    if not options.dry:
        record("web", measured)
    print(json.dumps(measured, indent=1))


def same(options: argparse.Namespace, work: Path) -> dict[str, Any]:
    """How many answers are equal, and the others."""
    cases = drawn(options.data, options.limit, options.seed)
    arm = ours(work, "pocketbert", options.model, options.precision)
    (visit,) = visits([arm], rounds=0, cases=cases)[arm["name"]]
    reader = QuestionAnswerer.load(str(work / arm["name"] / "dist" / "model"), threads=1)
    others = []
    for (number, question, passage), found in zip(cases, visit["answers"], strict=True):
        here = reader(question, passage, deadline=0)
        places = (utf16(passage, here.start), utf16(passage, here.end))
        if (here.text, *places) != (found["text"], found["start"], found["end"]):
            print(f"{question}\n  Python:  {here.text}\n  browser: {found['text']}", file=sys.stderr)
            others.append(
                {
                    "id": number,
                    "python": {"score": round(here.score, 3), "none": round(here.no_answer, 3)},
                    "browser": {"score": round(found["score"], 3), "none": round(found["noAnswer"], 3)},
                }
            )
    key = f"same answers, {options.name}, {options.precision}"
    return {key: {"asked": len(cases), "equal": len(cases) - len(others), "others": others}}


def speed(options: argparse.Namespace, work: Path) -> dict[str, Any]:
    """What each contender sends, holds and takes."""
    cases = drawn(options.data, options.limit, options.seed, room=ROOM)
    reader = ours(work, "pocketbert", options.model, "int8-fast")
    others = [ours(work, *given.split(",")) for given in options.also]
    own = next((work / reader["name"] / "dist" / "model" / "onnx").glob("*.onnx"))
    arms = [
        reader,
        *others,
        theirs(work, "transformers.js", usual_file(work, options.model or "pocketbert/reader")),
        theirs(work, "transformers.js, our file", own),
    ]
    arms.append({"name": "tfjs", "page": "tfjs", "folders": tensorflow()})
    found = visits(arms, rounds=options.rounds, cases=cases)
    return {"speed": {name: summary(each) for name, each in found.items()}}


def summary(found: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    windows = [one for visit in found for one in visit["milliseconds"][1:]]
    return {
        "ready": statistics.median(visit["ready"] for visit in found) / 1000,
        "first_answer": statistics.median(visit["first"] for visit in found) / 1000,
        "window": statistics.median(windows),
        "window_least": min(windows),
        "megabytes": statistics.median(visit["megabytes"] for visit in found),
        "sent_model": found[0]["model"] / 1e6,
        "sent_programs": found[0]["programs"] / 1e6,
    }


def visits(arms: Sequence[Mapping[str, Any]], *, rounds: int, cases: Sequence[Case]) -> dict[str, Any]:
    """What the browser says; `measure.mjs` has the details."""
    install()
    asked = [case[1:] for case in cases]
    job = {"chromium": tool("chromium"), "rounds": rounds, "questions": asked, "arms": arms}
    done = subprocess.run(
        [tool("node"), BROWSER / "measure.mjs"],
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ours(work: Path, name: str, model: str | None, precision: str) -> dict[str, Any]:
    """The package that `pocketbert bundle` makes."""
    given = [model] if model else []
    command = [sys.executable, "-m", "pocketbert", "bundle", *given, work / name, "--for", "npm"]
    subprocess.run([*map(str, command), "--precision", precision], check=True, stdout=subprocess.DEVNULL)
    return {"name": name, "page": "pocketbert", "folders": {"/pocketbert/": str(work / name / "dist")}}


def theirs(work: Path, name: str, file: Path) -> dict[str, Any]:
    """transformers.js with a model folder as it looks for one."""
    folder = work / name / "reader"
    (folder / "onnx").mkdir(parents=True)
    shutil.copy(work / "exported" / "config.json", folder)
    Tokenizer.load().save(folder, model_max_length=128)
    shutil.copy(file, folder / "onnx" / "model_quantized.onnx")
    return {
        "name": name,
        "page": "transformers",
        "folders": {
            "/transformers/": str(PACKAGES / "@huggingface" / "transformers" / "dist"),
            "/onnxruntime/": str(PACKAGES / "onnxruntime-web" / "dist"),
            "/models/": str(work / name),
        },
    }


def usual_file(work: Path, model: str) -> Path:
    """The reader in 32 bits, quantised with onnxruntime's own tool."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    exported = work / "exported"
    command = [sys.executable, "-m", "pocketbert", "export", model, exported, "--precision", "fp32"]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    file = work / "usual.onnx"
    quantize_dynamic(exported / "onnx" / "model.onnx", file, weight_type=QuantType.QInt8)
    return file


def tensorflow() -> dict[str, str]:
    packages = PACKAGES / "@tensorflow"
    return {
        "/tfjs-core/": str(packages / "tfjs-core" / "dist"),
        "/tfjs-wasm/": str(packages / "tfjs-backend-wasm" / "dist"),
    }


def install() -> None:
    """The contenders, as benchmarks/browser/package.json names them."""
    wanted = json.loads((BROWSER / "package.json").read_text(encoding="utf-8"))["dependencies"]
    files = {name: PACKAGES / name / "package.json" for name in wanted}
    if any(
        not file.is_file() or json.loads(file.read_text(encoding="utf-8"))["version"] != wanted[name]
        for name, file in files.items()
    ):
        command = [tool("npm"), "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=BROWSER, check=True, stdout=sys.stderr)


def drawn(data: Path, limit: int, seed: int, room: tuple[int, int] | None = None) -> list[Case]:
    """Some questions of a SQuAD file with their passages; with `room`, of so many tokens together."""
    articles = json.loads(data.read_text(encoding="utf-8"))["data"]
    cases = [
        (question["id"], question["question"], paragraph["context"])
        for article in articles
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    random.Random(seed).shuffle(cases)
    if room is None:
        return cases[:limit]
    tokenizer = Tokenizer.load()
    chosen = (case for case in cases if room[0] <= len(tokenizer.encode(*case[1:]).ids) <= room[1])
    return [case for case, _ in zip(chosen, range(limit), strict=False)]


def utf16(text: str, place: int) -> int:
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        sys.exit(f"{name} is not installed")
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    for measure, limit in ((same, 200), (speed, 12)):
        verb = verbs.add_parser(measure.__name__, help=measure.__doc__)
        verb.set_defaults(measure=measure)
        verb.add_argument("--data", type=Path, required=True, help="a file in SQuAD's format")
        verb.add_argument("--limit", type=int, default=limit, help="how many questions")
        verb.add_argument("--seed", type=int, default=1)
        verb.add_argument("--model", help="another reader than the embedded one")
        verb.add_argument("--dry", action="store_true", help="record nothing")
        if measure is same:
            verb.add_argument("--precision", default="int8-fast")
            verb.add_argument("--name", default="reader", help="what the reader is called in the table")
        else:
            verb.add_argument("--rounds", type=int, default=5)
            verb.add_argument("--also", action="append", default=[], metavar="NAME,MODEL,PRECISION")
    return parser.parse_args()


if __name__ == "__main__":
    main()
