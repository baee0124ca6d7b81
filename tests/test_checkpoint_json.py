"""JSON files: read with suspicion, written in one step, and only what can be read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pocketbert.checkpoint import read_json, write_json
from pocketbert.errors import CheckpointError


def test_json_comes_back_as_it_went(tmp_path: Path) -> None:
    data = {"b": [1, 2.5, None, True], "a": {"text": "é \ud800 \0", "big": 2**128, "deep": {"x": []}}}
    write_json(tmp_path / "new" / "config.json", data)
    assert read_json(tmp_path / "new" / "config.json") == data
    assert list(read_json(tmp_path / "new" / "config.json")) == ["b", "a"]


BAD_JSON = {
    "empty": (b"", "not valid JSON"),
    "no object": (b"[1]", "must hold a JSON object, not list"),
    "twice": (b'{"a": {"b": 1, "b": 1}}', "the key 'b' stands there twice"),
    "nan": (b'{"a": NaN}', "NaN is no number"),
    "infinity": (b'{"a": -Infinity}', "-Infinity is no number"),
    "overflow": (b'{"a": 1e999}', "1e999 is too large"),
    "digits": (b'{"a": ' + b"9" * 5000 + b"}", "5,000 digits"),
    "latin": (b'{"a": "\xe9"}', "not valid JSON"),
    "deep": (b'{"a":' * 100_000, "nested too deeply"),
    "huge": (b" " * (4 * 2**20 + 1), "larger than 4,194,304 bytes"),
}


@pytest.mark.parametrize("case", BAD_JSON)
def test_malformed_json_is_a_typed_error(case: str, tmp_path: Path) -> None:
    content, message = BAD_JSON[case]
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        read_json(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_json_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no file"):
        read_json(tmp_path / "config.json")
    with pytest.raises(CheckpointError, match="there is no file"):
        read_json(tmp_path)
    with pytest.raises(CheckpointError, match="cannot read"):
        read_json(tmp_path / ("x" * 5000))


def test_json_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    deep: dict = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for data in ({"a": float("nan")}, {"a": {1}}, {"a": "b" * 5_000_000}, {"a": {1: 2, "1": 3}}, deep):
        with pytest.raises(CheckpointError, match=r"config\.json"):
            write_json(tmp_path / "config.json", data)
    while deep:  # taken apart by hand: freeing it at once would nest as deeply
        deep = deep.pop("a")
    assert list(tmp_path.iterdir()) == []
