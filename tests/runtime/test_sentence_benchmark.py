"""`benchmarks/sentences.py` at toy size: every contender runs, and they agree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pocketbert.text.sentence_config import SentenceConfig
from small_sentences import sentence_folder, toy_reranker

ROOT = Path(__file__).resolve().parents[2]


def test_all_contenders_agree(tmp_path: Path) -> None:
    model = sentence_folder(tmp_path / "model", SentenceConfig(max_seq_length=40))
    toy_reranker(tmp_path / "cross")
    arguments = [
        *("--weights", model, "--model", model, "--cross", tmp_path / "cross"),
        *("--data", ROOT / "examples" / "data" / "sentences.txt"),
        *("--sentences", 24, "--limit", 10, "--pairs", 4, "--rounds", 1, "--dry"),
    ]
    command = [sys.executable, ROOT / "benchmarks" / "sentences.py", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    names = ["sentence-transformers", "pocketbert fp32"]
    assert list(report["encode"]["contenders"]) == list(report["pair"]["contenders"]) == names
    assert report["encode"]["texts"] == 10
    assert report["encode"]["contenders"]["sentence-transformers"]["times"] == 1.0
    assert report["encode"]["cosine"] == {"pocketbert fp32": {"mean": 1.0, "least": 1.0}}
    pairs = {tuple(found["pair"]) for found in report["pair"]["contenders"].values()}
    assert len(pairs) == 1
    assert report["count"]["pairs"] == 24 * 23 // 2
    assert report["count"]["hours"] >= 0
