"""Sentence models: what we save sentence-transformers loads, and what it saves we load, with the same vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import parity
from pocketbert.errors import ConfigError, InputError
from pocketbert.heads import build, load_sentences, save, save_sentences, sentence_model
from pocketbert.model import preset
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import Dense, SentenceConfig, read_sentence_config
from tiny_tokenizers import write_roberta

TEXTS = [
    "The ferry leaves at nine.",
    "When does the boat go?",
    "Bread.",
    "A long sentence, which goes on for some time, so that most of the others need padding beside it in a batch.",
]
CONFIGS = {
    "mean": SentenceConfig(dimensions=32, max_seq_length=24),
    "cls": SentenceConfig(dimensions=32, pooling="cls", normalize=False, max_seq_length=16, similarity="dot"),
    "max": SentenceConfig(dimensions=32, pooling="max", max_seq_length=None),
    "mean-sqrt": SentenceConfig(dimensions=32, pooling="mean-sqrt", normalize=False, max_seq_length=None),
    "dense": SentenceConfig(dimensions=12, dense=Dense(32, 12, activation="tanh"), max_seq_length=24),
    "plain dense": SentenceConfig(dimensions=96, dense=Dense(32, 96, bias=False), normalize=False),
}


def made(folder: Path, config: SentenceConfig, name: str = "bert-nano") -> Path:
    """A folder with random weights that make every vector another."""
    torch.manual_seed(7)
    shape = preset(name)
    tokenizer = (
        Tokenizer.load(write_roberta(folder / "words")) if name == "roberta-nano" else Tokenizer.load()
    )
    encoder = parity.redraw(build(replace(shape, vocab_size=tokenizer.size)))
    fitted = replace(config, dimensions=encoder.config.hidden_size) if config.dense is None else config
    save_sentences(sentence_model(encoder, fitted), folder)
    tokenizer.save(folder, model_max_length=encoder.config.longest)
    return folder


def vectors_of(folder: Path) -> np.ndarray:
    return TorchEmbedder.load(folder).encode(TEXTS)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_saved_model_gives_the_same_vectors(name: str, tmp_path: Path) -> None:
    folder = made(tmp_path / "one", CONFIGS[name])
    first = vectors_of(folder)
    save_sentences(load_sentences(folder), tmp_path / "two")
    Tokenizer.load(folder).save(tmp_path / "two")
    assert read_sentence_config(tmp_path / "two") == read_sentence_config(folder)
    assert np.array_equal(vectors_of(tmp_path / "two"), first)
    assert np.abs(first[0] - first[1]).max() > 1e-2


@pytest.mark.parametrize("name", CONFIGS)
def test_sentence_transformers_gives_the_same_vectors(name: str, tmp_path: Path) -> None:
    import sentence_transformers as st

    folder = made(tmp_path, CONFIGS[name])
    theirs = st.SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    ours = vectors_of(folder)
    assert theirs.shape == ours.shape
    assert np.abs(theirs - ours).max() < 1e-5 * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("name", ["roberta-nano", "distilbert-nano", "mobilebert-nano"])
def test_so_does_it_for_the_family(name: str, tmp_path: Path) -> None:
    import sentence_transformers as st

    folder = made(tmp_path, CONFIGS["mean"], name)
    # One by one: transformers' MobileBERT lets the last word of a text see the padding after it.
    theirs = st.SentenceTransformer(str(folder), device="cpu").encode(TEXTS, batch_size=1)
    assert np.abs(theirs - vectors_of(folder)).max() < 2e-5


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "mean_sqrt_len_tokens"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_their_folders_give_the_same_vectors_here(pooling: str, tmp_path: Path) -> None:
    import sentence_transformers as st
    from sentence_transformers import models

    torch.manual_seed(3)
    save(parity.redraw(build("bert-nano")), tmp_path / "bert")
    Tokenizer.load().save(tmp_path / "bert")
    parts = [models.Transformer(str(tmp_path / "bert"), max_seq_length=20)]
    parts += [models.Pooling(32, pooling), models.Dense(32, 10), models.Normalize()]
    theirs = st.SentenceTransformer(modules=parts, device="cpu")
    theirs.save(str(tmp_path / "theirs"))
    expected = theirs.encode(TEXTS)
    assert np.abs(expected - vectors_of(tmp_path / "theirs")).max() < 1e-5


def test_a_plain_encoder_is_pooled_by_the_mean(tmp_path: Path) -> None:
    torch.manual_seed(3)
    save(build("bert-nano"), tmp_path)
    Tokenizer.load().save(tmp_path)
    model = load_sentences(tmp_path)
    assert model.head.config == SentenceConfig(dimensions=32, max_seq_length=None)
    lengths = np.linalg.norm(vectors_of(tmp_path), axis=1)
    assert np.allclose(lengths, 1)


def test_another_config_keeps_the_dense_layer_that_fits(tmp_path: Path) -> None:
    folder = made(tmp_path, CONFIGS["dense"])
    kept = load_sentences(folder, config=replace(CONFIGS["dense"], normalize=False, pooling="cls"))
    new = load_sentences(folder, config=SentenceConfig(dimensions=8, dense=Dense(32, 8)))
    saved = load_sentences(folder)
    assert torch.equal(kept.head.dense.weight, saved.head.dense.weight)
    assert new.head.dense.weight.shape == (8, 32)


def test_a_width_that_is_not_the_encoders_is_refused() -> None:
    with pytest.raises(ConfigError, match="have 32 numbers, and the sentence config expects 16"):
        sentence_model(build("bert-nano"), SentenceConfig(dimensions=16))


def test_prompts_are_put_before_texts(tmp_path: Path) -> None:
    prompts = {"query": "find: ", "title": "name: "}
    config = SentenceConfig(dimensions=32, prompts=prompts, default_prompt="title", max_seq_length=64)
    embedder = TorchEmbedder.load(made(tmp_path, config))
    plain = embedder.encode(["name: bread", "find: bread"], prompt_name=None)
    bare = TorchEmbedder.load(made(tmp_path / "bare", replace(config, default_prompt=None)))
    assert np.allclose(embedder.encode(["bread"]), bare.encode(["name: bread"]), atol=1e-6)
    assert np.allclose(
        embedder.encode(["bread"], prompt_name="query"), bare.encode(["find: bread"]), atol=1e-6
    )
    assert not np.allclose(plain[0], bare.encode(["name: bread"]), atol=1e-3)
    with pytest.raises(InputError, match="its prompts: query, title"):
        embedder.encode(["bread"], prompt_name="answer")
