"""The ONNX file says what torch says: any batch size, any length, padded or not."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch

import parity
from pocketbert.export import export_onnx
from pocketbert.heads import build


def session(path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    ("preset", "head", "outputs"),
    [
        ("mobilebert-nano", "question-answering", ["start_logits", "end_logits"]),
        ("ib-bert-nano", "classification", ["logits"]),
        ("bert-nano", None, ["last_hidden_state"]),
    ],
)
def test_onnxruntime_gives_what_torch_gives(preset, head, outputs, tmp_path) -> None:
    model = parity.redraw(build(preset, head))
    export_onnx(model, tmp_path / "model.onnx")
    runner = session(tmp_path / "model.onnx")
    assert [value.name for value in runner.get_inputs()] == ["input_ids", "attention_mask", "token_type_ids"]
    assert [value.name for value in runner.get_outputs()] == outputs
    assert [value.shape for value in runner.get_inputs()] == [["batch", "length"]] * 3
    for rows, length in ((1, 1), (1, 128), (4, 13), (3, 2)):
        inputs = parity.batch(rows if length > 9 else 1, length).arguments()
        with torch.no_grad():
            expected = model(**inputs)
        given = runner.run(None, {name: value.numpy() for name, value in inputs.items()})
        for name, value in zip(outputs, given, strict=True):
            wanted = expected.last if name == "last_hidden_state" else getattr(expected, name)
            assert parity.error(wanted, torch.from_numpy(np.asarray(value))) < 1e-5
