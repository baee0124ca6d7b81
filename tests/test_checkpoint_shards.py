"""Reading shards: an index may point nowhere but into its folder, and must be right about every tensor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from pocketbert.checkpoint import read_tensors, write_tensors
from pocketbert.errors import CheckpointError

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """A folder with two shards: a and b in the first, c in the second."""
    tensors = {name: torch.full((4,), float(number)) for number, name in enumerate("abc")}
    write_tensors(tmp_path, tensors, max_shard_bytes=32)
    assert len(list(tmp_path.glob("*.safetensors"))) == 2
    return tmp_path


def change_index(folder: Path, **homes: object) -> None:
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"] |= homes
    path.write_text(json.dumps(index))


def test_shards_are_read_as_one(shards: Path) -> None:
    assert {name: tensor[0].item() for name, tensor in read_tensors(shards).items()} == {
        "a": 0,
        "b": 1,
        "c": 2,
    }
    assert set(read_tensors(shards, prefix="c")) == {"c"}


OUTSIDE = ["../x.safetensors", "/etc/x.safetensors", "sub/x.safetensors", "..\\x.safetensors", "C:x.safetensors",
           "..", "", ".safetensors/", "x.bin", 3, None]  # fmt: skip


@pytest.mark.parametrize("home", OUTSIDE)
def test_index_may_name_only_plain_files(shards: Path, home: object) -> None:
    change_index(shards, a=home)
    with pytest.raises(CheckpointError, match=r"tensor 'a': .* is no plain name"):
        read_tensors(shards)


@pytest.mark.parametrize(
    "content", ["{}", '{"weight_map": {}}', '{"weight_map": []}', '{"weight_map": {"a": 1, "a": 2}}']
)
def test_malformed_index(shards: Path, content: str) -> None:
    (shards / "model.safetensors.index.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"index\.json"):
        read_tensors(shards)


def test_missing_shard_is_named(shards: Path) -> None:
    (shards / SECOND).unlink()
    with pytest.raises(CheckpointError, match=SECOND):
        read_tensors(shards)


def test_tensor_elsewhere_than_the_index_says(shards: Path) -> None:
    change_index(shards, a=SECOND)
    with pytest.raises(CheckpointError, match=rf"{FIRST} holds 'a', which"):
        read_tensors(shards)


def test_tensor_in_two_shards(shards: Path) -> None:
    save_file({"c": torch.zeros(4), "a": torch.zeros(4)}, shards / SECOND)
    with pytest.raises(CheckpointError, match=rf"{SECOND} holds 'a', which"):
        read_tensors(shards)


def test_tensor_that_no_shard_holds(shards: Path) -> None:
    change_index(shards, d=SECOND)
    with pytest.raises(CheckpointError, match=rf"{SECOND} lacks 'd', which"):
        read_tensors(shards)


def test_link_out_of_the_folder_is_refused(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.safetensors"
    (shards / FIRST).rename(outside)
    (shards / FIRST).symlink_to(outside)
    with pytest.raises(CheckpointError, match="link out of its folder"):
        read_tensors(shards)
    inside = shards / "kept.safetensors"
    outside.rename(inside)
    (shards / FIRST).unlink()
    (shards / FIRST).symlink_to(inside.name)
    assert len(read_tensors(shards)) == 3


@pytest.mark.parametrize("store", ["hub/models--a--b/blobs/1234", "hub/blobs/12/1234"])
def test_links_of_the_hub_cache_are_followed(shards: Path, store: str) -> None:
    snapshot = shards / "hub/models--a--b/snapshots/0123"
    blob = shards / store
    blob.parent.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (shards / FIRST).rename(blob)
    (snapshot / FIRST).symlink_to(blob)
    for name in (SECOND, "model.safetensors.index.json"):
        (shards / name).rename(snapshot / name)
    assert len(read_tensors(snapshot)) == 3
