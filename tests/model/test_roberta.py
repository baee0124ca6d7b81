"""What is special about RoBERTa: how positions count, and that there is but one segment."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import transformers

import parity
from pocketbert.errors import ConfigError, InputError
from pocketbert.heads import build
from pocketbert.model import RobertaConfig, build_encoder, preset

THEIRS = transformers.RobertaConfig(
    vocab_size=parity.VOCABULARY,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=24,
    max_position_embeddings=20,
    type_vocab_size=1,
)
ONE = THEIRS.pad_token_id  # the padding id


def oracle() -> transformers.PreTrainedModel:
    return parity.redraw(transformers.RobertaModel._from_config(THEIRS, attn_implementation="eager"))


def test_padding_may_stand_anywhere_in_a_row() -> None:
    theirs = oracle()
    encoder = parity.ours(theirs)
    ids = torch.tensor([[0, 5, ONE, ONE, 7, 8, 2], [ONE, ONE, 0, 6, ONE, 9, 2], [0, 5, 6, 7, 8, 9, 2]])
    mask = (ids != ONE).long()
    inputs = parity.Batch(ids, mask, torch.zeros_like(ids))
    assert parity.encoder_error(theirs, encoder, inputs) < parity.TOLERANCE
    unmasked = replace(
        inputs, attention_mask=torch.ones_like(mask)
    )  # padding that is read has a position of its own
    assert parity.encoder_error(theirs, encoder, unmasked) < parity.TOLERANCE
    with torch.no_grad():
        last = encoder(ids, mask).last
        for row in range(3):
            alone = encoder(ids[row][mask[row] == 1][None]).last
            assert parity.error(alone[0], last[row][mask[row] == 1]) < parity.TOLERANCE


def test_word_vectors_count_on_through_padding() -> None:
    """Which vectors are padding cannot be seen, so every one gets a position, as in transformers."""
    theirs = oracle()
    encoder = parity.ours(theirs)
    ids = torch.tensor([[0, 5, ONE, 7, 2]])
    mask = (ids != ONE).long()
    vectors = theirs.get_input_embeddings()(ids)
    with torch.no_grad():
        expected = theirs(inputs_embeds=vectors, attention_mask=mask).last_hidden_state
        given = encoder(inputs_embeds=vectors, attention_mask=mask).last
        counted = encoder(ids, mask).last
    assert parity.error(parity.real(expected, mask), parity.real(given, mask)) < parity.TOLERANCE
    assert parity.error(counted[0, 4], given[0, 4]) > 1e-3


def test_the_table_holds_two_tokens_fewer_than_rows() -> None:
    assert preset("roberta-base").longest == 512
    encoder = parity.ours(oracle())
    ids = torch.full((1, 18), 7)
    assert encoder(ids).last.isfinite().all()
    with pytest.raises(InputError, match="has 18 positions"):
        encoder(torch.full((1, 19), 7))
    with pytest.raises(ConfigError, match="count from pad_token_id"):
        RobertaConfig(max_position_embeddings=2)


def test_one_segment_is_all_segments() -> None:
    encoder = parity.redraw(build_encoder("roberta-nano"))
    ids = torch.tensor([[0, 5, 6, 2]])
    with torch.no_grad():
        assert torch.equal(encoder(ids).last, encoder(ids, token_type_ids=torch.ones_like(ids)).last)
        two = parity.redraw(build_encoder(replace(preset("roberta-nano"), type_vocab_size=2)))
        assert not torch.equal(two(ids).last, two(ids, token_type_ids=torch.ones_like(ids)).last)


def test_a_silent_config_means_what_transformers_takes_it_for() -> None:
    theirs = transformers.RobertaConfig()
    ours = RobertaConfig.from_hf({})
    assert ours.to_hf().items() <= (theirs.to_dict() | {"model_type": "roberta"}).items()


def test_a_head_that_the_family_lacks_is_named() -> None:
    with pytest.raises(
        InputError, match=r"Roberta model has no head 'next-sentence'; its heads are masked-lm"
    ):
        build("roberta-nano", "next-sentence")
