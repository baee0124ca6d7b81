"""Readers for the tests: one whose answers can be foretold, and a tiny MobileBERT with its torch twin."""

from __future__ import annotations

from pathlib import Path

import pytest

import toy_reader
from pocketbert.runtime.questions import QuestionAnswerer


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_reader.save_reader(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="session")
def toy(toy_folder: Path) -> QuestionAnswerer:
    return QuestionAnswerer.load(toy_folder)


@pytest.fixture(scope="session")
def nano_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A MobileBERT of two blocks with redrawn weights: random, but every logit depends on the whole window."""
    import parity
    from pocketbert.export.onnx import export_onnx
    from pocketbert.heads import build, save
    from pocketbert.text import Tokenizer
    from pocketbert.text.calibration import Calibration

    folder = tmp_path_factory.mktemp("nano")
    model = parity.redraw(build("mobilebert-nano", "question-answering"))
    save(model, folder)
    Tokenizer.load().save(folder)
    Calibration(window=96, overlap=32, max_answer_length=12, temperature=1.3, slope=0.7, bias=4.0).save(
        folder
    )
    export_onnx(model, folder / "onnx" / "model.onnx")
    return folder


@pytest.fixture(scope="session")
def nano(nano_folder: Path) -> QuestionAnswerer:
    return QuestionAnswerer.load(nano_folder)
