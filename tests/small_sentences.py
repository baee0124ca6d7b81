"""Small sentence models with random weights, exported: the same for sentence-transformers and for the runtime."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import torch

import parity
from pocketbert.export.onnx import export_onnx
from pocketbert.heads import build, save_sentences, sentence_model
from pocketbert.model import preset
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import SentenceConfig
from tiny_tokenizers import write_roberta


def sentence_folder(
    folder: Path, config: SentenceConfig, name: str = "bert-nano", *, like: Path | None = None
) -> Path:
    """A folder with weights, settings, tokenizer and onnx/model.onnx whose vectors differ from text to text.

    The encoder is always the same, so that the ONNX file can be had from a folder that was made before.
    """
    torch.manual_seed(7)
    tokenizer = (
        Tokenizer.load(write_roberta(folder / "words")) if name == "roberta-nano" else Tokenizer.load()
    )
    encoder = parity.redraw(build(replace(preset(name), vocab_size=tokenizer.size, num_hidden_layers=1)))
    if config.dense is None:
        config = replace(config, dimensions=encoder.config.hidden_size)
    save_sentences(sentence_model(encoder, config), folder)
    tokenizer.save(folder, model_max_length=encoder.config.longest)
    if like is None:
        export_onnx(encoder, folder / "onnx" / "model.onnx")
    else:
        shutil.copytree(like / "onnx", folder / "onnx")
    return folder
