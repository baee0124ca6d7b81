"""Our pipelines beside those of transformers on the same weights: the same arguments, the same results."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from types import GeneratorType
from typing import Any

import numpy as np
import pytest
import torch

import small_models
from pocketbert import pipeline
from pocketbert.errors import InputError
from pocketbert.runtime.classify import Classifier

FAMILIES = ["bert-nano", "roberta-nano"]
TAGS = ("O", "B-person", "I-person", "B-place", "I-place")
TEXTS = [
    "Ada Lovelace didn't wait: the unbelievable library opens at nine.",
    "A café in the old town sells naïve paintings, £3 each.",
    "Who wrote the letters?",
]
LONG = " ".join(TEXTS * 12)


def theirs(task: str, folder: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.pipeline(task, model=str(folder), device=-1)


def pair(task: str, folder: Path) -> tuple[Any, Any]:
    return pipeline(task, model=folder), theirs(task, folder)


def same(ours: Any, expected: Any) -> None:
    """Equal, but for the last digits of numbers and their types."""
    if isinstance(expected, dict):
        assert ours.keys() == expected.keys()
        for key, value in expected.items():
            same(ours[key], value)
    elif isinstance(expected, list):
        assert len(ours) == len(expected)
        for left, right in zip(ours, expected, strict=True):
            same(left, right)
    elif isinstance(expected, (str, int)):
        assert ours == expected
    else:
        assert ours == pytest.approx(float(expected), abs=2e-5)


@pytest.fixture(scope="module", params=FAMILIES)
def classifiers(request, tmp_path_factory) -> tuple[Any, Any]:
    folder = tmp_path_factory.mktemp("classes")
    small_models.exported(folder, "classification", request.param, labels=["bad", "good", "mixed"])
    return pair("text-classification", folder)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"top_k": 2},
        {"top_k": None},
        {"top_k": 1},
        {"function_to_apply": "sigmoid"},
        {"function_to_apply": "none", "top_k": None},
        {"truncation": True, "max_length": 8},
    ],
)
def test_text_classification(classifiers, arguments) -> None:
    ours, expected = classifiers
    pairs = [{"text": "Who wrote it?", "text_pair": text} for text in TEXTS]
    for inputs in (TEXTS[0], TEXTS, pairs[0], pairs, [[["one", "two"]]]):
        same(ours(inputs, **arguments), expected(inputs, **arguments))


@pytest.mark.parametrize(
    ("problem", "labels"), [("multi", ["a", "b", "c"]), ("regression", ["stars"]), (None, ["stars"])]
)
def test_scores_are_made_as_the_labels_need_it(problem, labels, tmp_path) -> None:
    """A single label without a word about it goes through the sigmoid."""
    small_models.exported(tmp_path, "classification", labels=labels, problem=problem or "regression")
    if problem is None:
        config = (tmp_path / "config.json").read_text()
        (tmp_path / "config.json").write_text(
            config.replace('"problem_type": "regression"', '"problem_type": null')
        )
    ours, expected = pair("text-classification", tmp_path)
    same(ours(TEXTS, top_k=None), expected(TEXTS, top_k=None))
    same(ours(TEXTS[0]), expected(TEXTS[0]))


def test_defaults_and_streams(classifiers) -> None:
    ours, expected = classifiers
    same(pipeline("sentiment-analysis", ours.classifier, top_k=None)(TEXTS[0]),
         [expected(TEXTS[0], top_k=None)])  # fmt: skip
    stream = ours(text for text in TEXTS)
    assert isinstance(stream, GeneratorType)
    assert list(stream) == ours(TEXTS)
    assert ours([]) == []


class Column:
    """Texts as a set of torch's has them: a length and places, and no way to go through them but these."""

    def __len__(self) -> int:
        return len(TEXTS)

    def __getitem__(self, number: int) -> str:
        return TEXTS[number]


def test_anything_that_can_be_gone_through(classifiers) -> None:
    ours, _ = classifiers
    expected = ours(TEXTS)
    for inputs in (tuple(TEXTS), dict.fromkeys(TEXTS).keys(), deque(TEXTS), np.array(TEXTS), Column()):
        assert ours(inputs) == expected, type(inputs)
    for stream in (iter(TEXTS), map(str, TEXTS)):
        found = ours(stream)
        assert isinstance(found, GeneratorType)
        assert list(found) == expected


def test_arguments_that_programs_name(tmp_path) -> None:
    """What is right of them changes nothing; all else is refused, and says what to do."""
    folder = small_models.exported(tmp_path, "classification", "bert-nano", labels=["bad", "good"])
    plain = pipeline("text-classification", model=folder)(TEXTS)
    for options in (
        {"tokenizer": str(folder), "num_workers": 2},
        {"dtype": "float32"},
        {"torch_dtype": torch.float32, "tokenizer": None},
    ):
        assert pipeline("text-classification", model=folder, **options)(TEXTS, num_workers=0) == plain
    for options, message in (
        (
            {"tokenizer": "bert-base-uncased"},
            "tokenizer is 'bert-base-uncased'; a model runs with the tokenizer of its",
        ),
        ({"dtype": torch.float16}, "dtype is torch.float16; results are float32 here"),
        ({"torch_dtype": "auto"}, "torch_dtype is 'auto'"),
        ({"num_workers": "two"}, "num_workers is 'two'; it must be a whole number from 0 up"),
    ):
        with pytest.raises(InputError, match=message):
            pipeline("text-classification", model=folder, **options)


def test_a_folder_says_its_task(tmp_path, classifiers) -> None:
    heads = {
        "classification": "text-classification",
        "tags": "token-classification",
        None: "feature-extraction",
    }
    for head, task in heads.items():
        labels = {"labels": TAGS} if head else {}
        folder = small_models.exported(tmp_path / str(head), head, "bert-nano", **labels)
        assert pipeline(model=folder).task == task
    assert pipeline(model=classifiers[0].classifier).task == "text-classification"
    config = tmp_path / "tags" / "config.json"
    config.write_text(config.read_text().replace("ForTokenClassification", "ForNextSentencePrediction"))
    with pytest.raises(InputError, match="is a judge of next sentences, and no pipeline runs that"):
        pipeline(model=tmp_path / "tags")


@pytest.fixture(scope="module", params=[*FAMILIES, "albert-nano"])
def taggers(request, tmp_path_factory) -> tuple[Any, Any]:
    folder = tmp_path_factory.mktemp("tags")
    return pair("token-classification", small_models.exported(folder, "tags", request.param, labels=TAGS))


@pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")
@pytest.mark.parametrize("strategy", ["none", "simple", "first", "average", "max"])
def test_token_classification(taggers, strategy) -> None:
    ours, expected = taggers
    for arguments in ({}, {"ignore_labels": []}, {"ignore_labels": ["person", "B-person"]}):
        for inputs in (TEXTS[0], TEXTS):
            given = {"aggregation_strategy": strategy, **arguments}
            same(ours(inputs, **given), expected(inputs, **given))


@pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")
@pytest.mark.parametrize("strategy", ["simple", "first"])
def test_long_texts_with_a_stride(taggers, strategy) -> None:
    ours, expected = taggers
    positions = ours.tagger.positions
    expected.tokenizer.model_max_length = positions
    given = {"aggregation_strategy": strategy, "stride": 20, "ignore_labels": []}
    found = ours(LONG, **given)
    same(found, expected(LONG, **given))
    assert found[-1]["end"] > 500


def test_long_texts_without_a_stride_are_read_to_the_end(taggers) -> None:
    """Transformers cuts them."""
    ours, _ = taggers
    found = ours(LONG, ignore_labels=[])
    assert [row["index"] for row in found] == list(range(1, len(found) + 1))
    assert found[-1]["end"] == len(LONG)
    short = ours(LONG[: LONG.index("Who")], ignore_labels=[])
    assert [row["word"] for row in found[: len(short)]] == [row["word"] for row in short]


def test_words_that_are_split_already(tmp_path) -> None:
    ours, expected = pair("ner", small_models.exported(tmp_path, "tags", labels=TAGS))
    words = ["Ada", "Lovelace", "unbelievably", "isn't", "here", "."]
    for inputs in (words, [words, words[:3]]):
        for delimiter in (" ", "--"):
            given = {"is_split_into_words": True, "delimiter": delimiter, "aggregation_strategy": "first"}
            same(ours(inputs, **given), expected(inputs, **given))


@pytest.mark.parametrize("name", [*FAMILIES, "albert-nano"])
def test_fill_mask(name, tmp_path) -> None:
    ours, expected = pair("fill-mask", small_models.exported(tmp_path, "masked-lm", name))
    mask = expected.tokenizer.mask_token
    one, two = f"The {mask} reads every page.", f"The {mask} reads every {mask}, word by word."
    for inputs in (one, two, [one], [one, two]):
        same(ours(inputs), expected(inputs))
        same(ours(inputs, top_k=3), expected(inputs, top_k=3))
    mark = {"bert-nano": "", "roberta-nano": "Ġ", "albert-nano": "▁"}[name]
    targets = [f"{mark}page", f"{mark}the"]
    same(ours(one, targets=targets), expected(one, targets=targets))
    same(ours(one, targets=targets[0]), expected(one, targets=targets[0]))


@pytest.mark.parametrize("name", FAMILIES)
def test_feature_extraction(name, tmp_path) -> None:
    ours, expected = pair("feature-extraction", small_models.exported(tmp_path, None, name))
    for inputs in (TEXTS[0], TEXTS):
        same(ours(inputs), expected(inputs))
    given = {"tokenize_kwargs": {"truncation": True, "max_length": 6}}
    same(ours(TEXTS, **given), expected(TEXTS, **given))
    assert ours(TEXTS[0], return_tensors=True).shape == tuple(expected(TEXTS[0], return_tensors=True).shape)


def test_wrong_arguments(classifiers, tmp_path) -> None:
    ours, _ = classifiers
    for arguments, message in (
        ({"top_k": 0}, "top_k is 0"),
        ({"function_to_apply": "tanh"}, "function_to_apply is 'tanh'; allowed are 'sigmoid'"),
        ({"truncation": "sideways"}, "truncation is 'sideways'"),
        ({"colour": 1}, "there is no argument colour; there are top_k"),
    ):
        with pytest.raises(InputError, match=message):
            ours("text", **arguments)
    for inputs, message in (
        (["one", ["two", "three"]], "give a text, or a pair as"),
        ({"txt": "one"}, "a dictionary has txt"),
        ("", "the text is empty"),
        (None, "the text is None"),
        (LONG * 3, "give truncation=True"),
    ):
        with pytest.raises(InputError, match=message):
            ours(inputs)
    with pytest.raises(InputError, match="the model is None; for 'token-classification'"):
        pipeline("ner")
    with pytest.raises(InputError, match="aggregation_strategy is 'most'; allowed are 'none', 'simple'"):
        pipeline("ner", tmp_path, aggregation_strategy="most")
    with pytest.raises(InputError, match="stride joins entities"):
        pipeline("ner", tmp_path, stride=3)
    with pytest.raises(InputError, match="truncation is given twice"):
        pipeline("feature-extraction", tmp_path, truncation=True, tokenize_kwargs={"truncation": True})


def test_a_loaded_model_will_do(classifiers) -> None:
    ours, _ = classifiers
    assert isinstance(ours.classifier, Classifier)
    assert pipeline("text-classification", model=ours.classifier)(TEXTS) == ours(TEXTS)
