"""Teach six blocks of a MobileBERT what its twenty-four know, in several ways at equal steps, and make readers of them.

    python benchmarks/compress.py --weights mobilebert-uncased --corpus wikipedia --questions FOLDER --work runs/small

Each student begins with every fourth block of the pretrained encoder, learns from it on the corpus in one of the ways,
and is then fine-tuned on some questions of FOLDER/train.json (`teaching/questions.py`), on paragraphs rather than long
texts, with the soft labels of a reader; the one that learns nothing on the corpus has as many more steps of the latter.
Scores are those on such questions of FOLDER/held-out.json. WORK keeps all runs: what is done is not done again, and
what was killed goes on. Written to results/compress.json.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pocketbert.heads import build, save
from pocketbert.train.seeds import seed_everything
from pocketbert.transfer.layers import layer_map
from pocketbert.transfer.student import initialise
from pocketbert.transfer.teacher import Teacher
from record import record
from teaching.draw import drawn
from teaching.runs import Run, finish, read

METHODS = ("none", "progressive", "joint", "distilbert")
NEEDS_WORDS = ("distilbert",)
"""Methods that compare words: their teacher first gets a masked-LM head, trained on the frozen encoder."""
KEPT = ("exact", "f1", "HasAns_f1", "NoAns_f1", "best_f1")


def main() -> None:
    options = arguments()
    work: Path = options.work
    methods = options.methods.split(",")
    copied(options.weights, work / "none", options.blocks)
    if any(method in NEEDS_WORDS for method in methods):
        finish([Run(work / "head", ("train", "pretrain"), head(options))])
    finish([student(options, method) for method in methods if method != "none"], jobs=options.jobs)
    readers = {method: reader(options, method) for method in methods}
    finish(list(readers.values()), jobs=options.jobs)
    measured = {
        "settings": {
            "blocks": options.blocks,
            "transfer_steps": options.blocks * options.block_steps,
            "reader_steps": options.reader_steps,
            "questions": options.few,
            "longest": options.longest,
            "batch": options.batch,
            "length": options.length,
            "precision": options.precision,
        },
        "methods": {
            method: {
                **{name: read(run.folder / "scores.json")[name] for name in KEPT},
                "layers": None
                if method == "none"
                else read(options.work / method / "distances.json")["layers"],
            }
            for method, run in readers.items()
        },
    }
    if (work / "head").is_dir():
        measured["masked_lm_head"] = read(work / "head" / "scores.json")
    if not options.dry:
        record("compress", {options.key: measured})
    print(json.dumps(measured))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", required=True, help="the pretrained encoder: a folder or a hub name")
    parser.add_argument("--reader", default="pocketbert/reader", help="the teacher of the task")
    parser.add_argument("--corpus", required=True, help="texts, as train pretrain takes them")
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for all runs")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--block-steps", type=int, default=70)
    parser.add_argument("--head-steps", type=int, default=500)
    parser.add_argument("--reader-steps", type=int, default=600)
    parser.add_argument("--few", type=int, default=5000, help="questions that the readers learn from")
    parser.add_argument("--longest", type=int, default=1000, help="characters of the texts they are about")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--precision", default="no", choices=("no", "bf16"), help="of the forward passes")
    parser.add_argument("--split", type=float, default=0.02, help="share of the documents to hold out")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, with one thread each")
    parser.add_argument("--key", default="methods")
    parser.add_argument("--dry", action="store_true", help="record nothing")
    return parser.parse_args()


def copied(weights: str, folder: Path, blocks: int) -> None:
    """The student before its first lesson: every k-th block of the encoder."""
    if (folder / "model.safetensors").is_file():
        return
    seed_everything(0)
    teacher = Teacher.load(weights)
    student = build(replace(teacher.config, num_hidden_layers=blocks), "masked-lm")
    initialise(student, teacher, "blocks", layer_map("uniform", student=blocks, teacher=teacher.blocks))
    save(student, folder)
    teacher.tokenizer.save(folder, model_max_length=student.config.longest)


def shared(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "per_device_train_batch_size": options.batch,
        "resume_from_checkpoint": "latest",
        "save_steps": 60,
        "mixed_precision": options.precision,
    }


def texts(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "train_file": options.corpus,
        "tokens_dir": options.work / "tokens",
        "validation_split": options.split,
        "objective": "masked",
        "max_seq_length": options.length,
        "max_eval_samples": 200,
        **shared(options),
    }


def head(options: argparse.Namespace) -> dict[str, Any]:
    layers = Teacher.load(options.weights).blocks
    return {
        "model": options.weights,
        "freeze_embeddings": "true",
        "freeze_layers": layers,
        "max_steps": options.head_steps,
        "learning_rate": 1e-3,
        "eval_strategy": "steps",
        "eval_steps": options.head_steps,
        **texts(options),
    }


def student(options: argparse.Namespace, method: str) -> Run:
    flags = {
        "teacher": options.work / "head" if method in NEEDS_WORDS else options.weights,
        "student": options.blocks,
        "method": method,
        "initialise": "blocks",
        "block_steps": options.block_steps,
        "distillation_steps": 0,
        "learning_rate": 1.5e-3,
        "warmup_steps": min(30, options.block_steps),
        "stage_warmup_steps": min(10, options.block_steps),
        "eval_strategy": "no",
        **texts(options),
    }
    return Run(options.work / method, ("distill",), flags, done="distances.json")


def questions(options: argparse.Namespace, name: str) -> Path:
    return drawn(options.questions / name, options.work / name, options.few, longest=options.longest)


def reader(options: argparse.Namespace, method: str) -> Run:
    steps = options.reader_steps + (options.blocks * options.block_steps if method == "none" else 0)
    flags = {
        "model": options.work / method,
        "teacher": options.reader,
        "cache_dir": options.work / "labels",
        "train_file": questions(options, "train.json"),
        "validation_file": questions(options, "held-out.json"),
        "max_seq_length": options.length,
        "doc_stride": options.length // 2,
        "max_steps": steps,
        "learning_rate": 1e-3,
        "alpha": 0.8,
        "eval_strategy": "steps",
        "eval_steps": steps,
        **shared(options),
    }
    return Run(options.work / f"{method}-reader", ("train", "squad"), flags)


if __name__ == "__main__":
    main()
