"""Every head of every relative in ONNX: what torch gives, for any batch size and length, folded or not."""

from __future__ import annotations

from dataclasses import replace

import onnxruntime
import pytest
import torch

import parity
from pocketbert.export import export_onnx, fold
from pocketbert.export.onnx import write_onnx
from pocketbert.export.quantise import quantise
from pocketbert.heads import build, load, save
from pocketbert.model import ARCHITECTURES, preset

RELATIVES = ["roberta", "distilbert", "albert", "xlnet"]
SHAPES = [(1, 1), (1, 2), (4, 13), (2, 40)]
CASES = [(family, head) for family in RELATIVES for head in (None, *ARCHITECTURES[family].heads)]
OUTPUTS = {
    None: ["last_hidden_state"],
    "question-answering": ["start_logits", "end_logits"],
}


def config_of(family: str):
    return replace(preset(f"{family}-nano"), vocab_size=parity.VOCABULARY)


def batch(head: str | None, rows: int, length: int) -> dict[str, torch.Tensor]:
    inputs = parity.batch(rows, length).arguments()
    if head == "choice":
        inputs = {
            name: torch.stack([value, value.flip(0), value.roll(1, 0)], dim=1)
            for name, value in inputs.items()
        }
    return inputs


def worst_error(model, path, head: str | None) -> float:
    runner = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    taken = [value.name for value in runner.get_inputs()]
    names = [value.name for value in runner.get_outputs()]
    assert names == OUTPUTS.get(head, names)
    errors = []
    for rows, length in SHAPES:
        inputs = batch(head, rows, length)
        with torch.no_grad():
            output = model(**inputs)
        given = runner.run(names, {name: inputs[name].numpy() for name in taken})
        for name, value in zip(names, given, strict=True):
            expected = output.last if name == "last_hidden_state" else getattr(output, name)
            found = torch.from_numpy(value)
            if expected.shape[:2] == inputs["attention_mask"].shape:
                expected, found = (parity.real(part, inputs["attention_mask"]) for part in (expected, found))
            errors.append(parity.error(expected, found))
    return max(errors)


@pytest.mark.parametrize(("family", "head"), CASES)
def test_onnxruntime_gives_what_torch_gives(family, head, tmp_path) -> None:
    model = parity.redraw(build(config_of(family), head))
    path = tmp_path / "model.onnx"
    export_onnx(fold(model) if head == "tags" else model, path)
    assert worst_error(model, path, head) < 1e-4


@pytest.mark.parametrize("family", RELATIVES)
def test_a_folder_with_nothing_but_an_export_is_read_back(family, tmp_path) -> None:
    """In eight bits, so that weights under a wrong name would show: they would have stayed in fp32."""
    config = replace(config_of(family), hidden_size=64, intermediate_size=96, pruned_heads=())
    model = parity.redraw(build(config, "question-answering"))
    save(model, tmp_path / "saved")
    proto = quantise(model)
    write_onnx(proto, tmp_path / "exported" / "onnx" / "model_quantized.onnx")
    (tmp_path / "exported" / "config.json").write_bytes((tmp_path / "saved" / "config.json").read_bytes())
    inputs = parity.batch()
    with torch.no_grad():
        expected = model(**inputs.arguments()).start_logits
        given = load(tmp_path / "exported").eval()(**inputs.arguments()).start_logits
    mask = inputs.attention_mask
    assert 1e-4 < parity.error(parity.real(expected, mask), parity.real(given, mask)) < 0.1
    large = [
        item for item in proto.graph.initializer if item.data_type == 1 and len(item.raw_data) > 4 * 64 * 64
    ]
    assert [item.name for item in large] == []


@pytest.mark.parametrize("family", RELATIVES)
def test_folding_changes_nothing_in_double_precision(family) -> None:
    encoder = parity.redraw(build(config_of(family))).double()
    inputs = parity.batch()
    with torch.no_grad():
        expected, given = encoder(**inputs.arguments()), fold(encoder)(**inputs.arguments())
    mask = inputs.attention_mask
    assert parity.error(parity.real(expected.last, mask), parity.real(given.last, mask)) < 1e-11
