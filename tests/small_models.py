"""Small models with random weights, exported: the same weights for transformers, for torch and for the runtime."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import parity
from pocketbert.export.onnx import export_onnx
from pocketbert.heads import build, save
from pocketbert.model import preset
from pocketbert.text import Tokenizer
from tiny_tokenizers import write_albert, write_roberta

TOKENIZERS = {"roberta-nano": write_roberta, "albert-nano": write_albert}


def exported(folder: Path, head: str | None, name: str = "bert-nano", **options: Any) -> Path:
    """A model folder with weights, tokenizer and onnx/model.onnx; every logit depends on the whole text."""
    config = preset(name)
    tokenizer = Tokenizer.load(TOKENIZERS[name](folder / "words")) if name in TOKENIZERS else Tokenizer.load()
    config = replace(config, vocab_size=tokenizer.size)
    model = parity.redraw(build(config, head, **options))
    save(model, folder)
    tokenizer.save(folder)
    _let_gaps_take_blanks(folder / "tokenizer.json")
    export_onnx(model, folder / "onnx" / "model.onnx")
    return folder


def _let_gaps_take_blanks(path: Path) -> None:
    """As in the published files of RoBERTa and ALBERT: the blank before <mask> belongs to it."""
    data = json.loads(path.read_text(encoding="utf-8"))
    for token in data["added_tokens"]:
        token["lstrip"] = token["content"] in ("<mask>", "[MASK]")
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
