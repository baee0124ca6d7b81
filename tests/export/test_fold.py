"""A folded model gives the same numbers with fewer operations, whatever its weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import parity
from pocketbert.errors import InputError
from pocketbert.export import fold
from pocketbert.heads import build, load
from pocketbert.model import preset
from pocketbert.model.layers import NoNorm

NANO = replace(preset("mobilebert-nano"), vocab_size=parity.VOCABULARY, num_hidden_layers=3)
CONFIGS = {
    "mobilebert": NANO,
    "tiny": replace(NANO, attention_input="bottleneck"),
    "ib-bert without norms": replace(NANO, attention_input="block", hidden_act="gelu"),
    "without trigram": replace(NANO, trigram_input=False),
    "without opt": replace(NANO, normalization_type="layer_norm", hidden_act="gelu"),
    "ib-bert": replace(preset("ib-bert-nano"), vocab_size=parity.VOCABULARY),
    "bert": replace(preset("bert-nano"), vocab_size=parity.VOCABULARY),
    "pruned": replace(NANO, pruned_heads=((0, (1, 3)), (2, (0,)))),
}


def worst(model, folded, inputs=None, names=("last",)) -> float:
    """The largest relative error, each output relative to its largest value, on real tokens."""
    inputs = inputs or parity.batch()
    with torch.no_grad():
        expected, given = model(**inputs.arguments()), folded(**inputs.arguments())
    errors = []
    for name in names:
        wanted, found = getattr(expected, name), getattr(given, name)
        if wanted.shape[:2] == inputs.input_ids.shape:
            wanted, found = (parity.real(value, inputs.attention_mask) for value in (wanted, found))
        errors.append(parity.error(wanted, found))
    return max(errors)


def no_norms(model) -> int:
    return sum(isinstance(part, NoNorm) for part in model.modules())


@pytest.mark.parametrize("name", CONFIGS)
def test_folding_changes_nothing_in_double_precision(name) -> None:
    encoder = parity.redraw(build(CONFIGS[name])).double()
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    folded = fold(encoder)
    assert worst(encoder, folded, names=("last", "pooled")) < 1e-11
    assert worst(encoder, folded, parity.batch(1, 1), names=("last", "pooled")) < 1e-11
    assert all(torch.equal(before[key], value) for key, value in encoder.state_dict().items()), (
        "the model stays"
    )
    assert no_norms(folded) == (1 if no_norms(encoder) else 0), "only the way back at the end is left"


@pytest.mark.parametrize(
    ("head", "names", "norms"),
    [
        ("question-answering", ("start_logits", "end_logits"), 0),
        ("tags", ("logits",), 0),
        ("masked-lm", ("logits",), 0),
        ("classification", ("logits",), 1),
        ("pretraining", ("masked_lm_logits", "next_sentence_logits"), 1),
    ],
)
def test_the_last_scale_goes_into_the_head_where_it_can(head, names, norms) -> None:
    model = parity.redraw(build(NANO, head)).double()
    folded = fold(model)
    assert worst(model, folded, names=names) < 1e-11
    assert no_norms(folded) == norms


def test_zero_and_extreme_norm_weights_have_a_fallback() -> None:
    encoder = parity.redraw(build(NANO)).double()
    block = encoder.blocks[1]
    block.attention_norm.weight.data[3] = 0
    block.feed_forward_norm[0].weight.data[:2] = torch.tensor([1e-20, 1e15])
    block.output_norm.weight.data[[0, 5]] = 0
    block.bottleneck.norm.weight.data[2] = 0
    encoder.embeddings.norm.weight.data[7] = 0
    encoder.blocks[0].output_norm.weight.data[1] = -0.5
    folded = fold(encoder)
    assert worst(encoder, folded) < 1e-11
    kept = folded.blocks[1].output_norm.weight
    assert kept[0] == kept[5] == 0
    assert kept[1] == 1


def test_a_nudged_weight_is_seen() -> None:
    encoder = parity.redraw(build(NANO)).double()
    folded = fold(encoder)
    folded.blocks[0].attend.weight.data[0, 0] += 1e-4
    assert worst(encoder, folded) > 1e-9


def test_a_folded_model_says_what_it_cannot_show() -> None:
    for folded in (fold(build(NANO)), fold(build(CONFIGS["bert"]))):
        with pytest.raises(InputError, match="folded from"):
            folded(torch.tensor([[1, 2]]), attentions=True)


def test_trained_weights_in_single_precision(unpacked) -> None:
    encoder = load(unpacked("weights") / "mobilebert-uncased-128", head="none").eval()
    folded = fold(encoder)
    assert next(folded.parameters()).dtype == torch.float32
    assert worst(encoder, folded, parity.batch(2, 40)) < 1e-5
    assert (
        worst(encoder.double(), folded.double(), parity.batch(2, 40)) < 1e-6
    )  # weights were rounded once more
