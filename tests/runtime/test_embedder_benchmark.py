"""`benchmarks/embedder.py` at toy size: torch, an exported file, words, and both together."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pocketbert.text.sentence_config import SentenceConfig
from small_sentences import sentence_folder

ROOT = Path(__file__).resolve().parent.parent.parent


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_an_embedder_is_measured_alone_and_together_with_words(tmp_path: Path) -> None:
    data = tmp_path / "data"
    pairs = [
        ("4.5", 'A "boat" sails.', "A ship sails."),
        ("0.5", "Bread.", "The moon rose."),
        ("3", "Tea.", "Hot tea."),
    ]
    rows = ["\t".join(("genre", "file", "year", "0", *pair)) for pair in pairs]
    put(data / "glue/STS-B/original/sts-test.tsv", "\n".join(rows) + "\n")
    asked = {"questions": ["When does the ferry leave?", "Who baked it?"], "ground_truths": [[0], [2]],
             "candidates": ["The ferry leaves at nine.", "The sea is calm.", "Ada baked it."]}  # fmt: skip
    put(data / "retrieval/reqa-squad/test.json", json.dumps(asked))
    put(
        data / "retrieval/cranfield/cran.all.1400",
        ".I 1\n.T\nwings\n.W\nwings bend .\n.I 2\n.T\nheat\n.W\nheat .\n",
    )
    put(data / "retrieval/cranfield/cran.qry", ".I 1\n.W\nhow do wings bend .\n")
    put(data / "retrieval/cranfield/cranqrel", "1 1 2\n")
    folder = sentence_folder(tmp_path / "model", SentenceConfig(max_seq_length=40))
    command = [sys.executable, ROOT / "benchmarks" / "embedder.py", folder, "--data", data, "--dry"]
    done = subprocess.run([*command, "--precision", "fp32"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["bm25"]["reqa"]["recall@1"] == found["bm25"]["cranfield"]["mrr@10"] == 100
    embedder = found["embedder"]
    for form in ("torch", "fp32"):
        assert set(embedder[form]) >= {"sts_b", "reqa", "reqa_both", "cranfield", "cranfield_both"}
        assert 0 <= embedder[form]["reqa"]["mrr@10"] <= 100
    assert embedder["torch"]["sts_b"]["spearman"] == embedder["fp32"]["sts_b"]["spearman"]
    assert embedder["torch"]["reqa_both"]["recall@10"] == 100
