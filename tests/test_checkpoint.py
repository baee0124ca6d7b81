"""Reading weights: what is sound is read exactly, everything else is a typed error and exhausts nothing."""

from __future__ import annotations

import json
import pickle
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from pocketbert.checkpoint import read_tensors, write_tensors
from pocketbert.checkpoint.header import HEADER_LIMIT
from pocketbert.errors import CheckpointError

DATA = struct.pack("<4f", 1, 2, 3, 4)


def entry(begin: int, end: int, shape: list, dtype: str = "F32", **more: object) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def sealed(header: object, data: bytes = DATA) -> bytes:
    """A safetensors file with any header."""
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


GOOD = entry(0, 8, [2])
TWICE = json.dumps({"w": GOOD, "v": entry(8, 16, [2]), "again": GOOD}).replace("again", "w")
DEEP = '{"w": ' + "[" * 100_000 + "]" * 100_000 + "}"
BROAD = '{"w": [' + "[]," * ((HEADER_LIMIT - 100) // 3) + "[]]}"

# What is wrong -> the file, and what the error must say of it.
MALFORMED = {
    "empty": (b"", "only 0 bytes"),
    "short": (b"\x08\0\0", "only 3 bytes"),
    "header beyond the file": (struct.pack("<Q", 2**63) + b"{}", "9,223,372,036,854,775,808 bytes, but 2"),
    "header of all ones": (b"\xff" * 64, "cut off or is not a safetensors file"),
    "header too large": (sealed(" " * (HEADER_LIMIT + 1)), "at most 4,194,304"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "git lfs pull"),
    "no json": (sealed("{"), "not valid JSON"),
    "no text": (struct.pack("<Q", 2) + b"\xff\xfe" + DATA, "not valid JSON"),
    "no object": (sealed([1]), "JSON object"),
    "nested": (sealed(DEEP), "nested too deeply"),
    "broad": (sealed(BROAD), "'w': must have a dtype"),
    "number of a million digits": (sealed('{"w": ' + "9" * 1_000_000 + "}"), "1,000,000 digits"),
    "name twice": (sealed(TWICE), "'w' stands there twice"),
    "metadata": (sealed({"__metadata__": {"a": 1}, "w": entry(0, 16, [4])}), "text to text"),
    "no entry": (sealed({"w": 3}), "'w': must have a dtype"),
    "field missing": (sealed({"w": {"dtype": "F32", "shape": [4]}}), "'w': must have a dtype"),
    "field too many": (sealed({"w": entry(0, 16, [4], strides=[1])}), "'w': must have a dtype"),
    "dtype unknown": (sealed({"w": entry(0, 16, [4], "Q32")}), "'w': the dtype 'Q32' is not one of BOOL"),
    "dtype no text": (sealed({"w": entry(0, 16, [4], 3)}), "'w': the dtype '3'"),
    "dtype too wide": (sealed({"w": entry(0, 16, [4], "F64")}), "'w': F64 of shape (4,) takes 32 bytes"),
    "size negative": (sealed({"w": entry(0, 16, [-4])}), "'w': the shape must be"),
    "size a fraction": (sealed({"w": entry(0, 16, [4.0])}), "'w': the shape must be"),
    "size a truth": (sealed({"w": entry(0, 4, [True])}, DATA[:4]), "'w': the shape must be"),
    "shape no list": (sealed({"w": entry(0, 16, "4")}), "'w': the shape must be"),
    "shape of many sizes": (sealed({"w": entry(0, 4, [1] * 65)}, DATA[:4]), "'w': the shape must be"),
    "shape overflows": (sealed({"w": entry(0, 16, [2**33, 2**33])}), "'w': the shape overflows"),
    "shape overflows to 16": (sealed({"w": entry(0, 16, [2**62 + 1, 4])}), "'w': the shape overflows"),
    "shape overflows behind nought": (sealed({"w": entry(0, 0, [2**40, 2**40, 0])}, b""), "overflows"),
    "shape too large for the file": (sealed({"w": entry(0, 16, [2**40])}), "takes 4,398,046,511,104 bytes"),
    "offsets beyond the file": (sealed({"w": entry(0, 2**42, [2**40])}), "'w': its bytes end at 4,398,046"),
    "offsets behind the file": (sealed({"w": entry(16, 32, [4])}), "'w': its bytes end at 32"),
    "offsets reversed": (sealed({"w": entry(16, 0, [4])}), "'w': F32 of shape (4,) takes 16 bytes"),
    "offsets negative": (sealed({"w": entry(-16, 0, [4])}), "'w': data_offsets must be"),
    "offsets three": (sealed({"w": {**GOOD, "data_offsets": [0, 8, 16]}}), "'w': data_offsets must be"),
    "overlap": (sealed({"v": GOOD, "w": entry(4, 12, [2])}, DATA[:12]), "'w': its bytes begin at 4, inside"),
    "the same bytes": (sealed({"v": GOOD, "w": GOOD}, DATA[:8]), "inside the tensor before it"),
    "hole": (sealed({"v": GOOD, "w": entry(12, 16, [1])}), "'w': 4 bytes before it belong to no tensor"),
    "hole in front": (sealed({"w": entry(8, 16, [2])}), "'w': 8 bytes before it belong to no tensor"),
    "bytes left over": (sealed({"w": GOOD}), "the last 8 bytes belong to no tensor"),
    "cut off": (sealed({"w": entry(0, 16, [4])}, DATA[:-1]), "'w': its bytes end at 16"),
    "surrogate in a name": (sealed({"\ud800": entry(0, 16, [4])}), "cannot be read"),
    "endless name": (sealed({"w" * 1_000_000: 3}), "(1,000,000 characters)"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_file_is_a_short_typed_error_that_names_it(case: str, tmp_path: Path) -> None:
    content, message = MALFORMED[case]
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        read_tensors(tmp_path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 600 + len(str(path))


def test_sound_oddities_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    odd = {"none": entry(0, 0, [2**40, 0]), "one": entry(0, 4, []), "byte": entry(4, 5, [1], "U8"),
           "unaligned": entry(5, 13, [2])}  # fmt: skip
    path.write_bytes(sealed(json.dumps(odd) + "   ", DATA[:4] + b"\x07" + DATA[4:12]))
    tensors = read_tensors(path)
    assert tensors["none"].shape == (2**40, 0)
    assert tensors["one"].item() == 1
    assert tensors["byte"].tolist() == [7]
    assert tensors["unaligned"].tolist() == [2, 3]
    path.write_bytes(sealed({}, b""))
    assert read_tensors(path) == {}


def small_weights() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    return {
        "word.weight": torch.randn(5, 3, generator=generator),
        "half": torch.randn(4, generator=generator).half(),
        "count": torch.tensor(3),
    }


def test_flipped_bytes_load_or_raise(tmp_path: Path) -> None:
    write_tensors(tmp_path, small_weights())
    path = tmp_path / "model.safetensors"
    sound = path.read_bytes()
    header_end = 8 + int.from_bytes(sound[:8], "little")
    generator = random.Random(3)
    loaded, refusals = 0, []
    for attempt in range(400):
        content = bytearray(sound)
        for _ in range(generator.choice([1, 1, 1, 2, 4])):
            content[generator.randrange(header_end if attempt % 4 else len(sound))] = generator.randrange(256)
        path.write_bytes(content)
        try:
            tensors = read_tensors(tmp_path)
        except CheckpointError as error:
            refusals.append(str(error))
        else:
            loaded += 1
            assert sum(tensor.nbytes for tensor in tensors.values()) == len(sound) - header_end
    assert all(str(path) in refusal for refusal in refusals)
    assert loaded > 10
    assert len(set(refusals)) > 50


def test_every_cut_is_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path, small_weights())
    path = tmp_path / "model.safetensors"
    sound = path.read_bytes()
    for length in range(len(sound)):
        path.write_bytes(sound[:length])
        with pytest.raises(CheckpointError):
            read_tensors(tmp_path)


WALLED = """
import pickle, resource, sys
from pathlib import Path
import torch
from pocketbert.checkpoint import fill, read_json, read_tensors
from pocketbert.errors import CheckpointError

unpickled = []
sys.addaudithook(lambda event, _: unpickled.append(event) if event == "pickle.find_class" else None)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20,) * 2)
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        read_tensors(path)
    except CheckpointError:
        continue
    raise SystemExit(f"{path} was read")
tensors = read_tensors(sys.argv[2])
linear = torch.nn.Linear(3, 5)
fill(linear, {"weight": tensors["word.weight"], "bias": torch.zeros(5)})
assert not unpickled
pickle.loads(pickle.dumps(Path))  # the hook does bite
assert unpickled
"""


def test_nothing_is_unpickled_and_no_memory_is_taken_at_a_lying_word(tmp_path: Path) -> None:
    cases = tmp_path / "cases"
    cases.mkdir()
    for number, (content, _) in enumerate(MALFORMED.values()):
        (cases / f"{number}.safetensors").write_bytes(content)
    (cases / "code.bin").write_bytes(pickle.dumps(Path))
    torch.save({"w": torch.ones(2)}, cases / "code.pt")
    write_tensors(tmp_path / "sound", small_weights())
    run = subprocess.run(
        [sys.executable, "-c", WALLED, str(cases), str(tmp_path / "sound")], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "m.pt", "m.PTH", "m.pkl", "m.ckpt", "tf_model.h5", "f.msgpack"]
)
def test_foreign_weights_are_refused_with_advice(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(pickle.dumps({"w": 1}))
    for source in (tmp_path, tmp_path / name):
        with pytest.raises(
            CheckpointError, match=r"can run code.*safe_serialization=True.*download"
        ) as caught:
            read_tensors(source)
        assert name in str(caught.value)


def test_safetensors_beside_foreign_weights_are_read(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"code")
    write_tensors(tmp_path, small_weights())
    assert set(read_tensors(tmp_path)) == set(small_weights())


def test_folder_without_weights_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no folder or file"):
        read_tensors(tmp_path / "nowhere")
    (tmp_path / "model.fp16.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"holds: 'model\.fp16\.safetensors'"):
        read_tensors(tmp_path)


def test_library_written_files_and_prefixes(tmp_path: Path) -> None:
    save_file(small_weights(), tmp_path / "model.safetensors", metadata={"format": "pt"})
    tensors = read_tensors(tmp_path)
    assert all(torch.equal(tensors[name], tensor) for name, tensor in small_weights().items())
    assert set(read_tensors(tmp_path, prefix="word.")) == {"word.weight"}


def test_real_weights_are_read_whole(unpacked) -> None:
    folder = unpacked("weights") / "mobilebert-uncased-128"
    tensors = read_tensors(folder)
    assert len(tensors) == 1_111
    assert sum(tensor.numel() for tensor in tensors.values()) == 24_385_280
