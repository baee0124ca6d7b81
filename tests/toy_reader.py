"""A reader small enough to reason about: its logits depend on nothing but the word, so its answers can be foretold.

It is a real ONNX file, run by the real engine. "gold" is the word it is sure of, then come "silver", "bronze" and
"copper", which is as likely as not an answer; every other word says "not me".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from pocketbert.text import Tokenizer
from pocketbert.text.calibration import Calibration

LOGITS = {"gold": 10.0, "silver": 6.0, "bronze": 3.0, "copper": 0.0}
ELSEWHERE = -6.0
WINDOW = 64


def save_reader(
    folder: Path,
    *,
    logits: Mapping[str, float] = LOGITS,
    calibration: Calibration | None = None,
    outputs: tuple[str, str] = ("start_logits", "end_logits"),
    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids"),
    embedded: bool = False,
    tokenizer: Tokenizer | None = None,
    mark: str = "",
) -> Path:
    """A model folder with such a reader; the null scores 0. Of another tokenizer, `mark` stands before its words."""
    tokenizer = tokenizer or Tokenizer.load()
    table = np.full(tokenizer.size, ELSEWHERE, dtype=np.float32)
    table[tokenizer.cls_id] = 0.0
    for word, logit in logits.items():
        table[tokenizer.id(mark + word)] = logit
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], [outputs[0]]),
        helper.make_node("Gather", ["table", "input_ids"], [outputs[1]]),
    ]
    axes = ["batch", "length"]
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, axes) for name in outputs],
        [numpy_helper.from_array(table, "table")],
    )
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, folder / "onnx" / "model.onnx")
    (calibration or Calibration(window=WINDOW, overlap=16, max_answer_length=8)).save(folder)
    (folder / "config.json").write_text('{"model_type": "toy", "max_position_embeddings": 512}')
    if not embedded:
        tokenizer.save(folder)
    return folder
