"""A student's new layer begins where least squares put it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pocketbert.heads import load_sentences, save_sentences
from pocketbert.heads.sentences import sentence_head
from pocketbert.recipes._first_layer import fit_dense, least_squares
from pocketbert.tasks.sentences import metrics
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import Dense, SentenceConfig
from small_sentences import sentence_folder

TEXTS = [f"The {what} is {how} {where}." for what in ("ferry", "boat", "bread", "river", "stone", "tea")
         for how in ("late", "old", "warm", "cold", "here", "made")
         for where in ("today", "again", "in the north", "for you", "at nine")]  # fmt: skip


def test_a_linear_map_is_found_whatever_the_sizes_of_channels() -> None:
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(4000, 6)) * [1e-3, 0.1, 1, 10, 100, 1000] + [0, 5, -3, 100, 0, 7]
    true, shift = draw.normal(size=(3, 6)) / [1e-3, 0.1, 1, 10, 100, 1000], np.array([1.0, -2.0, 0.5])
    weight, bias = least_squares(inputs, inputs @ true.T + shift)
    said = inputs @ weight.T + bias
    wanted = inputs @ true.T + shift
    assert np.abs(said - wanted).max() < 0.05 * wanted.std()


def test_a_new_layer_comes_near_to_the_teacher_and_a_loaded_one_is_left_alone(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "toy", SentenceConfig())
    teacher = TorchEmbedder.load(folder)
    width = teacher.dimensions
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(width, width)))[0][:, : width // 2]
    taught = (teacher.encode(TEXTS) @ turned).astype(np.float32)
    config = SentenceConfig(dimensions=width // 2, dense=Dense(width, width // 2))
    student = TorchEmbedder(load_sentences(folder, config=config), Tokenizer.load(folder))
    assert sentence_head(student.model).fresh
    before = metrics.cosines(student.encode(TEXTS[100:]), taught[100:]).mean()
    fit_dense(student, student.pack(TEXTS[:100]), taught[:100])
    after = metrics.cosines(student.encode(TEXTS[100:]), taught[100:]).mean()
    assert before < 0.5
    assert after > 0.9
    save_sentences(student.model, tmp_path / "saved")
    assert not sentence_head(load_sentences(tmp_path / "saved")).fresh
