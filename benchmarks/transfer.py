"""Does knowledge transfer help, and which way? The paper's two ablations at bench scale, at equal student steps.

    python benchmarks/transfer.py --corpus wikipedia --task subj.all --work runs/bench [--seeds 0,1] [--jobs 2]

A tokenizer of 8,192 words, an IB-BERT of six blocks, and its thin student, taught in every way with every seed; then
each student is fine-tuned on a task of sentences. WORK keeps all runs: what is done is not done again, and what was
killed goes on. Written to results/transfer.json; `scripts/draw_transfer.py` draws the pictures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

from record import record
from teaching.runs import Run, finish, read

ARMS: dict[str, dict[str, Any]] = {
    "alone": {"method": "none", "alpha": 1},
    "distillation": {"method": "none"},
    "copied": {"method": "none", "initialise": "ends"},
    "feature maps": {"method": "progressive", "attention_weight": 0},
    "progressive": {"method": "progressive"},
    "joint": {"method": "joint"},
    "auxiliary": {"method": "auxiliary", "initialise": "ends"},
}
"""Name -> settings. `progressive` is all of it: distillation, feature maps and attention. Progressive and joint
transfer begin with the teacher's embeddings and head. So do `copied`, which has distillation alone, and `auxiliary`
here, for schedules are compared from the same beginning."""

BLOCKS = 6
SCORES = ("masked_lm_accuracy", "masked_lm_loss", "next_sentence_accuracy")


def main() -> None:
    options = arguments()
    work: Path = options.work
    finish([Run(work / "words", ("train", "tokenizer"), words(options), done="tokenizer.json")])
    finish([Run(work / "teacher", ("train", "pretrain"), teacher(options), processes=options.jobs)])
    seeds = [int(seed) for seed in options.seeds.split(",")]
    arms = [name for name in ARMS if options.arms is None or name in options.arms.split(",")]
    if options.cached:
        for seed in seeds:
            finish([first_look(options, seed)])
    runs = {(arm, seed): student(options, arm, seed) for seed in seeds for arm in arms}
    finish(list(runs.values()), jobs=options.jobs)
    folders = {"teacher": work / "teacher"} | {
        f"{arm}-{seed}": run.folder for (arm, seed), run in runs.items()
    }
    with ThreadPoolExecutor(options.jobs) as pool:
        accuracies = dict(
            zip(
                folders, pool.map(lambda name: fine_tuned(options, name, folders[name]), folders), strict=True
            )
        )
    measured = {
        "teacher": {**scores(work / "teacher"), "task_accuracy": accuracies["teacher"]},
        "unigram": unigram(work / "teacher"),
        "settings": {
            "teacher_steps": options.teacher_steps,
            "block_steps": options.block_steps,
            "distillation_steps": options.distillation_steps,
            "batch": options.batch,
            "teacher_batch": options.batch * options.jobs,
            "length": 64,
            "precision": options.precision,
            "cached": options.cached,
            "seeds": seeds,
            "task_rate": options.task_rate,
            "task_seeds": options.task_seeds,
        },
        "arms": {
            arm: [
                {
                    "seed": seed,
                    **scores(runs[arm, seed].folder),
                    "task_accuracy": accuracies[f"{arm}-{seed}"],
                    "layers": read(runs[arm, seed].folder / "distances.json")["layers"],
                    "minutes": minutes(runs[arm, seed].folder),
                }
                for seed in seeds
            ]
            for arm in arms
        },
    }
    if not options.dry:
        record("transfer", {"bench": measured})
    print(table(measured))
    print(json.dumps(measured))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", required=True, help="texts, as train pretrain takes them")
    parser.add_argument("--task", type=Path, required=True, help="lines of a label, 0 or 1, and a sentence")
    parser.add_argument("--work", type=Path, required=True, help="folder for all runs")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--arms", help=f"some of {', '.join(ARMS)}; all if left out")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side, with one thread each")
    parser.add_argument("--vocab-size", type=int, default=8192)
    parser.add_argument("--teacher-steps", type=int, default=5000)
    parser.add_argument("--block-steps", type=int, default=200)
    parser.add_argument("--distillation-steps", type=int, default=900)
    parser.add_argument(
        "--batch",
        type=int,
        default=32,
        help="texts a step, of each process; the teacher learns in JOBS of them",
    )
    parser.add_argument("--precision", default="no", choices=("no", "bf16"), help="of the forward passes")
    parser.add_argument(
        "--cached",
        action="store_true",
        help="let the teacher read once for all students of a seed; takes half a megabyte of disk a text",
    )
    parser.add_argument("--learnt", type=int, default=2000, help="sentences to fine-tune on")
    parser.add_argument("--task-seeds", type=int, default=3, help="how often to fine-tune each student")
    parser.add_argument("--task-rate", type=float, default=1e-3, help="peak rate of the fine-tuning")
    parser.add_argument("--split", type=float, default=0.02, help="share of the documents to hold out")
    parser.add_argument("--measured", type=int, default=8000, help="held-out sequences to measure by")
    parser.add_argument("--dry", action="store_true", help="record nothing")
    return parser.parse_args()


def words(options: argparse.Namespace) -> dict[str, Any]:
    return {"train_file": options.corpus, "vocab_size": options.vocab_size}


def shared(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "train_file": options.corpus,
        "tokens_dir": options.work / "tokens",
        "validation_split": options.split,
        "resume_from_checkpoint": "latest",
        "per_device_train_batch_size": options.batch,
        "save_steps": 250,
        "max_eval_samples": options.measured,
        "mixed_precision": options.precision,
    }


def teacher(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "preset": "ib-bert-bench",
        "tokenizer": options.work / "words",
        "max_steps": options.teacher_steps,
        "eval_steps": 1000,
        **shared(options),
    }


def first_look(options: argparse.Namespace, seed: int) -> Run:
    """One step of a student that looks at all the teacher can show, so that the others find it done."""
    flags = {**student(options, "joint", seed).flags, "max_steps": 1, "max_eval_samples": options.batch}
    return Run(options.work / f"first-look-{seed}", ("distill",), flags, processes=options.jobs)


def student(options: argparse.Namespace, arm: str, seed: int) -> Run:
    steps = BLOCKS * options.block_steps + options.distillation_steps
    once = {"max_train_samples": steps * options.batch, "cache_dir": options.work / f"views-{seed}"}
    flags = {
        "preset": "bench",
        "teacher": options.work / "teacher",
        "block_steps": options.block_steps,
        "distillation_steps": options.distillation_steps,
        "eval_steps": steps,  # once, at the end
        "seed": seed,
        **shared(options),
        **(once if options.cached else {}),
        **ARMS[arm],
    }
    return Run(options.work / f"{arm.replace(' ', '-')}-{seed}", ("distill",), flags, done="distances.json")


def fine_tuned(options: argparse.Namespace, name: str, folder: Path) -> float:
    """The accuracy of a student on the task, the mean of some seeds."""
    found = []
    for seed in range(options.task_seeds):
        output = options.work / "tasks" / f"{name.replace(' ', '-')}-{seed}-{options.task_rate:g}"
        if not (output / "scores.json").is_file():
            script = Path(__file__).parent / "teaching" / "sentences.py"
            command = [sys.executable, script, folder, options.task, output]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            given = ["--seed", seed, "--learnt", options.learnt, "--rate", options.task_rate]
            subprocess.run([*map(str, (*command, *given))], check=True, env=environment)
        found.append(read(output / "scores.json")["accuracy"])
    return mean(found)


def scores(folder: Path) -> dict[str, float]:
    """The held-out scores of a run."""
    saved = read(folder / "scores.json")
    return {name: saved[name] for name in SCORES if name in saved}


def unigram(folder: Path) -> dict[str, float]:
    """What the most frequent word would score."""
    return {name: value for name, value in read(folder / "scores.json").items() if name.startswith("unigram")}


def minutes(folder: Path) -> float:
    """How long a run took, all its parts together."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return round(max(line.get("seconds", 0.0) for line in lines) / 60, 1)


def table(measured: dict[str, Any]) -> str:
    """The scores of every arm, a row for each seed."""
    rows = [
        f"{'teacher':14} {measured['teacher']['masked_lm_accuracy']:.4f} {measured['teacher']['task_accuracy']:.4f}"
    ]
    for arm, found in measured["arms"].items():
        rows += [
            f"{arm:14} {row['masked_lm_accuracy']:.4f} {row['task_accuracy']:.4f} "
            f"feature maps {mean(layer['feature_map'] for layer in row['layers']):.4f} "
            f"attention {mean(layer['attention'] for layer in row['layers']):.4f} {row['minutes']} min"
            for row in found
        ]
    return "\n".join(rows)


if __name__ == "__main__":
    main()
