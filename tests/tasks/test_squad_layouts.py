"""Features, batches and predictions with the layouts of RoBERTa, ALBERT and XLNet."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pocketbert.tasks.squad.answers import answers
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.predict import collate, predict
from pocketbert.tasks.squad.questions import Answer, Question
from pocketbert.text import Tokenizer, windows
from tiny_tokenizers import write_albert, write_roberta, write_xlnet

CONTEXT = (
    "The library opens at nine (or ten). " * 6 + "Ada wrote 1,200 letters in ink. " + "Rivers run. " * 20
)
QUESTIONS = [
    Question("who", "", "Who wrote the letters?", CONTEXT, (Answer("Ada", CONTEXT.index("Ada")),), False),
    Question("how many", "", "How many?", CONTEXT, (Answer("1,200", CONTEXT.index("1,200")),), False),
    Question("none", "", "Why?", "It is not far.", (), True),
    Question("nothing", "", "Why?", "", (), True),
]


@pytest.fixture(
    scope="module", params=[write_roberta, write_albert, write_xlnet], ids=lambda write: write.__name__[6:]
)
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return Tokenizer.load(request.param(tmp_path_factory.mktemp("tokenizer")))


class Reader(nn.Module):
    """Its logits are the ids, and nothing if the mask or the segments are not those of the place."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> object:
        logits = self.scale * (1000 * token_type_ids + input_ids) * attention_mask

        @dataclasses.dataclass
        class Output:
            start_logits: Tensor
            end_logits: Tensor

        return Output(logits, -logits)


def test_a_feature_is_a_window(tokenizer: Tokenizer) -> None:
    features = iter(featurise(QUESTIONS, tokenizer, max_length=80, overlap=10))
    for question in QUESTIONS:
        for window in windows(question.question, question.context, tokenizer, max_length=80, overlap=10):
            feature = next(features)
            assert tuple(feature.input_ids) == window.input_ids
            assert tuple(feature.token_type_ids) == window.token_type_ids
            assert tuple(feature.offsets) == window.offsets
            assert tuple(feature.best) == window.best
            assert feature.document_start == window.document_start
            assert feature.start == feature.end == feature.null == window.null
            assert feature.input_ids[feature.null] == tokenizer.cls_id
    assert next(features, None) is None


def test_gold_answers_are_found_in_the_padded_batch(tokenizer: Tokenizer) -> None:
    features = featurise(QUESTIONS, tokenizer, max_length=80, overlap=10, train=True)
    batch = collate(features, pad_id=tokenizer.pad_id)
    held = 0
    for row, feature in enumerate(features):
        first, last = batch["start_positions"][row], batch["end_positions"][row]
        if not feature.golds:
            assert batch["input_ids"][row, first] == batch["input_ids"][row, last] == tokenizer.cls_id
            continue
        held += 1
        words = tokenizer.decode(batch["input_ids"][row, first : last + 1].tolist())
        assert words.strip().lower() == QUESTIONS[feature.question_index].answers[0].text.lower()
        start, end = feature.characters_of(*feature.golds[0])
        assert CONTEXT[start:end] == QUESTIONS[feature.question_index].answers[0].text
    assert held >= 2
    width = batch["input_ids"].shape[1]
    for row, feature in enumerate(features):
        place = feature.layout.place(len(feature), width)
        assert batch["attention_mask"][row].sum() == batch["attention_mask"][row, place].sum() == len(feature)
        assert batch["token_type_ids"][row, place].tolist() == feature.token_type_ids.tolist()
        padding = batch["attention_mask"][row] == 0
        assert set(batch["input_ids"][row, padding].tolist()) <= {tokenizer.pad_id}
        assert set(batch["token_type_ids"][row, padding].tolist()) <= {feature.layout.padding_type}


def test_padding_changes_no_logit_and_the_null_is_that_of_cls(tokenizer: Tokenizer) -> None:
    features = featurise(QUESTIONS, tokenizer, max_length=80, overlap=10)
    assert len({len(feature) for feature in features}) > 2
    starts, ends = predict(Reader(), features, pad_id=tokenizer.pad_id)
    for feature, start, end in zip(features, starts, ends, strict=True):
        expected = 1000 * feature.token_type_ids + feature.input_ids
        np.testing.assert_array_equal(start, expected)
        np.testing.assert_array_equal(end, -expected)
    for prediction in answers(QUESTIONS, features, starts, ends):
        kind = features[0].token_type_ids[features[0].null]
        assert prediction.null_start_logit == 1000 * kind + tokenizer.cls_id
        assert prediction.null_score == 0
