"""What a pretrained encoder scores on sentence and token tasks: in torch, as ONNX and in eight bits.

    python benchmarks/tasks.py --weights mobilebert-uncased --data FOLDER --work runs/tasks [--tasks cola,rte]

FOLDER holds glue/ with the benchmark's files, and tags/ with WNUT-17 and UD English EWT. Every task is fine-tuned from
the same weights; of its epochs the one with the best dev score stays. Sentence tasks are scored on their dev sets, as
GLUE's test labels are not public; tags on the test sets. WORK keeps all runs: what is done is not done again, and
what was killed goes on. Written to results/tasks.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pocketbert.runtime.session import FILES
from record import record
from teaching.runs import Run, read

PRECISIONS = ("fp32", "int8")


@dataclass(frozen=True)
class Task:
    """How one task is learnt and examined; files are below the folder of the data."""

    kind: str
    score: str
    paper: float | None = None
    """The score of MobileBERT on the hidden test set (arXiv 2004.02984, table 4)."""
    train: str = "glue"
    dev: str = "glue"
    test: str = "glue"
    flags: dict[str, Any] = field(default_factory=dict)


def glue(score: str, paper: float, *, epochs: int, rate: float = 8e-5, batch: int = 16) -> Task:
    flags = {"num_train_epochs": epochs, "learning_rate": rate, "per_device_train_batch_size": batch}
    return Task("glue", score, paper, flags=flags)


WNUT, UD = "tags/wnut17", "tags/ud-ewt/en_ewt-ud"
TASKS = {
    "cola": glue("matthews", 50.5, epochs=5),
    "mrpc": glue("f1", 88.8, epochs=6),
    "sts-b": glue("spearman", 84.4, epochs=5),
    "rte": glue("accuracy", 66.2, epochs=8),
    "sst-2": glue("accuracy", 92.8, epochs=1, rate=5e-5, batch=32),
    "wnut17": Task(
        "tags", "f1", train=f"{WNUT}/wnut17train.conll", dev=f"{WNUT}/emerging.dev.conll",
        test=f"{WNUT}/emerging.test.annotated", flags={"format": "conll"},
    ),
    "ud-ewt": Task(
        "tags", "accuracy", train=f"{UD}-train.conllu", dev=f"{UD}-dev.conllu", test=f"{UD}-test.conllu",
        flags={"format": "conllu", "num_train_epochs": 3},
    ),
}  # fmt: skip


def main() -> None:
    options = arguments()
    for name in options.tasks.split(","):
        task = TASKS[name]
        trained = Run(options.work / name, ("train", task.kind), flags(options, name, task))
        trained.finish(options.threads)
        exported = options.work / f"{name}-onnx"
        if not (exported / "config.json").is_file():
            export(options, task, trained.folder, exported)
        measured = {
            "score": task.score,
            "paper": task.paper,
            "settings": read_settings(trained.folder),
            "torch": evaluate(options, task, trained.folder),
            **{
                precision: {
                    **evaluate(options, task, exported, "--precision", precision),
                    "megabytes": round((exported / FILES[precision]).stat().st_size / 1e6, 1),
                }
                for precision in PRECISIONS
            },
        }
        if not options.dry:
            record("tasks", {name: measured})
        print(json.dumps({name: measured}), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", required=True, help="the pretrained encoder: a folder or a hub name")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for all runs")
    parser.add_argument("--tasks", default=",".join(TASKS), help=f"some of {', '.join(TASKS)}")
    parser.add_argument("--steps", type=int, help="at most, for trying it out")
    parser.add_argument("--precision", default="no", choices=("no", "bf16"), help="of the forward passes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dry", action="store_true", help="record nothing")
    return parser.parse_args()


def flags(options: argparse.Namespace, name: str, task: Task) -> dict[str, Any]:
    files = (
        {"task": name, "data_dir": options.data / "glue"}
        if task.kind == "glue"
        else {"train_file": options.data / task.train, "validation_file": options.data / task.dev}
    )
    return {
        "preset": "mobilebert",
        "model": options.weights,
        "mixed_precision": options.precision,
        "save_minutes": 5,
        "resume_from_checkpoint": "latest",
        **files,
        **task.flags,
        **({} if options.steps is None else {"max_steps": options.steps}),
    }


def export(options: argparse.Namespace, task: Task, folder: Path, exported: Path) -> None:
    """Both files, whatever they score: that is to be seen here."""
    wanted = [part for precision in PRECISIONS for part in ("--precision", precision)]
    pocketbert(
        "export",
        folder,
        exported,
        "--data",
        options.data / task.dev,
        *wanted,
        "--tolerance",
        100,
        *form(task),
    )


def evaluate(options: argparse.Namespace, task: Task, folder: Path, *more: object) -> dict[str, float]:
    """The official scores, in per cent."""
    found = json.loads(
        pocketbert(
            "evaluate", folder, "--task", task.kind, "--data", options.data / task.test, "--json", *more, *form(task),
            *(("--name", folder.name.removesuffix("-onnx")) if task.kind == "glue" else ()),
        )
    )  # fmt: skip
    return {name: round(value, 2) for name, value in found.items() if isinstance(value, float)}


def form(task: Task) -> tuple[str, ...]:
    """How files are written, where their names do not say it."""
    return ("--format", task.flags["format"]) if "format" in task.flags else ()


def pocketbert(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pocketbert", *map(str, arguments)], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"pocketbert {' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def read_settings(folder: Path) -> dict[str, Any]:
    """What a row of the recommended settings needs."""
    names = ("per_device_train_batch_size", "learning_rate", "num_train_epochs", "warmup_ratio", "pooler")
    saved = read(folder / "settings.json")
    return {name: saved[name] for name in names if name in saved}


if __name__ == "__main__":
    main()
