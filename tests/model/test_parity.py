"""Each encoder against transformers: every feature map, every attention map, every weight."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import transformers

import parity
from pocketbert.heads import load, save
from pocketbert.model import build_encoder

TINY = {
    "vocab_size": parity.VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
MOBILE = TINY | {"embedding_size": 12, "intra_bottleneck_size": 16, "num_feedforward_networks": 3}
# transformers builds two of its norms without the configured epsilon, with 1e-5: the same number everywhere hides that.
LAYER_NORM = {"normalization_type": "layer_norm", "hidden_act": "gelu", "layer_norm_eps": 1e-5}

MODELS = {
    "mobilebert": (transformers.MobileBertConfig, MOBILE),
    "mobilebert with pooler": (transformers.MobileBertConfig, MOBILE | {"classifier_activation": True}),
    "mobilebert without pooler": (transformers.MobileBertConfig, MOBILE | {"classifier_activation": False}),
    "mobilebert-tiny": (
        transformers.MobileBertConfig,
        MOBILE | {"use_bottleneck_attention": True, "key_query_shared_bottleneck": False},
    ),
    "mobilebert-without-opt": (transformers.MobileBertConfig, MOBILE | LAYER_NORM),
    "mobilebert, one feed-forward": (transformers.MobileBertConfig, MOBILE | {"num_feedforward_networks": 1}),
    "mobilebert, no trigram": (transformers.MobileBertConfig, MOBILE | {"trigram_input": False}),
    "bert": (transformers.BertConfig, TINY),
    "bert, tanh gelu": (transformers.BertConfig, TINY | {"hidden_act": "gelu_new"}),
    "tinybert, an odd head size": (
        transformers.BertConfig,
        TINY | {"hidden_size": 39, "num_attention_heads": 13, "num_hidden_layers": 2},
    ),
    "roberta": (transformers.RobertaConfig, TINY | {"type_vocab_size": 2, "pad_token_id": 1}),
    "distilbert": (
        transformers.DistilBertConfig,
        {"vocab_size": parity.VOCABULARY, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 24}
        | {"max_position_embeddings": 20},
    ),
    "albert": (transformers.AlbertConfig, TINY | {"embedding_size": 12}),
    "albert, two groups": (
        transformers.AlbertConfig,
        TINY | {"embedding_size": 12, "num_hidden_layers": 5, "num_hidden_groups": 2},
    ),
    "albert, three blocks a group": (
        transformers.AlbertConfig,
        TINY | {"embedding_size": 12, "num_hidden_groups": 2, "inner_group_num": 3},
    ),
    "xlnet": (
        transformers.XLNetConfig,
        {"vocab_size": parity.VOCABULARY, "d_model": 32, "n_layer": 3, "n_head": 4, "d_inner": 24},
    ),
    "roberta, padding id 3": (transformers.RobertaConfig, TINY | {"type_vocab_size": 2, "pad_token_id": 3}),
}


def oracle(name: str) -> transformers.PreTrainedModel:
    config_class, settings = MODELS[name]
    model = transformers.AutoModel.from_config(config_class(**settings), attn_implementation="eager")
    return parity.redraw(model)


def reference(encoder):
    """Let the trigram read padding, as transformers does."""
    if hasattr(encoder.embeddings, "mask_padding"):
        encoder.embeddings.mask_padding = False
    return encoder


@pytest.mark.parametrize("name", MODELS)
def test_same_numbers_as_transformers(name: str) -> None:
    theirs = oracle(name)
    encoder = reference(parity.ours(theirs))
    assert parity.encoder_error(theirs, encoder, parity.batch()) < parity.TOLERANCE


@pytest.mark.parametrize(
    "name",
    [
        "mobilebert with pooler",
        "mobilebert-tiny",
        "mobilebert-without-opt",
        "bert",
        "roberta",
        "distilbert",
        "albert, three blocks a group",
    ],
)
def test_every_weight_matters(name: str) -> None:
    """Nudge one weight tensor after the other: the comparison must notice each."""
    theirs = oracle(name)
    encoder = reference(parity.ours(theirs))
    inputs = parity.batch()
    with torch.no_grad():
        expected = theirs(**inputs.for_model(theirs), output_hidden_states=True)
    blind = []
    for parameter_name, parameter in encoder.named_parameters():
        if parameter_name.endswith("key.bias"):
            continue  # it adds the same to all scores of a query, which the softmax takes out again
        saved = parameter.data.clone()
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            given = encoder(**inputs.arguments(), feature_maps=True)
        parameter.data = saved
        worst = max(
            parity.error(parity.real(a, inputs.attention_mask), parity.real(b, inputs.attention_mask))
            for a, b in zip(expected.hidden_states, given.feature_maps, strict=True)
        )
        if given.pooled is not None:
            worst = max(worst, parity.error(expected.pooler_output, given.pooled))
        if worst < 10 * parity.TOLERANCE:
            blind.append(parameter_name)
    assert not blind


@pytest.mark.parametrize("name", MODELS)
def test_saved_here_loads_there(name: str, tmp_path) -> None:
    theirs = oracle(name)
    encoder = reference(parity.ours(theirs))
    save(encoder, tmp_path)
    again, notes = transformers.AutoModel.from_pretrained(
        tmp_path, attn_implementation="eager", output_loading_info=True
    )
    assert not notes["missing_keys"]
    assert not notes["unexpected_keys"]
    assert parity.encoder_error(again.eval(), encoder, parity.batch(seed=5)) < parity.TOLERANCE


@pytest.mark.parametrize("name", ["mobilebert", "bert", "roberta", "distilbert", "albert"])
def test_word_vectors_positions_and_head_mask_in(name: str) -> None:
    theirs = oracle(name)
    encoder = reference(parity.ours(theirs))
    inputs = parity.batch()
    vectors = theirs.get_input_embeddings()(inputs.input_ids)
    positions = torch.arange(13).flip(0)
    with torch.no_grad():
        expected = theirs(
            inputs_embeds=vectors, attention_mask=inputs.attention_mask, position_ids=positions.expand(1, -1)
        )
        given = encoder(inputs_embeds=vectors, attention_mask=inputs.attention_mask, position_ids=positions)
    mask = inputs.attention_mask
    assert (
        parity.error(parity.real(expected.last_hidden_state, mask), parity.real(given.last, mask))
        < parity.TOLERANCE
    )


def test_reference_padding_is_a_config_switch(tmp_path) -> None:
    theirs = oracle("mobilebert")
    encoder = parity.ours(theirs)
    inputs = parity.batch()
    assert parity.encoder_error(theirs, encoder, inputs) > 1e-3, "padding must not be read by default"
    copy = build_encoder(replace(encoder.config, trigram_padding="reference"))
    copy.load_state_dict(encoder.state_dict())
    assert parity.encoder_error(theirs, copy.eval(), inputs) < parity.TOLERANCE
    save(copy, tmp_path)
    assert load(tmp_path).config.trigram_padding == "reference"
