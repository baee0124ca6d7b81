"""The embedded reader: found without a name, its files checked against their hashes, its vocabulary not doubled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import toy_reader
from pocketbert import hub
from pocketbert.errors import CheckpointError
from pocketbert.runtime import folder as folders
from pocketbert.runtime.manifest import check_manifest, write_manifest
from pocketbert.runtime.questions import QuestionAnswerer


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toy reader in the place of the embedded one."""
    place = toy_reader.save_reader(tmp_path / "reader", embedded=True)
    write_manifest(place)
    monkeypatch.setattr(folders, "EMBEDDED", place)
    return place


def test_no_name_is_the_embedded_reader(embedded: Path, no_network: None) -> None:
    assert not (embedded / "vocab.txt").exists()
    reader = QuestionAnswerer.load()
    assert reader.session.path.parent.parent == embedded
    assert reader("What?", "gold").text == "gold"


def test_without_one_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "EMBEDDED", tmp_path / "reader")
    with pytest.raises(
        CheckpointError, match=r"no embedded reader.*give the folder or the hub name of a model"
    ):
        QuestionAnswerer.load()


@pytest.mark.parametrize("name", ["onnx/model.onnx", "qa_config.json", "config.json"])
def test_a_changed_file_is_found_out(embedded: Path, name: str) -> None:
    with (embedded / name).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(CheckpointError, match=rf"{name} is not the file it should be: its SHA-256 is"):
        QuestionAnswerer.load()


def test_a_missing_file_and_a_missing_manifest_are_found_out(embedded: Path) -> None:
    (embedded / "qa_config.json").unlink()
    with pytest.raises(CheckpointError, match=r"qa_config.json is missing"):
        QuestionAnswerer.load()
    (embedded / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"manifest.json cannot be read"):
        QuestionAnswerer.load()
    (embedded / "manifest.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"manifest.json holds no hashes"):
        QuestionAnswerer.load()


def test_a_folder_of_ones_own_is_checked_if_it_has_a_manifest(tmp_path: Path) -> None:
    toy_reader.save_reader(tmp_path)
    check_manifest(tmp_path)
    listed = json.loads(write_manifest(tmp_path).read_text())["sha256"]
    assert set(listed) == {
        "config.json",
        "onnx/model.onnx",
        "qa_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    }
    QuestionAnswerer.load(tmp_path)
    (tmp_path / "vocab.txt").write_text("")
    with pytest.raises(CheckpointError, match=r"vocab.txt is not the file it should be"):
        QuestionAnswerer.load(tmp_path)


def test_somebody_elses_manifest_says_nothing(tmp_path: Path) -> None:
    (toy_reader.save_reader(tmp_path) / "manifest.json").write_text('{"name": "a web app"}')
    assert QuestionAnswerer.load(tmp_path)("What?", "gold").text == "gold"


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "onnx/../../x"])
def test_a_manifest_cannot_point_outside(tmp_path: Path, name: str) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"sha256": {name: "0" * 64}}))
    with pytest.raises(CheckpointError, match="is not in the folder"):
        check_manifest(tmp_path)


@pytest.mark.parametrize("name", ["reader", "mini"])
class TestTheReadersInThePackage:
    """The real ones, as they are installed."""

    TEXT = (
        "Bert is Ernie's best friend and roommate on Sesame Street. "
        "The pair share the basement apartment at 123 Sesame Street."
    )

    def test_it_is_small_and_described(self, name: str) -> None:
        folder = hub.EMBEDDED[name]
        check_manifest(folder, required=True)
        (model,) = (folder / "onnx").glob("*.onnx")
        assert model.stat().st_size <= {"reader": 27_000_000, "mini": 11_000_000}[name]
        card = (folder / "README.md").read_text(encoding="utf-8")
        for part in ("## Scores", "## Data", "## Limits", "## Licence", "google/mobilebert-uncased"):
            assert part in card

    def test_it_answers_with_the_exact_words(self, name: str, no_network: None) -> None:
        reader = QuestionAnswerer.load(name)
        assert reader.calibrated
        result = reader("Where is the apartment?", self.TEXT, top_k=3)
        assert result.text == "123 Sesame Street"
        assert len(result) == 3
        for answer in result:
            assert self.TEXT[answer.start : answer.end] == answer.text
        assert sum(answer.score for answer in result) + result.no_answer <= 1.001

    def test_it_is_silent_where_there_is_no_answer(self, name: str) -> None:
        result = QuestionAnswerer.load(name)("In which year was the opera house rebuilt?", self.TEXT)
        assert not result.found
        assert result.no_answer > 0.5

    def test_it_comes_into_torch_and_says_the_same(self, name: str) -> None:
        import torch

        from pocketbert import load
        from pocketbert.text import Tokenizer

        model = load(f"pocketbert/{name}").eval()
        assert model.kind == "question-answering"
        batch = Tokenizer.load(hub.EMBEDDED[name]).encode_batch(["Where does Bert live?"], [self.TEXT])
        arrays = batch.arrays()
        with torch.no_grad():
            output = model(**{name: torch.from_numpy(array) for name, array in arrays.items()})
        given = QuestionAnswerer.load(name).session.run(**arrays)
        for side, logits in (("start_logits", output.start_logits), ("end_logits", output.end_logits)):
            # The package's file rounds the inputs of products; torch does not.
            error = logits.numpy() - given[side]
            assert np.sqrt((error**2).mean()) < 0.05 * given[side].std()
            assert logits.argmax() == given[side].argmax()
