"""What is special about DistilBERT: names of its own in the config, no segments, no pooler."""

from __future__ import annotations

import pytest
import torch
import transformers

import parity
from pocketbert.errors import ConfigError
from pocketbert.model import DistilBertConfig, build_encoder


def test_the_config_speaks_hugging_face() -> None:
    theirs = transformers.DistilBertConfig(
        dim=48, n_layers=3, n_heads=6, hidden_dim=20, activation="relu", dropout=0.3, attention_dropout=0.2
    )
    ours = DistilBertConfig.from_hf(theirs.to_dict())
    assert (ours.hidden_size, ours.num_hidden_layers, ours.num_attention_heads) == (48, 3, 6)
    assert (ours.intermediate_size, ours.hidden_act) == (20, "relu")
    assert (ours.hidden_dropout_prob, ours.attention_probs_dropout_prob) == (0.3, 0.2)
    assert ours.to_hf().items() <= (theirs.to_dict() | {"model_type": "distilbert"}).items()
    with pytest.raises(ConfigError, match="dim is 'wide'"):
        DistilBertConfig.from_hf({"dim": "wide"})
    with pytest.raises(ConfigError, match="layer_norm_eps is 1e-05"):
        DistilBertConfig(layer_norm_eps=1e-5)


def test_segments_and_pooler_are_not_there() -> None:
    encoder = parity.redraw(build_encoder("distilbert-nano", pooler=True))
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        plain, given = encoder(ids), encoder(ids, token_type_ids=torch.tensor([[0, 1, 9]]))
    assert torch.equal(plain.last, given.last)
    assert plain.pooled is None
