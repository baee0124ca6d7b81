"""IB-BERT runs in no other maintained library: here it is checked against a short forward pass in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import erf

import parity
from pocketbert.model import MobileBertConfig, build_encoder

CONFIG = MobileBertConfig(
    vocab_size=parity.VOCABULARY,
    embedding_size=6,
    hidden_size=16,
    intra_bottleneck_size=24,
    intermediate_size=40,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_feedforward_networks=1,
    attention_input="block",
    normalization_type="layer_norm",
    hidden_act="gelu",
    max_position_embeddings=20,
    classifier_activation=True,
)


def numpy_forward(state: dict, ids: np.ndarray, segments: np.ndarray) -> tuple[list, list, np.ndarray]:
    """One unpadded row, written from the paper alone; no part of the package is used."""

    def linear(x, name):
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def layer_norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return (
            centred / np.sqrt((centred**2).mean(-1, keepdims=True)) * state[f"{name}.weight"]
            + state[f"{name}.bias"]
        )

    words = state["embeddings.word.weight"][ids]
    framed = np.vstack([np.zeros(6), words, np.zeros(6)])
    trigrams = np.hstack([framed[2:], framed[1:-1], framed[:-2]])
    x = linear(trigrams, "embeddings.transform")
    x = x + state["embeddings.position.weight"][: len(ids)] + state["embeddings.segment.weight"][segments]
    x = layer_norm(x, "embeddings.norm")
    maps, attentions = [x], []
    for number in range(CONFIG.num_hidden_layers):
        block = f"blocks.{number}"
        inner = layer_norm(linear(x, f"{block}.bottleneck.linear"), f"{block}.bottleneck.norm")
        heads = []
        probabilities = []
        for head in range(4):
            part = slice(head * 6, head * 6 + 6)
            query, key, value = (
                linear(x, f"{block}.attention.{which}")[:, part] for which in ("query", "key", "value")
            )
            scores = query @ key.T / np.sqrt(6)
            exponents = np.exp(scores - scores.max(-1, keepdims=True))
            probabilities.append(exponents / exponents.sum(-1, keepdims=True))
            heads.append(probabilities[-1] @ value)
        attentions.append(np.stack(probabilities))
        inner = layer_norm(
            linear(np.hstack(heads), f"{block}.attention.output") + inner, f"{block}.attention_norm"
        )
        up = linear(inner, f"{block}.feed_forward.0.up")
        up = up * (1 + erf(up / np.sqrt(2))) / 2
        inner = layer_norm(linear(up, f"{block}.feed_forward.0.down") + inner, f"{block}.feed_forward_norm.0")
        x = layer_norm(linear(inner, f"{block}.output") + x, f"{block}.output_norm")
        maps.append(x)
    return maps, attentions, np.tanh(linear(x[0], "pooler.dense"))


def worst_error(encoder) -> float:
    state = {name: value.double().numpy() for name, value in encoder.state_dict().items()}
    inputs = parity.batch()
    with torch.no_grad():
        given = encoder(**inputs.arguments(), feature_maps=True, attentions=True)
    errors = []
    for row, length in enumerate(inputs.attention_mask.sum(1).tolist()):
        maps, attentions, pooled = numpy_forward(
            state, inputs.input_ids[row, :length].numpy(), inputs.token_type_ids[row, :length].numpy()
        )
        errors += [
            parity.error(torch.from_numpy(expected), feature_map[row, :length].double())
            for expected, feature_map in zip(maps, given.feature_maps, strict=True)
        ]
        errors += [
            parity.error(torch.from_numpy(expected), attention[row, :, :length, :length].double())
            for expected, attention in zip(attentions, given.attentions, strict=True)
        ]
        errors.append(parity.error(torch.from_numpy(pooled), given.pooled[row].double()))
    return max(errors)


def test_same_numbers_as_numpy() -> None:
    assert worst_error(parity.redraw(build_encoder(CONFIG))) < parity.TOLERANCE


@pytest.mark.parametrize("detail", ["trigram order", "attention input", "residual"])
def test_a_wrong_detail_is_noticed(detail: str) -> None:
    encoder = parity.redraw(build_encoder(CONFIG))
    if detail == "trigram order":
        encoder.embeddings.transform.register_forward_pre_hook(
            lambda _, arguments: (arguments[0].unflatten(-1, (3, 6)).flip(-2).flatten(-2),)
        )
    elif detail == "attention input":
        encoder.blocks[1].attention.register_forward_pre_hook(
            lambda _, arguments: (arguments[0] * 1.01, *arguments[1:])
        )
    else:
        encoder.blocks[2].bottleneck.register_forward_hook(lambda _, __, result: result * 1.01)
    assert worst_error(encoder) > 100 * parity.TOLERANCE
