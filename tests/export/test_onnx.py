"""The ONNX file says what torch says: any batch size, any length, padded or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import parity
from pocketbert.cli import main
from pocketbert.errors import InputError
from pocketbert.export import export_onnx
from pocketbert.heads import Model, PoolingHead, build, save
from pocketbert.model import preset
from pocketbert.text import Tokenizer

MODELS = {
    "mobilebert": (preset("mobilebert-nano"), "question-answering", ["start_logits", "end_logits"]),
    "mobilebert-tiny": (
        replace(preset("mobilebert-nano"), attention_input="bottleneck", hidden_act="relu6"),
        "tags",
        ["logits"],
    ),
    "mobilebert-without-opt": (
        replace(preset("mobilebert-nano"), normalization_type="layer_norm", hidden_act="gelu_new"),
        "masked-lm",
        ["logits"],
    ),
    "mobilebert-reference": (replace(preset("mobilebert-nano"), trigram_padding="reference"), None, None),
    "ib-bert": (preset("ib-bert-nano"), "classification", ["logits"]),
    "bert": (preset("bert-nano"), "pretraining", ["masked_lm_logits", "next_sentence_logits"]),
    "bert-silu": (replace(preset("bert-nano"), hidden_act="silu"), "next-sentence", ["logits"]),
}
SHAPES = [(1, 1), (1, 2), (1, 128), (4, 13), (2, 128)]


def session(path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def worst_error(model, path, names, shapes=SHAPES) -> float:
    """The largest relative error of a file against torch, over several shapes; the longer batches are padded."""
    runner = session(path)
    errors = []
    for rows, length in shapes:
        inputs = parity.batch(rows, length).arguments()
        with torch.no_grad():
            output = model(**inputs)
        given = runner.run(names, {name: value.numpy() for name, value in inputs.items()})
        for name, value in zip(names, given, strict=True):
            ours = {"last_hidden_state": "last", "sentence_embedding": "vectors"}.get(name, name)
            errors.append(parity.error(getattr(output, ours), torch.from_numpy(value)))
    return max(errors)


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_gives_what_torch_gives(name, tmp_path) -> None:
    config, head, outputs = MODELS[name]
    outputs = outputs or ["last_hidden_state"]
    model = parity.redraw(build(replace(config, vocab_size=parity.VOCABULARY, num_hidden_layers=1), head))
    path = tmp_path / "onnx" / "model.onnx"
    export_onnx(model.train(), path)
    assert model.training, "exporting leaves the model as it was"
    runner = session(path)
    assert [value.name for value in runner.get_inputs()] == ["input_ids", "attention_mask", "token_type_ids"]
    assert [value.shape for value in runner.get_inputs()] == [["batch", "length"]] * 3
    assert [value.name for value in runner.get_outputs()] == outputs
    assert worst_error(model.eval(), path, outputs) < 1e-5


def test_a_nudged_weight_is_seen(tmp_path) -> None:
    model = parity.redraw(
        build(replace(preset("mobilebert-nano"), vocab_size=parity.VOCABULARY, num_hidden_layers=1))
    )
    export_onnx(model, tmp_path / "model.onnx")
    model.blocks[0].attention.key.weight.data[0, 0] += 0.05
    assert worst_error(model, tmp_path / "model.onnx", ["last_hidden_state"]) > 1e-5


@pytest.mark.parametrize("how", ["mean", "cls", "max", "mean-sqrt"])
def test_sentence_vectors(how, tmp_path) -> None:
    encoder = build(replace(preset("bert-nano"), vocab_size=parity.VOCABULARY, num_hidden_layers=1))
    model = parity.redraw(Model(encoder, PoolingHead(how)))
    export_onnx(model, tmp_path / "model.onnx")
    assert worst_error(model, tmp_path / "model.onnx", ["sentence_embedding"]) < 1e-5


def test_choices_between_texts(tmp_path) -> None:
    model = parity.redraw(build(replace(preset("mobilebert-nano"), num_hidden_layers=1), "choice"))
    export_onnx(model, tmp_path / "model.onnx")
    runner = session(tmp_path / "model.onnx")
    assert runner.get_inputs()[0].shape == ["batch", "choices", "length"]
    for shape in ((1, 2, 5), (3, 4, 7), (2, 1, 1)):
        ids, ones = torch.randint(1, 99, shape), torch.ones(shape, dtype=torch.long)
        given = runner.run(
            ["logits"],
            {"input_ids": ids.numpy(), "attention_mask": ones.numpy(), "token_type_ids": ones.numpy()},
        )
        with torch.no_grad():
            assert parity.error(model(ids, ones, ones).logits, torch.from_numpy(given[0])) < 1e-5


@pytest.mark.parametrize(
    ("head", "more"), [("classification", {"labels": 1, "problem": "regression"}), ("choice", {})]
)
def test_one_number_a_text_is_enough_to_be_compared(head, more, tmp_path) -> None:
    model = parity.redraw(build(replace(preset("mobilebert-nano"), num_hidden_layers=1), head, **more))
    save(model, tmp_path / "model")
    Tokenizer.load().save(tmp_path / "model")
    assert main(["export", str(tmp_path / "model"), str(tmp_path / "exported")]) == 0
    assert (tmp_path / "exported" / "onnx" / "model.onnx").is_file()


def test_weights_keep_their_names_and_no_path_leaks(tmp_path) -> None:
    model = build(
        replace(preset("bert-nano"), vocab_size=parity.VOCABULARY, num_hidden_layers=1), "question-answering"
    )
    export_onnx(model, tmp_path / "model.onnx")
    proto = onnx.load(tmp_path / "model.onnx")
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    parameters = dict(model.named_parameters())
    assert parameters.keys() <= weights.keys()
    name = "encoder.blocks.0.feed_forward.up.weight"
    assert np.array_equal(weights[name].T, parameters[name].detach().numpy())
    assert b"pocketbert/" not in proto.SerializeToString()
    assert b"/home" not in proto.SerializeToString()


def test_an_operation_without_an_onnx_form_is_named(tmp_path) -> None:
    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = build("bert-nano")

        def forward(self, *inputs):
            output = self.encoder(*inputs)
            return replace(output, last=output.last.erfinv())

    with pytest.raises(InputError, match=r"aten\.erfinv.*lowering\.py"):
        export_onnx(Odd(), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
