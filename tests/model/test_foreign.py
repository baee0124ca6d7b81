"""An encoder of transformers behind our interface gives what ours gives."""

from __future__ import annotations

import pytest
import torch
import transformers

import parity
from pocketbert.errors import HubError
from pocketbert.model.foreign import ForeignEncoder

TINY = {"vocab_size": 99, "num_attention_heads": 4, "max_position_embeddings": 20}


def test_the_same_as_ours(tmp_path) -> None:
    theirs = parity.redraw(
        transformers.BertModel(
            transformers.BertConfig(**TINY, hidden_size=32, num_hidden_layers=2, intermediate_size=24)
        )
    )
    encoder = parity.ours(theirs, tmp_path)
    foreign = ForeignEncoder.load(tmp_path)
    inputs = parity.batch()
    with torch.no_grad():
        expected = encoder(**inputs.arguments(), feature_maps=True, attentions=True)
        given = foreign(**inputs.arguments(), feature_maps=True, attentions=True)
    for first, second in zip(expected.feature_maps, given.feature_maps, strict=True):
        real = [parity.real(values, inputs.attention_mask) for values in (first, second)]
        assert parity.error(*real) < 1e-5
    assert len(given.attentions) == 2
    assert parity.error(expected.pooled, given.pooled) < 1e-5


def test_a_family_that_takes_no_segments(tmp_path) -> None:
    config = transformers.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=24)
    transformers.DistilBertModel(config).save_pretrained(tmp_path)
    inputs = parity.batch()
    output = ForeignEncoder.load(tmp_path)(**inputs.arguments(), feature_maps=True)
    assert [tuple(feature_map.shape) for feature_map in output.feature_maps] == [(4, 13, 32)] * 3
    assert output.pooled is None
    assert output.attentions is None


def test_a_folder_that_is_no_encoder(tmp_path) -> None:
    with pytest.raises(HubError, match="cannot load"):
        ForeignEncoder.load(tmp_path)
