"""Asking: what is refused, wrong inputs and wrong folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import toy_reader
from pocketbert.errors import (
    CheckpointError,
    ConfigError,
    HubError,
    InputError,
    TokenizerError,
)
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.text.calibration import Calibration


class TestWrongInput:
    @pytest.mark.parametrize(
        ("question", "context", "message"),
        [
            (None, "text", "the question is None"),
            ("Who?", None, "the context is None"),
            ("", "text", "the question is empty"),
            (" \n", "text", "the question is empty"),
            ("Who?", "", "the context is empty"),
            ("Who?", "  ", "the context is empty"),
            (3, "text", "the question is of the type int"),
            ("Who?", b"text", "the context is of the type bytes"),
            (b"Who?", "text", "the question is of the type bytes"),
            ("Who?", {"text": 1}, "the context is of the type dict"),
            (["Who?", None], "text", "the question is None"),
            ("Who?", ["text", 5], "the context is of the type int"),
            ("why " * 250_000, "text", "the question has 1,000,000 characters; at most 10,000"),
            ("why " * 100, "text", "a question of 100 tokens leaves 0 of 64"),
        ],
    )
    def test_texts(self, toy: QuestionAnswerer, question: object, context: object, message: str) -> None:
        with pytest.raises(InputError, match=message):
            toy(question, context)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"top_k": 0}, "top_k is 0; it must be a whole number from 1 up"),
            ({"top_k": 1.5}, "top_k is 1.5"),
            ({"top_k": None}, "top_k is None"),
            ({"top_k": True}, "top_k is True"),
            ({"read": "some"}, "read is 'some'; allowed are 'fast', 'all'"),
            ({"deadline": -1}, "deadline is -1; it must be a number from 0 up"),
            ({"deadline": float("nan")}, "deadline is nan"),
            ({"threshold": 1.5}, "threshold is 1.5; it must be a number from 0 to 1"),
            ({"miss": None}, "miss is None"),
            ({"least": 0}, "least is 0"),
            ({"max_answer_length": 0}, "max_answer_length is 0"),
            ({"overlap": -1}, "overlap is -1"),
            ({"window": 1000}, "window is 1000; this model reads at most 512"),
            ({"window": 20}, "leaves 15 of 20"),
            ({"align_to_words": 1}, "align_to_words is 1; it must be True or False"),
            ({"progress": 3}, "progress is 3"),
            ({"topk": 3}, "there is no option topk; the options are top_k, read"),
        ],
    )
    def test_options(self, toy: QuestionAnswerer, options: dict[str, object], message: str) -> None:
        with pytest.raises(InputError, match=message):
            toy("Who?", "text", **options)

    def test_a_text_without_tokens_has_no_answer(self, toy: QuestionAnswerer) -> None:
        result = toy("Who?", "\x00\x01", threshold=1.0)
        assert (result.found, result.candidates, result.no_answer) == (False, (), 1.0)


class TestModelFolders:
    def test_missing_and_foreign_folders(self, tmp_path: Path) -> None:
        with pytest.raises(HubError, match="there is no folder"):
            QuestionAnswerer.load(tmp_path / "nowhere")
        with pytest.raises(TokenizerError, match=r"neither a tokenizer\.json nor a vocab\.txt"):
            QuestionAnswerer.load(tmp_path)
        (tmp_path / "model.onnx").touch()
        with pytest.raises(HubError, match="is a file; give the model folder"):
            QuestionAnswerer.load(tmp_path / "model.onnx")
        for wrong in ("", 5, b"x"):
            with pytest.raises(InputError, match="the model is"):
                QuestionAnswerer.load(wrong)
        with pytest.raises(HubError, match="is neither a folder nor a name on the hub"):
            QuestionAnswerer.load("x\0y")

    def test_a_model_without_answers_is_refused(self, tmp_path: Path) -> None:
        toy_reader.save_reader(tmp_path, outputs=("logits", "more"))
        with pytest.raises(
            CheckpointError, match="gives logits, more; a reader gives start_logits and end_logits"
        ):
            QuestionAnswerer.load(tmp_path)

    def test_logits_that_are_no_numbers_are_found_out(self, tmp_path: Path) -> None:
        reader = QuestionAnswerer.load(toy_reader.save_reader(tmp_path, logits={"gold": float("nan")}))
        with pytest.raises(InputError, match="NaN or infinity"):
            reader("What?", "gold")

    def test_a_folder_without_calibration_is_read_with_neutral_numbers(self, tmp_path: Path) -> None:
        (toy_reader.save_reader(tmp_path) / "qa_config.json").unlink()
        reader = QuestionAnswerer.load(tmp_path)
        assert not reader.calibrated
        assert reader.calibration == Calibration()
        (tmp_path / "config.json").write_text('{"max_position_embeddings": 100}')
        assert QuestionAnswerer.load(tmp_path).calibration == replace(Calibration(), window=100, overlap=33)
        (tmp_path / "config.json").write_text('{"model_type": "roberta", "max_position_embeddings": 102}')
        assert QuestionAnswerer.load(tmp_path).calibration.window == 100

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            (
                '{"max_position_embeddings": 10}',
                "asks for windows of 64 tokens, but the model has 10 positions",
            ),
            ('{"max_position_embeddings": "many"}', "max_position_embeddings is 'many'"),
            (
                '{"model_type": "roberta", "max_position_embeddings": 102, "pad_token_id": "x"}',
                "pad_token_id is 'x'",
            ),
            ("{", "cannot be read as JSON"),
        ],
    )
    def test_configurations(self, tmp_path: Path, config: str, message: str) -> None:
        (toy_reader.save_reader(tmp_path) / "config.json").write_text(config)
        with pytest.raises(ConfigError, match=message):
            QuestionAnswerer.load(tmp_path)

    def test_bad_calibrations(self, tmp_path: Path) -> None:
        (toy_reader.save_reader(tmp_path) / "qa_config.json").write_text("{}")
        with pytest.raises(ConfigError, match="qa_config"):
            QuestionAnswerer.load(tmp_path)

    def test_a_hub_name_is_read_from_the_cache(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_network: None
    ) -> None:
        """A cache as huggingface_hub keeps it, and no network."""
        from huggingface_hub import constants

        repo = tmp_path / "models--somebody--reader"
        toy_reader.save_reader(repo / "snapshots" / ("0" * 40))
        (repo / "refs").mkdir()
        (repo / "refs" / "main").write_text("0" * 40)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        assert QuestionAnswerer.load("somebody/reader")("What?", "gold").text == "gold"
        with pytest.raises(HubError, match="not complete in the local cache"):
            QuestionAnswerer.load("somebody/else")

    def test_loading_a_folder_needs_no_network(self, toy_folder: Path, no_network: None) -> None:
        assert QuestionAnswerer.load(str(toy_folder))("What?", "gold").text == "gold"
