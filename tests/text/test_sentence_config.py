"""The files of a sentence-transformers folder: written as the oldest versions do, read as all do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pocketbert.errors import ConfigError
from pocketbert.text.sentence_config import Dense, SentenceConfig, read_sentence_config, write_sentence_config

NEW = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
}


def put(path: Path, values: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")


def change(path: Path, **values: object) -> None:
    put(path, json.loads(path.read_text(encoding="utf-8")) | values)


def modules(folder: Path, *types: str) -> None:
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Dense": "2_Dense"}
    put(
        folder / "modules.json",
        [
            {
                "idx": number,
                "name": str(number),
                "path": paths.get(kind.split(".")[-1], f"{number}_Other"),
                "type": kind,
            }
            for number, kind in enumerate(types)
        ],
    )


@pytest.mark.parametrize(
    "config",
    [
        SentenceConfig(),
        SentenceConfig(dimensions=8, pooling="cls", normalize=False, max_seq_length=None, similarity="dot"),
        SentenceConfig(
            dimensions=4,
            pooling="mean-sqrt",
            dense=Dense(16, 4, bias=False, activation="tanh"),
            prompts={"query": "query: ", "document": ""},
            default_prompt="query",
            lower_case=True,
        ),
        SentenceConfig(dimensions=16, pooling="max", dense=Dense(16, 16), normalize=False),
    ],
)
def test_what_is_written_is_read(tmp_path: Path, config: SentenceConfig) -> None:
    if config.dense is not None:
        (tmp_path / config.dense.file).parent.mkdir(parents=True)
        (tmp_path / config.dense.file).write_bytes(b"")
    write_sentence_config(tmp_path, config)
    assert read_sentence_config(tmp_path) == config


def test_a_plain_encoder_is_no_sentence_model(tmp_path: Path) -> None:
    put(tmp_path / "config.json", {"model_type": "bert"})
    assert read_sentence_config(tmp_path) is None


def test_a_cross_encoder_is_no_sentence_model(tmp_path: Path) -> None:
    modules(tmp_path, NEW["Transformer"])
    put(tmp_path / "config_sentence_transformers.json", {"model_type": "CrossEncoder"})
    assert read_sentence_config(tmp_path) is None


def test_the_files_of_newer_versions_are_read(tmp_path: Path) -> None:
    modules(tmp_path, NEW["Transformer"], NEW["Pooling"], NEW["Normalize"])
    pooling = {"embedding_dimension": 32, "pooling_mode": "mean_sqrt_len_tokens", "include_prompt": True}
    put(tmp_path / "1_Pooling/config.json", pooling)
    put(tmp_path / "sentence_bert_config.json", {"transformer_task": "feature-extraction"})
    put(tmp_path / "tokenizer_config.json", {"model_max_length": 40})
    put(
        tmp_path / "config_sentence_transformers.json",
        {"model_type": "SentenceTransformer", "prompts": {"query": "q: "}, "similarity_fn_name": "dot"},
    )
    assert read_sentence_config(tmp_path) == SentenceConfig(
        dimensions=32, pooling="mean-sqrt", max_seq_length=40, prompts={"query": "q: "}, similarity="dot"
    )


def test_without_a_limit_the_encoder_sets_it(tmp_path: Path) -> None:
    write_sentence_config(tmp_path, SentenceConfig(max_seq_length=None))
    put(tmp_path / "tokenizer_config.json", {"model_max_length": 10**30})
    found = read_sentence_config(tmp_path)
    assert found is not None
    assert found.max_seq_length is None


def test_an_older_name_of_the_reading_file(tmp_path: Path) -> None:
    write_sentence_config(tmp_path, SentenceConfig())
    (tmp_path / "sentence_bert_config.json").rename(tmp_path / "sentence_roberta_config.json")
    change(tmp_path / "sentence_roberta_config.json", max_seq_length=77)
    found = read_sentence_config(tmp_path)
    assert found is not None
    assert found.max_seq_length == 77


@pytest.mark.parametrize(
    ("types", "complaint"),
    [
        (["sentence_transformers.models.Transformer", "sentence_transformers.models.LSTM"], "models.LSTM"),
        (["custom.Transformer", NEW["Pooling"]], "custom.Transformer"),
        ([NEW["Transformer"]], "are Transformer;"),
        ([NEW["Transformer"], NEW["Normalize"], NEW["Pooling"]], "Transformer, Normalize, Pooling"),
        ([NEW["Transformer"], NEW["Pooling"], NEW["Dense"], NEW["Dense"]], "Dense, Dense"),
        ([], "are none"),
    ],
)
def test_modules_that_cannot_be_used_are_named(tmp_path: Path, types: list[str], complaint: str) -> None:
    modules(tmp_path, *types)
    with pytest.raises(ConfigError, match=complaint):
        read_sentence_config(tmp_path)


@pytest.mark.parametrize(
    ("file", "values", "complaint"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "cls_token, pooling_mode_mean_tokens"),
        (
            "1_Pooling/config.json",
            {"pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True},
            "lasttoken",
        ),
        ("1_Pooling/config.json", {"pooling_mode": ["mean", "max"]}, "mean, max"),
        ("1_Pooling/config.json", {"include_prompt": False}, "include_prompt"),
        ("1_Pooling/config.json", {"word_embedding_dimension": "8"}, "embedding_dimension is '8'"),
        ("2_Dense/config.json", {"activation_function": "os.system"}, "os.system"),
        ("2_Dense/config.json", {"use_residual": True}, "use_residual"),
        ("2_Dense/config.json", {"module_input_name": "token_embeddings"}, "token_embeddings"),
        ("2_Dense/config.json", {"in_features": 9}, "gives 8 numbers and Dense takes 9"),
        ("sentence_bert_config.json", {"max_seq_length": 0}, "max_seq_length is 0"),
        ("sentence_bert_config.json", {"do_lower_case": "yes"}, "lower_case is 'yes'"),
        ("config_sentence_transformers.json", {"similarity_fn_name": "maxsim"}, "maxsim"),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "there are none"),
    ],
)
def test_settings_that_cannot_be_used_are_named(
    tmp_path: Path, file: str, values: dict[str, object], complaint: str
) -> None:
    write_sentence_config(tmp_path, SentenceConfig(dimensions=4, dense=Dense(8, 4)))
    (tmp_path / "2_Dense/model.safetensors").write_bytes(b"")
    assert read_sentence_config(tmp_path) is not None
    change(tmp_path / file, **values)
    with pytest.raises(ConfigError, match=complaint):
        read_sentence_config(tmp_path)


def test_weights_of_another_kind_are_refused(tmp_path: Path) -> None:
    write_sentence_config(tmp_path, SentenceConfig(dimensions=4, dense=Dense(8, 4)))
    (tmp_path / "2_Dense/pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"no model\.safetensors"):
        read_sentence_config(tmp_path)


def test_a_path_stays_in_the_folder(tmp_path: Path) -> None:
    write_sentence_config(tmp_path, SentenceConfig())
    entries = json.loads((tmp_path / "modules.json").read_text(encoding="utf-8"))
    entries[1]["path"] = "../1_Pooling"
    put(tmp_path / "modules.json", entries)
    with pytest.raises(ConfigError, match="leaves the model folder"):
        read_sentence_config(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[", "3", '{"a": 1}', "[3]", '[{"path": 1, "type": ""}]', "[" * 100_000]
)
def test_a_malformed_list_of_modules_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "modules.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"modules\.json"):
        read_sentence_config(tmp_path)
