"""Recipes in two processes: both learn, and one of them writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

import processes
from pocketbert.heads import build, load, save
from pocketbert.text import Tokenizer
from recipes import writers

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
QUICK = {"max_steps": 2, "per_device_train_batch_size": 2, "eval_strategy": "no", "plot_curves": False}


def test_only_the_first_process_writes_a_model(tmp_path: Path) -> None:
    torch.manual_seed(0)
    save(build("mobilebert-nano"), tmp_path / "encoder")
    Tokenizer.load().save(tmp_path / "encoder")
    given = {
        "squad": {"train_file": [DATA / "squad-train.json"], "validation_file": [DATA / "squad-dev.json"]},
        "classify": {"train_file": [DATA / "reviews.csv"], "text": "review", "label": "verdict"},
        "tags": {"train_file": [DATA / "names.conll"]},
        "sentences": {"train_file": [DATA / "triplets.csv"], "loss": "ranking"},
        "rerank": {"train_file": [DATA / "triplets.csv"], "loss": "pairwise", "query": "anchor"},
        "positions": {"train_file": [DATA / "corpus.txt"], "positions": 600, "max_seq_length": 16},
    }
    runs = [
        [name, {**QUICK, **settings, "model": str(tmp_path / "encoder")}] for name, settings in given.items()
    ]
    folder = tmp_path / "runs"
    folder.mkdir()
    processes.launch([sys.executable, writers.__file__, str(folder), json.dumps(runs, default=str)])
    first, second = (json.loads((folder / f"written-{rank}.json").read_text()) for rank in range(2))
    assert second == []
    for name in given:
        assert any(Path(path).parts[0] == name for path in first), f"{name} was not watched"
        assert load(folder / name).config.num_hidden_layers == 2
