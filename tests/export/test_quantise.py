"""Eight bits: nearly the same numbers from a quarter of the bytes, and the way back to torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import parity
from pocketbert.errors import CheckpointError, ExportError, InputError
from pocketbert.export import export_onnx, fold
from pocketbert.export.activations import measure
from pocketbert.export.half import halve
from pocketbert.export.onnx import write_onnx
from pocketbert.export.quantise import quantise
from pocketbert.export.rounding import LARGEST, PAIR, round_matrix
from pocketbert.export.smoothing import best_columns, is_wild, product_error
from pocketbert.heads import build, load, save
from pocketbert.model import preset
from pocketbert.runtime.session import FILES

NANO = replace(preset("mobilebert-nano"), vocab_size=parity.VOCABULARY)

WIDER = replace(NANO, hidden_size=96, intra_bottleneck_size=64, intermediate_size=96, embedding_size=32)
"""With matrices that are worth eight bits."""


def texts(count: int = 24):
    for seed in range(count):
        rows = parity.batch(1, 5 + seed, seed)
        yield rows.arguments()


def reader(config=WIDER):
    """A reader whose weights are large enough to matter, and not so large that it is chaotic."""
    model = parity.redraw(build(config, "question-answering"))
    for name, weight in model.named_parameters():
        if weight.ndim == 2 and "embeddings" not in name:
            weight.data /= 0.2 * weight.shape[1] ** 0.5
    return model


def error(model, path, rows: int = 4, length: int = 13) -> float:
    """The root mean square error of the logits on real tokens, relative to how much they vary."""
    inputs = parity.batch(rows, length)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = session.run(["start_logits", "end_logits"], {k: v.numpy() for k, v in inputs.arguments().items()})
    with torch.no_grad():
        output = model(**inputs.arguments())
    mask = inputs.attention_mask.bool()
    wanted = torch.cat([output.start_logits[mask], output.end_logits[mask]])
    found = torch.cat([torch.from_numpy(logits)[mask] for logits in given])
    return float((wanted - found).square().mean().sqrt() / wanted.std())


class TestInt8:
    @pytest.mark.parametrize("given", [True, False], ids=["texts", "no texts"])
    def test_the_logits_stay(self, given, tmp_path) -> None:
        model = reader()
        write_onnx(quantise(model, texts() if given else None), tmp_path / "model.onnx")
        assert error(model, tmp_path / "model.onnx") < 0.03
        assert error(model, tmp_path / "model.onnx", rows=1, length=1) < 0.1

    @pytest.mark.parametrize(
        ("config", "head"),
        [
            (replace(preset("bert-nano"), vocab_size=parity.VOCABULARY), "masked-lm"),
            (replace(NANO, normalization_type="layer_norm", hidden_act="gelu"), "masked-lm"),
            (replace(NANO, attention_input="bottleneck"), "classification"),
        ],
    )
    def test_every_architecture_and_a_table_that_is_looked_up_and_multiplied(
        self, config, head, tmp_path
    ) -> None:
        model = parity.redraw(build(config, head))
        write_onnx(quantise(model), tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(
            str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"]
        )
        inputs = parity.batch(1, 11).arguments()
        (given,) = session.run(["logits"], {name: value.numpy() for name, value in inputs.items()})
        with torch.no_grad():
            wanted = model(**inputs).logits
        assert np.corrcoef(wanted.numpy().ravel(), given.ravel())[0, 1] > 0.99

    def test_all_large_matrices_are_integers_and_the_file_is_small(self, tmp_path) -> None:
        model = reader(replace(WIDER, vocab_size=5000))
        export_onnx(fold(model), tmp_path / "plain.onnx")
        write_onnx(quantise(model), tmp_path / "small.onnx")
        proto = onnx.load(tmp_path / "small.onnx")
        large = [item for item in proto.graph.initializer if np.prod(item.dims) >= 4096]
        assert len(large) > 5
        rows = [item for item in large if item.name.endswith("_rows")]
        assert {item.data_type for item in large if item not in rows} == {onnx.TensorProto.INT8}
        assert (tmp_path / "small.onnx").stat().st_size < 0.4 * (tmp_path / "plain.onnx").stat().st_size

    def test_texts_make_it_better(self, tmp_path) -> None:
        model = reader()
        errors = []
        for number, given in enumerate((texts(), None)):
            write_onnx(quantise(model, given), tmp_path / f"{number}.onnx")
            errors.append(error(model, tmp_path / f"{number}.onnx"))
        assert errors[0] < errors[1]


class TestFast:
    def test_products_run_on_integers_and_the_logits_stay(self, tmp_path) -> None:
        model = reader()
        write_onnx(quantise(model, texts(), way="int8-fast", exempt=()), tmp_path / "model.onnx")
        assert error(model, tmp_path / "model.onnx") < 0.1
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
        onnxruntime.InferenceSession(
            str(tmp_path / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        kinds = [node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node]
        products = sum(isinstance(part, torch.nn.Linear) for part in fold(model).modules())
        assert kinds.count("MatMulIntegerToFloat") >= products - 2, "small matrices stay as they are"

    def test_layers_can_be_exempt(self, tmp_path) -> None:
        model = reader()
        whole, part, usual = (
            quantise(model, texts(), way="int8-fast", **options)
            for options in ({"exempt": ()}, {"exempt": ("read", ".up")}, {})
        )
        count = [
            sum(node.op_type == "QuantizeLinear" for node in proto.graph.node)
            for proto in (whole, part, usual)
        ]
        blocks, networks = WIDER.num_hidden_layers, WIDER.num_feedforward_networks
        assert count[0] - count[1] == blocks * (1 + networks)
        assert count[2] == blocks * (1 + 2 * networks), "by default, networks and what reads feature maps"

    def test_what_is_wild_now_and_then_stays_in_fp32(self, tmp_path) -> None:
        model = reader()
        strange = 7  # a word that shouts
        with torch.no_grad():
            model.encoder.embeddings.word.weight[strange] *= 60.0
        given = [batch for batch in texts() if not bool((batch["input_ids"] == strange).any())]
        shouting = {name: value.clone() for name, value in given[-1].items()}
        shouting["input_ids"][0, 3] = strange
        calm, wild = (
            quantise(model, batches, way="int8-fast") for batches in (given, [*given[:-1], shouting])
        )
        count = [sum(node.op_type == "QuantizeLinear" for node in proto.graph.node) for proto in (calm, wild)]
        assert count[1] < count[0]
        errors = []
        for number, proto in enumerate((calm, wild)):
            path = tmp_path / f"{number}.onnx"
            write_onnx(proto, path)
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            (found,) = session.run(["start_logits"], {k: v.numpy() for k, v in shouting.items()})
            with torch.no_grad():
                wanted = model(**shouting).start_logits.numpy()
            errors.append(float(np.square(found - wanted).mean() ** 0.5 / wanted.std()))
        assert errors[1] < 0.1 < errors[0], "grids of calm texts cut a shout off"

    def test_wild_is_judged_by_the_texts(self) -> None:
        layer = torch.nn.Linear(8, 4)
        steady = [{"input": torch.full((1, 3, 8), 1.0 + number / 10)} for number in range(9)]
        loud = [*steady, {"input": torch.full((1, 3, 8), 6.0)}]
        for batches, wild in ((steady, False), (loud, True)):
            seen = measure(torch.nn.Sequential(layer), batches)["0"]
            assert is_wild(seen, None) is wild
        quiet = torch.ones(8)
        quiet[0] = 0.001
        batches = [*steady, {"input": torch.ones(1, 3, 8).index_fill(2, torch.tensor([0]), 50.0)}]
        seen = measure(torch.nn.Sequential(layer), batches)["0"]
        assert is_wild(seen, None)
        assert not is_wild(seen, quiet), "what its scale keeps small is not wild"

    @pytest.mark.parametrize("act", ["relu", "gelu"])
    def test_scales_pass_a_relu_and_nothing_else(self, act, tmp_path) -> None:
        model = reader(replace(WIDER, hidden_act=act))
        with torch.no_grad():
            for block in model.encoder.blocks:
                for network in block.feed_forward:
                    uneven = torch.logspace(-1.5, 1.5, len(network.up.bias))
                    network.up.weight *= uneven[:, None]
                    network.up.bias *= uneven
                    network.down.weight /= uneven
        proto = quantise(model, texts(), way="int8-fast")
        write_onnx(proto, tmp_path / "model.onnx")
        assert error(model, tmp_path / "model.onnx") < 0.1
        scaled = {weight.name for weight in proto.graph.initializer if weight.name.endswith("_columns")}
        downs = {name for name in scaled if ".down." in name}
        assert bool(downs) == (act == "gelu"), "scales of their own, unless the layer below takes them over"

    def test_it_needs_texts(self) -> None:
        with pytest.raises(InputError, match="need texts"):
            quantise(reader(), way="int8-fast")

    def test_a_window_does_not_depend_on_its_neighbours(self, tmp_path) -> None:
        write_onnx(quantise(reader(), texts(), way="int8-fast"), tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(
            str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"]
        )
        rows = {name: value.numpy() for name, value in parity.batch(4, 13).arguments().items()}
        together = session.run(["start_logits"], rows)[0]
        alone = session.run(["start_logits"], {name: value[:1] for name, value in rows.items()})[0]
        assert np.allclose(together[0], alone[0], atol=1e-5)


class TestRounding:
    def test_mending_beats_the_nearest_where_inputs_go_together(self) -> None:
        torch.manual_seed(0)
        weight = torch.randn(24, 64)
        layer = torch.nn.Linear(64, 24, bias=False)
        layer.weight.data = weight
        mixed = torch.randn(400, 8) @ torch.randn(8, 64) + 0.1 * torch.randn(400, 64)
        seen = measure(torch.nn.Sequential(layer), [{"input": mixed[None]}])["0"]
        wanted = mixed.double() @ weight.double().T
        errors = [
            float((mixed.double() @ round_matrix(weight, given).weight().T - wanted).square().mean())
            for given in (seen, None)
        ]
        assert errors[0] < 0.5 * errors[1]

    def test_neighbours_never_overflow_16_bits(self) -> None:
        torch.manual_seed(0)
        weight = torch.randn(16, 65).sign() * (1 + 0.1 * torch.randn(16, 65))
        paired, plain = (round_matrix(weight, paired=choice).integers.int().abs() for choice in (True, False))
        assert int((plain[:, 0:64:2] + plain[:, 1:64:2]).max()) > PAIR
        assert int((paired[:, 0:64:2] + paired[:, 1:64:2]).max()) <= PAIR
        assert int(paired.max()) <= LARGEST

    def test_a_matrix_of_zeros(self) -> None:
        assert torch.equal(round_matrix(torch.zeros(3, 4)).weight(), torch.zeros(3, 4, dtype=torch.float64))

    def test_uneven_inputs_are_evened_out_where_it_pays(self) -> None:
        torch.manual_seed(0)
        layer = torch.nn.Linear(32, 8)
        layer.weight.data.sign_()
        even = torch.rand(1, 300, 32) - 0.5
        uneven = even * torch.logspace(-2, 2, 32)
        seen = [measure(torch.nn.Sequential(layer), [{"input": x}])["0"] for x in (even, uneven)]
        assert best_columns(layer.weight, seen[0]) is None
        columns = best_columns(layer.weight, seen[1])
        assert columns is not None
        plain = product_error(layer.weight, seen[1], torch.ones(32))
        assert product_error(layer.weight, seen[1], columns) < 0.5 * plain


class TestHalf:
    def test_feature_maps_beyond_half_precision_come_out_right(self, tmp_path) -> None:
        model = reader()
        with torch.no_grad():
            for part in model.encoder.embeddings.norm.parameters():  # a stream that would end at 65,504
                part *= 2e5
            for block in model.encoder.blocks:
                block.output.weight *= 2e5
                block.output.bias *= 2e5
                for part in (
                    block.bottleneck.linear,
                    block.attention_bottleneck.linear,
                    block.attention.value,
                ):
                    part.weight /= 2e5
            model.head.linear.weight /= 2e5
        assert not torch.isfinite(fold(model).half()(**parity.batch(1, 9).arguments()).start_logits).all()
        write_onnx(halve(model, texts()), tmp_path / "model.onnx")
        assert error(model, tmp_path / "model.onnx") < 0.03
        kinds = {item.data_type for item in onnx.load(tmp_path / "model.onnx").graph.initializer}
        assert onnx.TensorProto.FLOAT not in kinds

    def test_what_cannot_be_held_is_refused(self) -> None:
        model = reader()
        with torch.no_grad():
            model.encoder.blocks[0].feed_forward[0].up.weight *= 1e7
        with pytest.raises(ExportError, match=r"overflows.*take fp32 or int8"):
            halve(model, texts())


CONFIGS = {
    "mobilebert": NANO,
    "tiny": replace(NANO, attention_input="bottleneck"),
    "ib-bert without norms": replace(NANO, attention_input="block", hidden_act="gelu"),
    "without opt": replace(NANO, normalization_type="layer_norm", hidden_act="gelu"),
    "ib-bert": replace(preset("ib-bert-nano"), vocab_size=parity.VOCABULARY),
    "bert": replace(preset("bert-nano"), vocab_size=parity.VOCABULARY),
}


class TestTheWayBack:
    @pytest.mark.parametrize("head", ["question-answering", None, "classification"])
    @pytest.mark.parametrize("name", CONFIGS)
    def test_an_exported_model_comes_back_to_torch(self, name, head, tmp_path) -> None:
        model = parity.redraw(build(CONFIGS[name], head))
        save(model, tmp_path)
        export_onnx(fold(model), tmp_path / "onnx" / "model.onnx")
        (tmp_path / "model.safetensors").unlink()
        back = load(tmp_path).eval()
        assert back.report.new == back.report.unused == ()
        output = {None: "last", "classification": "logits"}.get(head, "start_logits")
        inputs = parity.batch().arguments()
        with torch.no_grad():
            wanted, found = (getattr(each(**inputs), output) for each in (model, back))
        assert parity.error(wanted[0], found[0]) < 2e-5

    @pytest.mark.parametrize("way", ["int8", "int8-fast"])
    def test_eight_bits_come_back_as_numbers(self, way, tmp_path) -> None:
        model = reader()
        save(model, tmp_path)
        (tmp_path / "model.safetensors").unlink()
        proto = quantise(model, texts(), way=way)
        path = tmp_path / FILES[way]
        write_onnx(proto, path)
        back = load(tmp_path).eval()
        assert 0 < error(back, path) < (1e-4 if way == "int8" else 0.1)

    def test_a_norm_that_could_not_be_folded_comes_back(self, tmp_path) -> None:
        model = parity.redraw(build(NANO))
        with torch.no_grad():
            model.blocks[-1].output_norm.weight[:3] = 0
            model.blocks[0].attention_norm.weight[2] = 0
        save(model, tmp_path)
        export_onnx(fold(model), tmp_path / "onnx" / "model.onnx")
        (tmp_path / "model.safetensors").unlink()
        inputs = parity.batch(1, 9).arguments()
        with torch.no_grad():
            assert parity.error(model(**inputs).last, load(tmp_path).eval()(**inputs).last) < 2e-5

    def test_safetensors_come_first(self, tmp_path) -> None:
        model = parity.redraw(build(NANO))
        save(model, tmp_path)
        export_onnx(fold(parity.redraw(build(NANO), seed=1)), tmp_path / "onnx" / "model.onnx")
        assert torch.equal(load(tmp_path).blocks[0].output.weight, model.blocks[0].output.weight)

    def test_foreign_and_broken_files_say_so(self, tmp_path) -> None:
        model = parity.redraw(build(NANO))
        save(model, tmp_path)
        (tmp_path / "model.safetensors").unlink()
        path = tmp_path / "onnx" / "model.onnx"
        export_onnx(fold(model), path)
        proto = onnx.load(path)
        proto.producer_name = "pytorch"
        onnx.save(proto, path)
        with pytest.raises(CheckpointError, match=r"written by pytorch.*safetensors"):
            load(tmp_path)
        path.write_bytes(b"\x00nothing")
        with pytest.raises(CheckpointError, match="cannot be read as ONNX"):
            load(tmp_path)
        export_onnx(fold(parity.redraw(build(replace(NANO, intra_bottleneck_size=24)))), path)
        with pytest.raises(CheckpointError, match="not of the same model"):
            load(tmp_path)


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc, which is Linux's"
)
def test_measuring_wide_layers_on_many_texts_takes_no_more_memory_than_on_few() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(1536, 1536) for _ in range(4)))
    texts = [{"input": torch.randn(1, 20 + number, 1536)} for number in range(30)]
    measure(model, texts[:2])
    before = resident()
    found = measure(model, texts)
    assert resident() - before < 400  # MB; four matrices of moments are 75, and one more of them a text 1,100
    assert found["0"].peaks.shape == (30, 1536)


def resident() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1e3
