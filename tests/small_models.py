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
from tiny_tokenizers import write_albert, write_roberta, write_xlnet

TOKENIZERS = {"roberta-nano": write_roberta, "albert-nano": write_albert, "xlnet-nano": write_xlnet}


def exported(folder: Path, head: str | None, name: str = "bert-nano", **options: Any) -> Path:
    """A model folder with weights, tokenizer and onnx/model.onnx; every logit depends on the whole text."""
    config = preset(name)
    tokenizer = Tokenizer.load(TOKENIZERS[name](folder / "words")) if name in TOKENIZERS else Tokenizer.load()
    config = replace(config, vocab_size=tokenizer.size, num_hidden_layers=1)
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


def toy_tagger(folder: Path, tags: dict[str, str], labels: tuple[str, ...], *, window: int = 32) -> Path:
    """A tagger that knows some words by heart and nothing of what stands around them: its tags can be foretold."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    from pocketbert.text.label_config import LabelConfig

    tokenizer = Tokenizer.load()
    table = np.zeros((tokenizer.size, len(labels)), dtype=np.float32)
    table[:, labels.index("O")] = 3.0
    for word, tag in tags.items():
        table[tokenizer.id(word), labels.index(tag)] = 8.0
    axes = ["batch", "length"]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["logits"])],
        "toy",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, axes)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*axes, len(labels)])],
        [numpy_helper.from_array(table, "table")],
    )
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, folder / "onnx" / "model.onnx")
    config = {
        "model_type": "toy",
        "max_position_embeddings": 4096,
        "architectures": ["ToyForTokenClassification"],
        "id2label": {str(number): label for number, label in enumerate(labels)},
    }
    (folder / "config.json").write_text(json.dumps(config))
    LabelConfig(window=window).save(folder)
    tokenizer.save(folder)
    return folder
