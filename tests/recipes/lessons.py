"""A tiny teacher, a tiny corpus, and runs of distillation; as a program, one run for each settings in a JSON list."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from pocketbert.recipes import distill, pretrain
from pocketbert.train.fields import resolve
from pocketbert.train.log import read_log
from pocketbert.train.together import leave_together
from pocketbert.transfer.teaching import Teaching

NOUNS = (
    "river",
    "mill",
    "hill",
    "farmer",
    "horse",
    "cart",
    "bridge",
    "village",
    "baker",
    "bread",
    "oven",
    "market",
)
VERBS = ["crosses", "sees", "finds", "leaves", "follows", "carries", "meets", "helps", "watches"]
TOY = {
    "student": "mobilebert-nano",
    "objective": "bert",
    "max_seq_length": 32,
    "per_device_train_batch_size": 4,
    "learning_rate": 1e-3,
    "logging_steps": 1,
    "validation_split": 0.3,
    "plot_curves": False,
    "block_steps": 3,
    "distillation_steps": 3,
    "eval_strategy": "no",
    "save_minutes": None,
}


def write_corpus(file: Path) -> Path:
    generator = random.Random(3)
    with file.open("w") as stream:
        for _ in range(50):
            for _ in range(generator.randint(3, 8)):
                first, second, third = generator.choices(NOUNS, k=3)
                stream.write(f"The {first} {generator.choice(VERBS)} the {second} near the {third}.\n")
            stream.write("\n")
    return file


def make_teacher(corpus: Path, folder: Path) -> Path:
    """Two blocks that have read a little, with both pre-training heads."""
    settings = {
        key: TOY[key] for key in ("max_seq_length", "logging_steps", "validation_split", "plot_curves")
    }
    given = {"model": "ib-bert-nano", "train_file": [str(corpus)], "output_dir": str(folder), "max_steps": 25}
    given |= {"learning_rate": 3e-3, "eval_strategy": "no", "per_device_train_batch_size": 16}
    pretrain.run(resolve(pretrain.Settings, overrides={**settings, **given}))
    return folder


def settings_of(**changes: object) -> distill.Settings:
    return resolve(distill.Settings, overrides={**TOY, **changes})


def losses(folder: Path) -> list[tuple]:
    """What must not differ between two runs: step, loss with its parts, rate and norm of the gradient."""
    left_out = {"time", "seconds", "tokens_per_second", "kind"}
    return [
        tuple(sorted((key, value) for key, value in record.items() if key not in left_out))
        for record in read_log(folder / "log.jsonl")
        if record["kind"] == "train"
    ]


if __name__ == "__main__":
    if "slow" in sys.argv[2:]:  # so that whoever kills this run can choose the step
        fast = Teaching.loss
        Teaching.loss = lambda *arguments: (time.sleep(0.05), fast(*arguments))[1]
    for one in json.loads(sys.argv[1]):
        distill.run(settings_of(**one))
    leave_together()
