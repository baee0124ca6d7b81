"""Embedder: the vectors of sentence-transformers and of torch, whatever the batch, the order and the length."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

from pocketbert import Embedder, InputError, PocketbertError, paraphrase_mining
from pocketbert.errors import CheckpointError, ConfigError
from pocketbert.runtime import folder as folders
from pocketbert.runtime.embed import Reading
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.text.sentence_config import Dense, SentenceConfig, read_sentence_config, write_sentence_config
from small_sentences import sentence_folder, toy_reranker
from strange_texts import strange_texts

TEXTS = [
    "The ferry leaves at nine.",
    "When does the boat go?",
    "",
    "Bread.",
    "A long sentence, which goes on for some time, so that most of the others need padding beside it in a batch.",
    "The ferry leaves at nine.",
]
CONFIGS = {
    "mean": SentenceConfig(
        max_seq_length=40,
        prompts={"query": "find: ", "document": "text: "},
        similarity="dot",
        lower_case=True,
    ),
    "cls": SentenceConfig(pooling="cls", normalize=False, max_seq_length=None),
    "max": SentenceConfig(pooling="max", normalize=False, max_seq_length=40),
    "mean-sqrt": SentenceConfig(pooling="mean-sqrt", normalize=False, max_seq_length=40),
    "dense": SentenceConfig(dimensions=12, dense=Dense(32, 12, activation="tanh"), max_seq_length=40),
    "plain": SentenceConfig(
        dimensions=48,
        dense=Dense(32, 48, bias=False),
        normalize=False,
        max_seq_length=40,
        prompts={"query": "find: "},
        default_prompt="query",
    ),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("sentences")
    first = sentence_folder(root / "first", CONFIGS["cls"])
    made = {name: sentence_folder(root / name, config, like=first) for name, config in CONFIGS.items()}
    unlimited = replace(CONFIGS["mean"], max_seq_length=None)
    return made | {"roberta": sentence_folder(root / "roberta", unlimited, "roberta-nano")}


@pytest.fixture(scope="module")
def embedder(models) -> Embedder:
    return Embedder.load(models["mean"])


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and bool(
        np.abs(found - expected).max() < 2e-5 * max(1.0, np.abs(expected).max())
    )


@pytest.mark.parametrize("name", [*CONFIGS, "roberta"])
def test_vectors_are_those_of_sentence_transformers(name: str, models) -> None:
    import sentence_transformers as st

    theirs, ours = st.SentenceTransformer(str(models[name]), device="cpu"), Embedder.load(models[name])
    for options in ({}, {"normalize_embeddings": True, "truncate_dim": 8}, {"prompt": "Note: "}):
        expected = theirs.encode(TEXTS, **options)
        assert close(ours.encode(TEXTS, **options), expected), options
        assert close(ours.encode(TEXTS[0], **options), expected[0])
    assert close(ours.encode_query(TEXTS), theirs.encode_query(TEXTS))
    assert close(ours.encode_document(TEXTS), theirs.encode_document(TEXTS))
    vectors = ours.encode(TEXTS)
    assert close(ours.similarity(vectors, vectors), theirs.similarity(vectors, vectors).numpy())
    assert close(
        ours.similarity_pairwise(vectors, vectors[::-1]),
        theirs.similarity_pairwise(vectors, vectors[::-1].copy()).numpy(),
    )
    for precision in ("int8", "uint8", "binary", "ubinary"):
        expected = theirs.encode(TEXTS, precision=precision)
        found = ours.encode(TEXTS, precision=precision)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        if precision.endswith("int8"):  # a number on the edge between two steps may fall on either side
            assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1
        else:
            assert (found == expected).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_vectors_are_those_of_torch(name: str, models) -> None:
    assert close(Embedder.load(models[name]).encode(TEXTS), TorchEmbedder.load(models[name]).encode(TEXTS))


def test_a_batch_is_its_texts_one_by_one(embedder) -> None:
    texts = [" ".join(TEXTS[number % 6] for number in range(start, start + start % 4)) for start in range(50)]
    together = embedder.encode(texts)
    alone = np.stack([embedder.encode(text) for text in texts])
    assert close(together, alone)
    assert close(embedder.encode(texts, batch_size=1), alone)
    assert close(embedder.encode(iter(texts)), alone)
    assert close(embedder.encode(np.array(texts)), alone)
    assert close(np.stack(list(embedder.stream(iter(texts), ahead=7))), alone)
    assert [row.shape for row in embedder.encode(texts[:2], convert_to_numpy=False)] == [(32,)] * 2
    assert embedder.encode([]).shape == (0, 32)
    assert np.isfinite(embedder.encode(list(strange_texts(3, 60)))).all()


@pytest.mark.parametrize("name", ["mean", "max", "mean-sqrt", "cls"])
def test_a_long_text_is_read_to_its_end(name: str, models) -> None:
    words = [f"word{number} is number {number}" for number in range(40)]
    short, long = Embedder.load(models[name]), Embedder.load(models[name])
    short.config = replace(short.config, max_seq_length=40)
    vector, reading = short.encode(" ".join(words), return_reading=True)
    assert reading.windows > 3
    assert (reading.texts, reading.truncated) == (1, 0)
    assert not np.allclose(vector, short.encode(" ".join([*words[:-1], "The end."])), atol=1e-4)
    # The vector is what one pools by hand: every token once, from the window that shows it best.
    assert close(vector, by_hand(long, " ".join(words), window=40))
    with_others = short.encode(["a", " ".join(words), "b", " ".join(words[:3])])
    assert close(with_others[1], vector)


def by_hand(embedder: Embedder, text: str, *, window: int) -> np.ndarray:
    from pocketbert.runtime.documents import Document, stretches
    from pocketbert.runtime.whole_texts import room_of

    config, tokenizer = embedder.config, embedder.tokenizer
    text = text.lower() if config.lower_case else text
    document = Document.of(text, tokenizer)
    room, step = room_of(tokenizer, window, None, positions=None)
    plan = stretches(len(document), room, step)
    tokens, firsts = [], []
    for number, part in enumerate(plan):
        ids = np.array([tokenizer.frame(document.ids[part.first : part.last].tolist())], dtype=np.int64)
        last = embedder.session.run(ids, np.ones_like(ids), np.zeros_like(ids))["last_hidden_state"][0]
        keep = [number == 0, *part.best, number == len(plan) - 1]
        tokens.append(last[np.array(keep)])
        firsts.append(last[0] * sum(keep))
    every = np.concatenate(tokens)
    assert len(every) == len(document) + 2
    pooled = {
        "mean": every.mean(axis=0),
        "max": every.max(axis=0),
        "mean-sqrt": every.sum(axis=0) / np.sqrt(len(every)),
        "cls": np.sum(firsts, axis=0) / len(every),
    }[config.pooling]
    return pooled / np.linalg.norm(pooled) if config.normalize else pooled


def test_what_is_cut_is_said(embedder) -> None:
    long = "ferry " * 100
    with pytest.warns(UserWarning, match="2 of 3 texts are longer than 40 tokens: 124 tokens"):
        vectors, reading = embedder.encode(["a", long, long], long="truncate", return_reading=True)
    assert reading == Reading(texts=3, windows=3, truncated=2, truncated_tokens=124)
    assert close(vectors[1], embedder.encode("ferry " * 38))
    with pytest.warns(UserWarning, match="1 of 1"):
        list(embedder.stream([long], long="truncate"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedder.encode(long)


def test_a_stream_takes_no_more_than_it_needs(embedder) -> None:
    stream = embedder.stream(repeat("again and again"), ahead=3)
    assert close(next(stream), embedder.encode("again and again"))


def test_calls_that_were_written_for_sentence_transformers(models, embedder) -> None:
    import sentence_transformers as st

    options = {
        "show_progress_bar": False,
        "output_value": "sentence_embedding",
        "convert_to_numpy": True,
        "convert_to_tensor": False,
        "device": "cpu",
    }
    theirs = st.SentenceTransformer(str(models["mean"]), device="cpu", truncate_dim=8)
    ours = Embedder.load(models["mean"], truncate_dim=8)
    assert close(ours.encode(TEXTS, **options), theirs.encode(TEXTS, **options))
    assert close(ours.encode(TEXTS, truncate_dim=4), theirs.encode(TEXTS, truncate_dim=4))
    assert ours.get_embedding_dimension() == theirs.get_embedding_dimension() == 8
    assert ours.get_sentence_embedding_dimension() == next(ours.stream(["a"])).size == 8
    assert embedder.get_embedding_dimension() == embedder.get_sentence_embedding_dimension() == 32
    with pytest.raises(InputError, match="truncate_dim is 0"):
        Embedder.load(models["mean"], truncate_dim=0)


def test_progress_ends_its_line(embedder, capsys) -> None:
    for texts, shown in ((TEXTS, "\r6 of 6 texts\n"), ((text for text in TEXTS), "\r6 texts\n"), ([], "")):
        embedder.encode(texts, show_progress_bar=True)
        assert capsys.readouterr().err == shown
    embedder.encode(TEXTS)
    assert capsys.readouterr().err == ""


def test_mining_by_texts(embedder) -> None:
    assert paraphrase_mining(embedder, TEXTS, max_pairs=1)[0][1:] == [0, 5]


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (["a", 3], {}, "sentence 1 is of the type int"),
        ([None], {}, "sentence 0 is None"),
        (7, {}, "the sentences are of the type int"),
        (b"a", {}, "of the type bytes"),
        ("a", {"precision": "int4"}, "'float32', 'int8'"),
        ("a", {"precision": "int8"}, "one vector does not tell"),
        ("a", {"long": "cut"}, "'windows', 'truncate'"),
        ("a", {"batch_size": 0}, "batch_size is 0"),
        ("a", {"truncate_dim": 0}, "truncate_dim is 0"),
        ("a", {"prompt_name": "quarry"}, "'query', 'document'"),
        ("a", {"prompt": 3}, "prompt is of the type int"),
        ("a", {"convert_to_tensor": True}, "torch.from_numpy"),
        ("a", {"device": "cuda:0"}, "device is 'cuda:0'; allowed are None and 'cpu'"),
        ("a", {"output_value": "token_embeddings"}, "output_value is 'token_embeddings'"),
        ("a", {"output_value": None}, "gives 'sentence_embedding'"),
    ],
)
def test_what_cannot_be_is_said(given, options, words: str, embedder) -> None:
    with pytest.raises(InputError, match=words):
        embedder.encode(given, **options)


def test_folders_that_are_no_embedders(models, tmp_path: Path) -> None:
    shutil.copytree(models["cls"], tmp_path / "bare")
    (tmp_path / "bare" / "modules.json").unlink()
    with pytest.raises(CheckpointError, match=r"no modules\.json"):
        Embedder.load(tmp_path / "bare")
    folder = toy_reranker(tmp_path / "head")
    write_sentence_config(folder, SentenceConfig(dimensions=32, max_seq_length=None))
    with pytest.raises(CheckpointError, match="--head none"):
        Embedder.load(folder)
    write_sentence_config(tmp_path / "bare", SentenceConfig(dimensions=64, max_seq_length=None))
    with pytest.raises(CheckpointError, match="32 numbers a token, but the folder's settings speak of 64"):
        Embedder.load(tmp_path / "bare").encode("a")
    write_sentence_config(tmp_path / "bare", SentenceConfig(dimensions=32, max_seq_length=5000))
    with pytest.raises(ConfigError, match="5000 tokens"):
        Embedder.load(tmp_path / "bare")
    config = read_sentence_config(models["dense"])
    assert config is not None
    (tmp_path / "bare" / "2_Dense").mkdir()
    (tmp_path / "bare" / "2_Dense" / "model.safetensors").write_bytes(b"nothing")
    write_sentence_config(tmp_path / "bare", config)
    with pytest.raises(CheckpointError, match="cannot be read as safetensors"):
        Embedder.load(tmp_path / "bare")
    weights = (models["plain"] / "2_Dense" / "model.safetensors").read_bytes()
    (tmp_path / "bare" / "2_Dense" / "model.safetensors").write_bytes(weights)
    with pytest.raises(CheckpointError, match="asks for"):
        Embedder.load(tmp_path / "bare")


def test_the_embedded_embedder(models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "EMBEDDED_EMBEDDER", tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="no embedded embedder"):
        Embedder.load()
    monkeypatch.setattr(folders, "EMBEDDED_EMBEDDER", models["mean"])
    with pytest.raises(PocketbertError, match="manifest"):
        Embedder.load()
    from pocketbert.runtime.manifest import write_manifest

    try:
        write_manifest(models["mean"])
        assert close(Embedder.load().encode(TEXTS), Embedder.load(models["mean"]).encode(TEXTS))
    finally:
        (models["mean"] / "manifest.json").unlink()


def test_it_runs_without_torch(models) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; from pocketbert import Embedder, community_detection; "
        "e = Embedder.load(sys.argv[1]); v = e.encode(['a', 'b', 'a']); "
        "print(e.similarity(v, v).shape, community_detection(v, 0.999, 2)[0][:1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(models["dense"])], capture_output=True, text=True, check=True
    )
    assert done.stdout == "(3, 3) [0]\n"
