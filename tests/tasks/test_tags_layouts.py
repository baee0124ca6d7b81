"""Words, pieces and predictions with the tokenizers and layouts of RoBERTa, ALBERT and XLNet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pocketbert.tasks.classify import features as texts
from pocketbert.tasks.classify import predict as classifying
from pocketbert.tasks.classify.examples import Example
from pocketbert.tasks.tags.features import IGNORED, featurise, first_pieces
from pocketbert.tasks.tags.predict import collate, predict
from pocketbert.tasks.tags.sentences import Sentence
from pocketbert.text import Tokenizer
from tiny_tokenizers import write_albert, write_roberta, write_xlnet

WORDS = ("The", "owner's", "unbelievably", '"discount"', "is", "5", "%", "–", "or", "naïve", "Zürich", ".")


@pytest.fixture(
    scope="module", params=[write_roberta, write_albert, write_xlnet], ids=lambda write: write.__name__[6:]
)
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return Tokenizer.load(request.param(tmp_path_factory.mktemp("tokenizer")))


@dataclass
class Output:
    logits: Tensor


class Tagger(nn.Module):
    """Its logits are the ids, and nothing if the mask is not that of the place."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Output:
        return Output((self.scale * input_ids * attention_mask).unsqueeze(-1))


class Classifier(Tagger):
    """Its logits are the sums of ids and of segments that are no padding."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Output:
        sums = [(self.scale * part * attention_mask).sum(1) for part in (input_ids, token_type_ids)]
        return Output(torch.stack(sums, dim=1))


def test_every_word_has_a_first_piece_of_its_own(tokenizer) -> None:
    pieces, first = first_pieces(WORDS, tokenizer)
    assert (np.diff(first) > 0).all()
    assert first[0] == 0
    encoding = tokenizer.encode(" ".join(WORDS), special=False)
    assert pieces.tolist() == list(encoding.ids)
    starts = np.cumsum([0, *(len(word) + 1 for word in WORDS)])
    for word, (place, start) in enumerate(zip(first.tolist(), starts, strict=False)):
        left, right = encoding.offsets[place]
        assert start - 1 <= left <= start < max(right, start + 1), WORDS[word]


@pytest.mark.parametrize("length", [12, 64])
def test_logits_are_those_of_the_first_pieces(tokenizer, length) -> None:
    sentences = [Sentence(WORDS[:3], ("x",) * 3, ""), Sentence(WORDS, ("x",) * len(WORDS), "")]
    features = featurise(sentences, tokenizer, {"x": 0}, max_length=length)
    found = predict(Tagger(), features)
    for feature, logits in zip(features, found, strict=True):
        pieces, first = first_pieces(sentences[feature.sentence_index].words, tokenizer)
        assert logits[:, 0].tolist() == pieces[first[feature.words]].tolist()
    batch = collate(features, pad_id=tokenizer.pad_id)
    tagged = batch["labels"] != IGNORED
    assert sorted(batch["input_ids"][tagged].tolist()) == sorted(np.concatenate(found)[:, 0].tolist())
    assert (batch["attention_mask"][tagged] == 1).all()


def test_texts_of_different_lengths_do_not_disturb_each_other(tokenizer) -> None:
    examples = [
        Example("The library"),
        Example("Who wrote the letters?", "Ada wrote 1,200 of them."),
        Example("It"),
    ]
    features = texts.featurise(examples, tokenizer, max_length=64)
    together = classifying.predict(Classifier(), features, pad_id=tokenizer.pad_id)
    for feature, row in zip(features, together, strict=True):
        assert row.tolist() == [feature.input_ids.sum(), int(feature.token_type_ids.sum())]
