"""A task small enough to train in a tenth of a second: are most of the numbers of a list small?

Run as a program it trains once for each settings in a JSON list: `python toy.py '[{"output_dir": …}]'`.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from pocketbert.train.fields import resolve
from pocketbert.train.job import Result
from pocketbert.train.log import read_log
from pocketbert.train.loop import train
from pocketbert.train.seeds import seed_everything
from pocketbert.train.settings import LoopSettings
from pocketbert.train.together import leave_together

WORDS, WIDTH = 40, 12


class NoNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.bias


class Block(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dense, self.norm, self.dropout = nn.Linear(WIDTH, WIDTH), NoNorm(WIDTH), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x + self.dropout(torch.relu(self.dense(x))))


class Encoder(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict({"words": nn.Embedding(WORDS, WIDTH), "norm": nn.LayerNorm(WIDTH)})
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(3))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.embeddings["norm"](self.embeddings["words"](ids))
        for block in self.blocks:
            x = block(x)
        if self.training:
            self.seen += len(ids)
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


class Model(nn.Module):
    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder, self.head = Encoder(dropout), nn.Linear(WIDTH, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.head(self.encoder(ids, mask))


def make_examples(count: int = 75) -> list[dict]:
    generator = random.Random(5)
    rows = [[generator.randrange(1, WORDS) for _ in range(generator.randrange(2, 15))] for _ in range(count)]
    return [
        {"input_ids": row, "label": int(sum(word < WORDS // 2 for word in row) * 2 > len(row))}
        for row in rows
    ]


def collate(examples: list[dict]) -> dict[str, Tensor]:
    longest = max(len(example["input_ids"]) for example in examples)
    rows = [example["input_ids"] + [0] * (longest - len(example["input_ids"])) for example in examples]
    ids = torch.tensor(rows)
    labels = torch.tensor([example["label"] for example in examples])
    return {"ids": ids, "mask": (ids > 0).float(), "labels": labels}


def loss_function(model: nn.Module, batch: dict[str, Tensor], step: int) -> tuple[Tensor, dict[str, float]]:
    logits = model(batch["ids"], batch["mask"])
    loss = nn.functional.cross_entropy(logits, batch["labels"])
    return loss, {"accuracy": float((logits.argmax(-1) == batch["labels"]).float().mean())}


def evaluate(model: nn.Module) -> dict[str, float]:
    batch = collate(make_examples())
    logits = model(batch["ids"], batch["mask"])
    return {
        "accuracy": float((logits.argmax(-1) == batch["labels"]).float().mean()),
        "loss": float(nn.functional.cross_entropy(logits, batch["labels"])),
    }


def make_settings(folder: Path, **changes: object) -> LoopSettings:
    given = {
        "output_dir": str(folder),
        "per_device_train_batch_size": 8,
        "learning_rate": 0.01,
        "logging_steps": 1,
        "plot_curves": False,
        "num_train_epochs": 3,
        "save_minutes": None,
    }
    return resolve(LoopSettings, overrides={**given, **changes})


def run(
    folder: Path, *, model: nn.Module | None = None, extra: dict | None = None, **changes: object
) -> Result:
    """Train the toy in a folder; `extra` goes to `train`, the rest are settings."""
    if model is None:
        model = fresh_model()
    arguments = {"examples": make_examples(), "collate": collate, "loss_function": loss_function}
    arguments.update({"evaluate": evaluate, "best": "accuracy", **(extra or {})})
    return train(model, settings=make_settings(folder, **changes), **arguments)


def fresh_model(dropout: float = 0.1) -> Model:
    seed_everything(3)
    return Model(dropout)


def losses(folder: Path) -> list[tuple[int, float, float, float]]:
    """What must not differ between two runs: step, loss, rate and norm of the gradient."""
    return [
        (record["step"], record["loss"], record["rate"], record["gradient_norm"])
        for record in read_log(folder / "log.jsonl")
        if record["kind"] == "train"
    ]


def slow_loss(model: nn.Module, batch: dict[str, Tensor], step: int) -> tuple[Tensor, dict[str, float]]:
    time.sleep(0.02)  # so that whoever kills this run can choose the step
    return loss_function(model, batch, step)


def held_loss(model: nn.Module, batch: dict[str, Tensor], step: int) -> tuple[Tensor, dict[str, float]]:
    if step == int(sys.argv[2]):
        time.sleep(300)  # so that the run is not over before it is killed
    return slow_loss(model, batch, step)


if __name__ == "__main__":
    for given in json.loads(sys.argv[1]):
        chosen = fresh_model(given.pop("dropout", 0.1))
        loss = held_loss if sys.argv[2:] else slow_loss
        run(Path("unused"), model=chosen, extra={"loss_function": loss}, **given)
    leave_together()
