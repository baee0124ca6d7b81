"""Writing weights: in one step, the same bytes every time, and nothing that could not be read again."""

from __future__ import annotations

import json
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import nn

from pocketbert.checkpoint import read_json, read_tensors, write_json, write_tensors
from pocketbert.checkpoint.header import DTYPES
from pocketbert.errors import CheckpointError, InputError

SHAPES = st.lists(st.integers(0, 3), max_size=3)
TENSORS = st.dictionaries(
    st.text(min_size=1, max_size=8), st.tuples(SHAPES, st.sampled_from(list(DTYPES.values()))), max_size=6
)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)


@settings(max_examples=40, deadline=None)
@given(TENSORS, st.integers(1, 60))
def test_what_is_written_is_read_by_us_and_by_the_library(tmp_path_factory, kinds: dict, limit: int) -> None:
    folder = tmp_path_factory.mktemp("weights")
    tensors = {name: torch.randint(0, 2, shape).to(dtype) for name, (shape, dtype) in kinds.items()}
    try:
        write_tensors(folder, tensors, max_shard_bytes=limit)
    except CheckpointError:
        assert any(ord(letter) in range(0xD800, 0xE000) for name in tensors for letter in name)
        return
    ours = read_tensors(folder)
    theirs = {}
    for path in folder.glob("*.safetensors"):
        theirs |= load_file(path)
    assert set(ours) == set(theirs) == set(tensors)
    assert all(
        same_bits(ours[name], tensor) and same_bits(theirs[name], tensor) for name, tensor in tensors.items()
    )


def test_the_same_tensors_give_the_same_bytes(tmp_path: Path) -> None:
    tensors = {
        "b": torch.ones(3),
        "a": torch.ones(2, dtype=torch.float64),
        "c": torch.ones(1, dtype=torch.int8),
    }
    metadata = {"format": "pt", "step": "3", "seed": "1", "note": "é"}
    write_tensors(tmp_path / "one", tensors, metadata=metadata)
    write_tensors(tmp_path / "two", dict(reversed(tensors.items())), metadata=metadata)
    assert (tmp_path / "one/model.safetensors").read_bytes() == (
        tmp_path / "two/model.safetensors"
    ).read_bytes()


def test_written_files_can_be_read_by_others_and_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_tensors(tmp_path, {"a": torch.ones(2)})
    write_json(tmp_path / "config.json", {"a": 1})
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert set(modes) == {"plain", "model.safetensors", "config.json"}
    assert len(set(modes.values())) == 1


def test_strided_tensors_are_written_in_their_own_order(tmp_path: Path) -> None:
    square = torch.arange(12.0).reshape(3, 4)
    parts = {"left": square[:, :2], "right": square[:, 2:], "wide": torch.ones(1).expand(3)}
    write_tensors(tmp_path, parts)
    assert all(torch.equal(read_tensors(tmp_path)[name], part) for name, part in parts.items())


@pytest.mark.parametrize(
    "tie", [lambda t: t, lambda t: t.view(12), lambda t: t[1:], lambda t: t.T, lambda t: nn.Parameter(t)],
    ids=["same", "view", "slice", "transposed", "parameter"],
)  # fmt: skip
def test_tensors_that_share_memory_are_refused(tmp_path: Path, tie) -> None:
    table = torch.ones(3, 4)
    with pytest.raises(
        CheckpointError, match=r"'(embedding|decoder)' and '(embedding|decoder)' share memory"
    ):
        write_tensors(tmp_path, {"embedding": table, "bias": torch.ones(3), "decoder": tie(table)})
    assert list(tmp_path.iterdir()) == []


def test_tensors_that_cannot_be_read_again_are_refused(tmp_path: Path) -> None:
    for name, tensor, message in [
        ("a", torch.ones(2, dtype=torch.complex64), "'a' is torch.complex64; allowed are"),
        ("a", torch.ones(2, device="meta"), "meta device"),
        ("a", torch.ones(2, 2).to_sparse(), "sparse"),
        ("__metadata__", torch.ones(2), "keeps that name"),
    ]:
        with pytest.raises(CheckpointError, match=message):
            write_tensors(tmp_path, {name: tensor})
    with pytest.raises(InputError, match="at least 1"):
        write_tensors(tmp_path, {}, max_shard_bytes=0)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_later_save_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    def save(value: float, shards: int) -> None:
        write_tensors(
            tmp_path, {name: torch.full((4,), value) for name in "abcd"}, max_shard_bytes=64 // shards
        )
        assert all(tensor[0] == value for tensor in read_tensors(tmp_path).values())
        assert len(names_in(tmp_path)) == (1 if shards == 1 else shards + 1)

    for value, shards in enumerate([1, 2, 2, 2, 4, 1, 1, 4, 2]):
        earlier = set(tmp_path.glob("model*-of-*"))
        save(float(value), shards)
        # A shard that was written over would mix two versions, were the save killed before the index.
        assert not earlier & set(tmp_path.glob("model*-of-*"))
    (tmp_path / ".model.safetensors.0a1b2c3d.partial").write_bytes(b"left by a kill")
    (tmp_path / "model-card.safetensors").write_bytes(b"not ours")
    write_tensors(tmp_path, {"a": torch.ones(2)})
    assert names_in(tmp_path) == {"model.safetensors", "model-card.safetensors"}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to write more, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("earlier", [10**9, 500])
@pytest.mark.parametrize("later", [10**9, 400_000])
def test_full_disk_leaves_the_earlier_weights(tmp_path: Path, earlier: int, later: int) -> None:
    write_tensors(tmp_path, {name: torch.zeros(100) for name in "ab"}, max_shard_bytes=earlier)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with (
        files_of_at_most(200_000),
        pytest.raises(CheckpointError, match="File too large; what was there before"),
    ):
        write_tensors(tmp_path, {"a": torch.ones(100), "b": torch.ones(100_000)}, max_shard_bytes=later)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_full_disk_leaves_the_earlier_json(tmp_path: Path) -> None:
    write_json(tmp_path / "config.json", {"a": 1})
    with files_of_at_most(1000), pytest.raises(CheckpointError, match="File too large"):
        write_json(tmp_path / "config.json", {"a": "b" * 10_000})
    assert names_in(tmp_path) == {"config.json"}
    assert read_json(tmp_path / "config.json") == {"a": 1}


def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CheckpointError, match="cannot write into"):
        write_tensors(tmp_path / "file", {"a": torch.ones(1)})


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import torch
from pocketbert.checkpoint import read_tensors, write_tensors

folder = Path(sys.argv[1])
def save(value, limit):
    write_tensors(folder, {str(n): torch.full((20_000,), float(value)) for n in range(6)}, max_shard_bytes=limit)
save(0, 10**9)
generator = random.Random(5)
for _ in range(12):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        turn = 0
        while True:
            turn += 1
            save(turn, (10**9, 200_000, 90_000, 200_000)[turn % 4])
            os.write(writer, b".")
    os.read(reader, 1)
    time.sleep(generator.uniform(0, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    values = {tensor.unique().item() for tensor in read_tensors(folder).values()}
    assert len(values) == 1 and 0 not in values, values
"""


def test_a_save_that_is_killed_leaves_one_whole_version(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_index_is_one_that_transformers_writes(tmp_path: Path) -> None:
    write_tensors(tmp_path, {name: torch.ones(4) for name in "abc"}, max_shard_bytes=32)
    assert json.loads((tmp_path / "model.safetensors.index.json").read_text()) == {
        "metadata": {"total_size": 48},
        "weight_map": {
            "a": "model-00001-of-00002.safetensors",
            "b": "model-00001-of-00002.safetensors",
            "c": "model-00002-of-00002.safetensors",
        },
    }


def test_transformers_reads_shards_of_a_second_save(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=9, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8
    )
    model = BertModel(config)
    config.save_pretrained(tmp_path)
    for _ in range(2):
        write_tensors(tmp_path, model.state_dict(), max_shard_bytes=2000)
    assert list(tmp_path.glob("model.1-*"))
    again, report = BertModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values())
    assert all(torch.equal(again.state_dict()[name], tensor) for name, tensor in model.state_dict().items())
