"""Sessions: the right file, the right inputs, and typed errors for everything else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import toy_reader
from pocketbert.errors import CheckpointError, InputError
from pocketbert.runtime.session import Session, model_file

IDS = np.array([[101, 2751, 102]], dtype=np.int64)
ONES = np.ones_like(IDS)


def test_a_session_gives_what_the_graph_gives(toy_folder: Path) -> None:
    with Session.load(toy_folder, threads=1) as session:
        assert session.inputs == ("input_ids", "attention_mask", "token_type_ids")
        assert session.outputs == ("start_logits", "end_logits")
        output = session.run(IDS, ONES, ONES)
        assert output["start_logits"].tolist() == [[0.0, 10.0, -6.0]]
    with pytest.raises(InputError, match="is closed"):
        session.run(IDS, ONES, ONES)


def test_inputs_that_the_graph_lacks_are_left_out(tmp_path: Path) -> None:
    session = Session.load(toy_reader.save_reader(tmp_path, inputs=("input_ids",)))
    assert session.inputs == ("input_ids",)
    assert session.run(IDS, ONES, ONES)["end_logits"].shape == (1, 3)
    assert session.run(IDS)["end_logits"].shape == (1, 3)


def test_inputs_that_the_graph_needs_are_asked_for(toy_folder: Path) -> None:
    with pytest.raises(InputError, match="needs attention_mask, token_type_ids too"):
        Session.load(toy_folder).run(IDS)


def test_a_graph_with_other_inputs_is_refused(tmp_path: Path) -> None:
    toy_reader.save_reader(tmp_path, inputs=("input_ids", "pixels"))
    with pytest.raises(CheckpointError, match="takes input_ids, pixels; an encoder takes"):
        Session.load(tmp_path)


def test_int8_goes_before_fp32_unless_asked_otherwise(tmp_path: Path) -> None:
    onnx = toy_reader.save_reader(tmp_path) / "onnx"
    assert model_file(tmp_path) == onnx / "model.onnx"
    for name in ("model_quantized.onnx", "model_fp16.onnx"):
        shutil.copy(onnx / "model.onnx", onnx / name)
    assert model_file(tmp_path) == onnx / "model_quantized.onnx"
    assert model_file(tmp_path, precision="fp32") == onnx / "model.onnx"
    assert model_file(tmp_path, precision="fp16") == onnx / "model_fp16.onnx"
    assert model_file(tmp_path, file="onnx/model.onnx") == onnx / "model.onnx"
    with pytest.raises(InputError, match="give one of them"):
        model_file(tmp_path, file="onnx/model.onnx", precision="fp32")
    with pytest.raises(InputError, match="precision is 'int4'; allowed are 'int8', 'fp32', 'fp16'"):
        model_file(tmp_path, precision="int4")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no ONNX file at all.*pocketbert export"):
        Session.load(tmp_path)
    with pytest.raises(CheckpointError, match="there is no folder"):
        Session.load(tmp_path / "nowhere")
    toy_reader.save_reader(tmp_path)
    with pytest.raises(CheckpointError, match=r"no onnx/model_fp16.onnx; it has onnx/model.onnx"):
        Session.load(tmp_path, precision="fp16")


@pytest.mark.parametrize("content", [b"", b"no protobuf at all", b"\x08\x09" * 500])
def test_a_corrupt_file_is_a_typed_error(tmp_path: Path, content: bytes) -> None:
    path = toy_reader.save_reader(tmp_path) / "onnx" / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"model.onnx cannot be opened by onnxruntime \("):
        Session.load(tmp_path)


def test_a_torn_file_is_a_typed_error(tmp_path: Path) -> None:
    path = toy_reader.save_reader(tmp_path) / "onnx" / "model.onnx"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(CheckpointError, match="cannot be opened"):
        Session.load(tmp_path)


def test_a_failing_run_is_a_typed_error(toy_folder: Path) -> None:
    with pytest.raises(InputError, match=r"onnxruntime failed on input_ids \(1, 1\) int64"):
        Session.load(toy_folder).run(np.array([[10**6]]), ONES[:, :1], ONES[:, :1])


@pytest.mark.parametrize("threads", [0, -1, True, "2", 1.5])
def test_threads_are_checked(toy_folder: Path, threads: object) -> None:
    with pytest.raises(InputError, match="threads is"):
        Session.load(toy_folder, threads=threads)


def test_engines_are_named(toy_folder: Path) -> None:
    with pytest.raises(InputError, match="engine is 'abacus'; allowed are 'onnxruntime', 'openvino'"):
        Session.load(toy_folder, engine="abacus")


def test_a_missing_engine_says_how_to_install_it(toy_folder: Path) -> None:
    code = (
        "import sys; sys.modules['openvino'] = None\n"
        "from pocketbert.runtime.session import Session\n"
        "from pocketbert.errors import MissingExtraError\n"
        "try:\n"
        f"    Session.load({str(toy_folder)!r}, engine='openvino')\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'openvino', which is not installed" in done.stdout
    assert "[openvino]" in done.stdout


@pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is not installed (extra openvino)")
def test_openvino_gives_the_same(nano_folder: Path) -> None:
    generator = np.random.default_rng(0)
    ids = generator.integers(1000, 30000, (3, 40))
    mask = np.ones_like(ids)
    mask[1, 30:] = 0
    expected = Session.load(nano_folder).run(ids, mask, mask * 0)
    given = Session.load(nano_folder, engine="openvino", threads=1).run(ids, mask, mask * 0)
    for name in ("start_logits", "end_logits"):
        np.testing.assert_allclose(given[name], expected[name], atol=1e-4)
