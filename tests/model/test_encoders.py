"""What every encoder promises: padding and batching change nothing, heads go, vocabularies grow, totals are exact."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import parity
from pocketbert.errors import ConfigError, InputError
from pocketbert.heads import build
from pocketbert.model import PRESETS, MobileBertConfig, build_encoder, layers, preset
from pocketbert.model.measure import measure

NANO = [
    "mobilebert-nano",
    "ib-bert-nano",
    "bert-nano",
    "roberta-nano",
    "distilbert-nano",
    "albert-nano",
    "xlnet-nano",
]
OWN_WEIGHTS = [
    name for name in NANO if name != "albert-nano"
]  # a block each; for shared ones see test_albert.py

# Encoder parameters, with the pooler where the model has one, and billions of operations at 128 tokens.
TOTALS = {
    "mobilebert": (24_581_888, 5.39),
    "mobilebert-tiny": (15_485_696, 3.07),
    "mobilebert-without-opt": (24_581_888, 5.39),
    "ib-bert-large": (294_467_840, 75.7),
    "ib-bert-bench": (5_131_264, 1.26),
    "mobilebert-bench": (889_216, 0.1),
    "bert-base": (109_482_240, 22.35),
    "bert-large": (335_141_888, 78.9),
    "tinybert-4": (14_350_248, 1.24),
    "tinybert-6": (66_955_008, 11.17),
    "mobilebert-nano": (504_768, None),
    "ib-bert-nano": (558_624, None),
    "bert-nano": (999_072, None),
    "roberta-base": (124_645_632, 22.35),
    "roberta-large": (355_359_744, 78.9),
    "roberta-nano": (1_630_880, None),
    "distilbert-base": (66_362_880, 11.17),
    "distilbert-nano": (997_952, None),
    "albert-base": (11_683_584, 22.35),
    "albert-large": (17_683_968, 78.9),
    "albert-nano": (492_256, None),
    "xlnet-base": (116_718_336, 26.58),
    "xlnet-large": (360_268_800, 93.4),
    "xlnet-nano": (1_043_232, None),
}


@pytest.fixture(params=NANO)
def encoder(request):
    return parity.redraw(build_encoder(request.param))


@pytest.mark.parametrize("name", PRESETS)
def test_parameter_totals(name) -> None:
    parameters, billions = TOTALS[name]
    found = measure(preset(name), length=128)
    assert found.parameters == parameters
    assert found.parameters == found.embeddings + sum(found.blocks) + found.pooler
    assert found.blocks[0] == sum(found.block.values())
    if billions is not None:
        assert found.flops / 1e9 == pytest.approx(billions, abs=0.06)


@pytest.mark.parametrize(
    ("name", "head", "total"),
    [
        ("mobilebert", "question-answering", 24_582_914),
        ("mobilebert", "pretraining", 36_597_564),
        ("mobilebert-tiny", "pretraining", 27_501_372),
        ("ib-bert-large", "pretraining", 306_483_516),
        ("bert-base", "pretraining", 110_106_428),
        ("bert-large", "pretraining", 336_226_108),
    ],
)
def test_parameter_totals_with_heads(name, head, total) -> None:
    with torch.device("meta"):
        model = build(name, head)
    assert sum(parameter.numel() for parameter in model.parameters()) == total


def test_the_unshared_layout_has_the_published_size() -> None:
    config = MobileBertConfig(attention_input="block")
    assert measure(config).parameters == 25_359_104


def test_padding_changes_nothing(encoder) -> None:
    inputs = parity.batch()
    with torch.no_grad():
        together = encoder(**inputs.arguments(), feature_maps=True, attentions=True)
        fused = encoder(**inputs.arguments())
        for row, length in enumerate(inputs.attention_mask.sum(1).tolist()):
            alone = encoder(
                inputs.input_ids[row : row + 1, :length],
                token_type_ids=inputs.token_type_ids[row : row + 1, :length],
                feature_maps=True,
                attentions=True,
            )
            for a, b in zip(alone.feature_maps, together.feature_maps, strict=True):
                assert parity.error(a[0], b[row, :length]) < parity.TOLERANCE
            for a, b in zip(alone.attentions, together.attentions, strict=True):
                assert parity.error(a[0], b[row, :, :length, :length]) < parity.TOLERANCE
            assert parity.error(alone.last[0], fused.last[row, :length]) < parity.TOLERANCE
            if encoder.pooler is not None:
                assert parity.error(alone.pooled[0], fused.pooled[row]) < parity.TOLERANCE


def test_what_stands_at_padding_changes_nothing(encoder) -> None:
    inputs = parity.batch()
    other = torch.where(inputs.attention_mask == 1, inputs.input_ids, 7)
    with torch.no_grad():
        first = encoder(**inputs.arguments()).last
        second = encoder(other, inputs.attention_mask, inputs.token_type_ids).last
    mask = inputs.attention_mask
    assert torch.equal(parity.real(first, mask), parity.real(second, mask))


def test_a_row_of_padding_alone_stays_finite(encoder) -> None:
    mask = torch.tensor([[1, 1, 1], [0, 0, 0]])
    assert encoder(torch.ones(2, 3, dtype=torch.long), mask).last.isfinite().all()


def test_a_single_token_has_no_neighbours() -> None:
    encoder = parity.redraw(build_encoder("mobilebert-nano"))
    embeddings = encoder.embeddings
    word = embeddings.word(torch.tensor([5]))
    expected = torch.nn.functional.linear(
        torch.cat([torch.zeros(1, 16), word, torch.zeros(1, 16)], dim=1),
        embeddings.transform.weight,
        embeddings.transform.bias,
    )
    expected = embeddings.norm(expected + embeddings.position.weight[0] + embeddings.segment.weight[0])
    given = encoder(torch.tensor([[5]]), feature_maps=True).feature_maps[0][0]
    assert parity.error(expected, given) < parity.TOLERANCE


def test_gradient_checkpointing_gives_the_same_gradients(encoder) -> None:
    inputs = parity.batch()
    encoder.train()
    for part in encoder.modules():
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0

    def gradients() -> list[torch.Tensor]:
        encoder.zero_grad()
        encoder(**inputs.arguments()).last.square().mean().backward()
        return [parameter.grad for parameter in encoder.parameters() if parameter.grad is not None]

    plain = gradients()
    encoder.gradient_checkpointing = True
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(plain, gradients(), strict=True))


@pytest.mark.parametrize("name", OWN_WEIGHTS)
def test_masking_a_head_equals_pruning_it(name) -> None:
    encoder = parity.redraw(build_encoder(name))
    inputs = parity.batch()
    mask = torch.ones(2, 4)
    mask[0, 1] = mask[1, 0] = mask[1, 3] = 0
    with torch.no_grad():
        whole = encoder(**inputs.arguments()).last
        masked = encoder(**inputs.arguments(), head_mask=mask)
        explicit = encoder(**inputs.arguments(), head_mask=mask, attentions=True)
        before = sum(parameter.numel() for parameter in encoder.parameters())
        encoder.prune_heads(mask)
        pruned = encoder(**inputs.arguments(), attentions=True)
    assert parity.error(masked.last, explicit.last) < parity.TOLERANCE
    assert parity.error(masked.last, pruned.last) < parity.TOLERANCE
    assert parity.error(whole, pruned.last) > 1e-3
    assert sum(parameter.numel() for parameter in encoder.parameters()) < before
    assert [attention.shape[1] for attention in pruned.attentions] == [3, 2]
    assert dict(encoder.config.pruned_heads) == {0: (1,), 1: (0, 3)}
    with torch.no_grad():  # a head keeps its name after others have gone
        again = encoder(**inputs.arguments(), head_mask=torch.tensor([1.0, 0, 1, 1]))
        encoder.prune_heads({1: [1]})
        assert parity.error(again.last, encoder(**inputs.arguments()).last) < parity.TOLERANCE


@pytest.mark.parametrize("name", OWN_WEIGHTS)
def test_pruning_says_what_is_allowed(name) -> None:
    encoder = build_encoder(name)
    with pytest.raises(InputError, match="at least one"):
        encoder.prune_heads({0: [0, 1, 2, 3]})
    with pytest.raises(InputError, match="blocks 0 to 1"):
        encoder.prune_heads({2: [0]})
    with pytest.raises(InputError, match=r"\(2, 4\)"):
        encoder.prune_heads(torch.ones(4))


@pytest.mark.parametrize("name", NANO)
@pytest.mark.parametrize("change", [8, -9_000])
def test_the_vocabulary_grows_and_shrinks(name, change) -> None:
    model = parity.redraw(build(name, "permutation-lm" if name == "xlnet-nano" else "masked-lm"))
    size = model.config.vocab_size + change
    ids = torch.tensor([[101, 2000, 7592, 102]])
    with torch.no_grad():
        before = model(ids).logits
        model.resize_vocabulary(size)
        after = model(ids).logits
    assert after.shape[-1] == size == model.config.vocab_size
    kept = min(size, before.shape[-1])
    assert torch.allclose(before[..., :kept], after[..., :kept], atol=1e-5)
    if change > 0:
        assert model(torch.tensor([[size - 1]])).logits.isfinite().all()
        model(ids, labels=torch.full((1, 4), size - 1)).loss.backward()


def test_bad_input_says_what_is_allowed(encoder) -> None:
    ids = torch.tensor([[1, 2, 3]])
    width = encoder.word_table.shape[1]
    for message, arguments in {
        "either input_ids or inputs_embeds": {},
        "not both": {"input_ids": ids, "inputs_embeds": torch.zeros(1, 3, width)},
        "batch, length": {"input_ids": ids[0]},
        "length of 1 or more": {"input_ids": ids[:, :0]},
        "must be integers": {"input_ids": ids.float()},
        "another tokenizer": {"input_ids": ids + 10**6},
        f"length, {width}": {"inputs_embeds": torch.zeros(1, 3, width + 1)},
        "read longer texts in windows": {"input_ids": ids.repeat(1, 50)},
        r"attention_mask must have the shape \(1, 3\)": {
            "input_ids": ids,
            "attention_mask": torch.ones(1, 2),
        },
        r"head_mask must have the shape \(4,\)": {"input_ids": ids, "head_mask": torch.ones(3)},
    }.items():
        if encoder.config.longest is None and "windows" in message:
            encoder(**arguments)  # any length will do
            continue
        with pytest.raises(InputError, match=message):
            encoder(**arguments)


def test_configs_say_what_is_allowed() -> None:
    for message, changes in {
        "num_hidden_layers is 0": {"num_hidden_layers": 0},
        "multiple of num_attention_heads": {"num_attention_heads": 5},
        "probability": {"hidden_dropout_prob": 1.5},
        "id of the vocabulary": {"pad_token_id": -1},
    }.items():
        with pytest.raises(ConfigError, match=message):
            replace(MobileBertConfig(), **changes)
    with pytest.raises(ConfigError, match="did you mean 'mobilebert-tiny'"):
        preset("mobilbert-tiny")
    with pytest.raises(ConfigError, match="is a BERT"):
        MobileBertConfig.from_hf({"use_bottleneck": False})


def test_a_config_survives_its_way_to_hugging_face_and_back() -> None:
    for config in PRESETS.values():
        assert type(config).from_hf(config.to_hf()) == config


def test_dropout_is_off_in_evaluation_and_on_in_training() -> None:
    encoder = build_encoder("ib-bert-nano")
    ids = torch.arange(1, 9)[None]
    assert torch.equal(encoder.eval()(ids).last, encoder(ids).last)
    encoder.train()
    assert not torch.equal(encoder(ids).last, encoder(ids).last)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
def test_attention_on_a_processor_is_exact_in_mixed_precision(kind: torch.dtype) -> None:
    torch.manual_seed(0)
    given = [torch.randn(2, 4, 9, 8).to(kind).requires_grad_() for _ in range(3)]
    bias = torch.zeros(2, 1, 1, 9, dtype=kind)
    bias[1, ..., 6:] = -1e4
    with torch.autocast("cpu", torch.bfloat16):
        mixed = layers.attend(*given, bias, 0.0)
    exact = layers.attend(*(each.float() for each in given), bias.float(), 0.0)
    assert mixed.dtype == torch.float32
    assert torch.equal(mixed, exact)
    mixed.sum().backward()
    assert all(each.grad is not None and each.grad.dtype == kind for each in given)
