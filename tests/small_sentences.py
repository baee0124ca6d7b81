"""Small sentence models with random weights, exported: the same for sentence-transformers and for the runtime."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import parity
from pocketbert.export.onnx import export_onnx
from pocketbert.heads import build, save_sentences, sentence_model
from pocketbert.model import preset
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import SentenceConfig, write_sentence_config
from tiny_tokenizers import write_roberta


def sentence_folder(
    folder: Path, config: SentenceConfig, name: str = "bert-nano", *, like: Path | None = None
) -> Path:
    """A folder with weights, settings, tokenizer and onnx/model.onnx whose vectors differ from text to text.

    The encoder is always the same, so that the ONNX file can be had from a folder that was made before.
    """
    torch.manual_seed(7)
    tokenizer = (
        Tokenizer.load(write_roberta(folder / "words")) if name == "roberta-nano" else Tokenizer.load()
    )
    encoder = parity.redraw(build(replace(preset(name), vocab_size=tokenizer.size, num_hidden_layers=1)))
    if config.dense is None:
        config = replace(config, dimensions=encoder.config.hidden_size)
    save_sentences(sentence_model(encoder, config), folder)
    tokenizer.save(folder, model_max_length=encoder.config.longest)
    if like is None:
        export_onnx(encoder, folder / "onnx" / "model.onnx")
    else:
        shutil.copytree(like / "onnx", folder / "onnx")
    return folder


def toy_embedder(folder: Path, *, width: int = 32) -> Path:
    """An embedder that knows words and nothing of what stands around them: like words, like vectors. Made at once."""
    table = np.random.default_rng(0).normal(size=(Tokenizer.load().size, width)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    _write(folder, table, nodes, "last_hidden_state", ["batch", "length", width], "ToyModel")
    write_sentence_config(folder, SentenceConfig(dimensions=width, max_seq_length=40))
    return folder


def toy_reranker(folder: Path) -> Path:
    """A reranker that adds up a number for each word."""
    table = np.random.default_rng(0).normal(size=(Tokenizer.load().size, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["numbers"]),
        helper.make_node("ReduceSum", ["numbers", "axis"], ["logits"], keepdims=0),
    ]
    axis = numpy_helper.from_array(np.array([1]), "axis")
    return _write(folder, table, nodes, "logits", ["batch", 1], "ToyForSequenceClassification", axis)


def _write(
    folder: Path,
    table: np.ndarray,
    nodes: list[Any],
    output: str,
    shape: list[Any],
    kind: str,
    *others: Any,
) -> Path:
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(table, "table"), *others],
    )
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, folder / "onnx" / "model.onnx")
    config = {
        "model_type": "toy",
        "max_position_embeddings": 512,
        "architectures": [kind],
        "id2label": {"0": "score"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    Tokenizer.load().save(folder)
    return folder
