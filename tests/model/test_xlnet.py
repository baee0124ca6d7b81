"""What is special about XLNet: distances, two streams, memory, and padding on either side."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import transformers

import parity
from pocketbert.errors import ConfigError, InputError
from pocketbert.heads import build, load, save
from pocketbert.model import XLNetConfig, build_encoder, preset
from pocketbert.model.xlnet import Memory, guesses

TINY = {"vocab_size": parity.VOCABULARY, "d_model": 32, "n_layer": 3, "n_head": 4, "d_inner": 24}
NANO = replace(preset("xlnet-nano"), vocab_size=parity.VOCABULARY)


def oracle(kind=transformers.XLNetModel, **settings) -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    return parity.redraw(kind(transformers.XLNetConfig(**TINY, **settings)))


def permutations(inputs: parity.Batch, targets: int = 3, seed: int = 0) -> dict[str, torch.Tensor]:
    """A random order in each row: a token sees those before it, and the last of the real ones are the targets."""
    generator = torch.Generator().manual_seed(seed)
    rows, length = inputs.input_ids.shape
    mask = torch.zeros(rows, length, length)
    mapping = torch.zeros(rows, targets, length)
    for row in range(rows):
        real = inputs.attention_mask[row].nonzero().flatten()
        order = real[torch.randperm(len(real), generator=generator)]
        rank = torch.full((length,), length)
        rank[order] = torch.arange(len(order))
        mask[row] = (rank[None, :] >= rank[:, None]).float()
        mapping[row, torch.arange(targets), order[-targets:]] = 1
    return {"perm_mask": mask, "target_mapping": mapping}


def stream_error(theirs, encoder, inputs: parity.Batch, extra, their_memory=None, memory=None) -> float:
    """The worst error over the feature maps and attention maps of both streams, and by the fused path."""
    with torch.no_grad():
        expected = theirs(
            **inputs.arguments(),
            **extra,
            mems=their_memory,
            output_hidden_states=True,
            output_attentions=True,
        )
        given = encoder(**inputs.arguments(), **extra, memory=memory, feature_maps=True, attentions=True)
        fused = encoder(**inputs.arguments(), **extra, memory=memory)
    mask = inputs.attention_mask
    places = extra["target_mapping"].argmax(-1)
    errors = [parity.error(expected.last_hidden_state, value.targets) for value in (given, fused)]
    for ours, hers in (
        (given.feature_maps, expected.hidden_states[0::2]),
        (given.target_maps, expected.hidden_states[1::2]),
    ):
        at = (lambda x: parity.real(x, mask)) if ours is given.feature_maps else (lambda x: x)
        errors += [parity.error(at(a), at(b)) for a, b in zip(hers, ours, strict=True)]
    for (words, queries), own, own_queries in zip(
        expected.attentions, given.attentions, given.target_attentions, strict=True
    ):
        errors.append(
            parity.error(parity.real(words.transpose(1, 2), mask), parity.real(own.transpose(1, 2), mask))
        )
        rows = torch.arange(len(places))[:, None]
        errors.append(
            parity.error(queries.transpose(1, 2)[rows, places], own_queries.transpose(1, 2)[rows, places])
        )
    return max(errors)


@pytest.mark.parametrize("side", ["left", "right"])
def test_same_numbers_with_permutations(side) -> None:
    theirs = oracle()
    encoder = parity.ours(theirs)
    inputs = parity.batch().left_padded() if side == "left" else parity.batch()
    extra = permutations(inputs)
    assert stream_error(theirs, encoder, inputs, extra) < parity.TOLERANCE
    assert stream_error(theirs, encoder, inputs, extra | {"perm_mask": None}) < parity.TOLERANCE


def test_every_weight_matters() -> None:
    theirs = oracle()
    encoder = parity.ours(theirs)
    inputs = parity.batch().left_padded()
    extra = permutations(inputs)
    for name, parameter in encoder.named_parameters():
        saved = parameter.data.clone()
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
        assert stream_error(theirs, encoder, inputs, extra) > 10 * parity.TOLERANCE, name
        parameter.data = saved


@pytest.mark.parametrize(
    "settings",
    [{}, {"mem_len": 5}, {"mem_len": 6, "reuse_len": 4}, {"clamp_len": 3}, {"mem_len": None}],
    ids=str,
)
def test_same_numbers_with_memory(settings) -> None:
    """Three sequences in a row, each with the memory of those before."""
    theirs = oracle(**settings)
    encoder = parity.ours(theirs)
    assert encoder.config.mem_len == (settings.get("mem_len", 512) or 0)
    their_memory = memory = None
    for seed in range(3):
        inputs = parity.batch(rows=2, seed=seed)
        inputs = replace(inputs, attention_mask=torch.ones_like(inputs.input_ids))
        extra = permutations(inputs, seed=seed)
        assert stream_error(theirs, encoder, inputs, extra, their_memory, memory) < parity.TOLERANCE
        with torch.no_grad():
            expected = theirs(**inputs.arguments(), mems=their_memory)
            given = encoder(**inputs.arguments(), memory=memory, remember=True)
        their_memory, memory = expected.mems, given.memory
        assert parity.error(expected.last_hidden_state, given.last) < parity.TOLERANCE
        for first, second in zip(their_memory, memory.feature_maps, strict=True):
            assert parity.error(first.transpose(0, 1), second) < parity.TOLERANCE


def test_the_language_model_guesses_the_same(tmp_path) -> None:
    theirs = oracle(transformers.XLNetLMHeadModel)
    model = parity.ours(theirs)
    inputs = parity.batch().left_padded()
    extra = permutations(inputs) | {"labels": torch.randint(0, parity.VOCABULARY, (4, 3))}
    extra["labels"][1, 2] = -100
    save(model, tmp_path)
    again, notes = transformers.XLNetLMHeadModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not notes["missing_keys"]
    assert not notes["unexpected_keys"]
    for reference in (theirs, again.eval()):
        with torch.no_grad():
            expected, given = reference(**inputs.arguments(), **extra), model(**inputs.arguments(), **extra)
        assert parity.error(expected.logits, given.logits) < parity.TOLERANCE
        assert parity.error(expected.loss, given.loss) < parity.TOLERANCE


def test_padding_may_stand_on_either_side() -> None:
    inputs = parity.batch()
    turned = inputs.left_padded()
    for head in (None, "question-answering", "classification", "tags"):
        model = parity.redraw(build(NANO, head))
        with torch.no_grad():
            right, left = model(**inputs.arguments()), model(**turned.arguments())
        names = {None: ["last"], "question-answering": ["start_logits", "end_logits"]}.get(head, ["logits"])
        for name in names:
            first, second = getattr(right, name), getattr(left, name)
            if head != "classification":
                first, second = (
                    parity.real(first, inputs.attention_mask),
                    parity.real(second, turned.attention_mask),
                )
            assert parity.error(first, second) < parity.TOLERANCE, head


def test_padding_in_the_memory_is_not_read() -> None:
    encoder = parity.redraw(build_encoder(NANO))
    first, then = parity.batch(rows=2).left_padded(), parity.batch(rows=2, seed=1)
    then = replace(then, attention_mask=torch.ones_like(then.attention_mask))
    with torch.no_grad():
        memory = encoder(**first.arguments(), remember=True).memory
        together = encoder(**then.arguments(), memory=memory).last[1]
        alone = {name: value[1:, -10:] for name, value in first.arguments().items()}
        memory = encoder(**alone, remember=True).memory
        apart = encoder(**{name: value[1:] for name, value in then.arguments().items()}, memory=memory).last[
            0
        ]
    assert parity.error(apart, together) < parity.TOLERANCE


def test_a_target_without_anything_to_see_is_told_nothing() -> None:
    """transformers lets it look everywhere then, at its own word and at padding too."""
    encoder = parity.redraw(build_encoder(NANO))
    mapping = torch.zeros(1, 1, 3)
    mapping[0, 0, 1] = 1
    hidden = torch.ones(1, 3, 3)
    results = []
    for ids in ([[5, 6, 7]], [[8, 9, 10]]):
        with torch.no_grad():
            output = encoder(torch.tensor(ids), perm_mask=hidden, target_mapping=mapping, attentions=True)
        results.append(output.targets)
        assert all(seen.abs().max() == 0 for seen in output.target_attentions)
    assert torch.equal(*results)


def test_guesses_depend_on_all_words_but_their_own() -> None:
    model = parity.redraw(build(NANO, "permutation-lm"))
    ids = torch.tensor([[5, 6, 7, 8, 9, 10]])
    arguments = guesses(torch.tensor([[1, 4]]), length=6)
    with torch.no_grad():
        plain = model(ids, **arguments).logits
        for place in range(6):
            changed = ids.clone()
            changed[0, place] = 50
            same = torch.equal(plain, model(changed, **arguments).logits)
            assert same == (place in (1, 4))
    assert plain.shape == (1, 2, parity.VOCABULARY)


def test_gradients_of_both_streams_survive_checkpointing() -> None:
    model = parity.redraw(build(replace(NANO, hidden_dropout_prob=0.0), "permutation-lm")).train()
    inputs = parity.batch()
    extra = permutations(inputs) | {"labels": torch.randint(0, parity.VOCABULARY, (4, 3))}
    found = []
    for again in (False, True):
        model.encoder.gradient_checkpointing = again
        model.zero_grad()
        model(**inputs.arguments(), **extra).loss.backward()
        found.append([parameter.grad.clone() for parameter in model.parameters()])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*found, strict=True))


def test_pruned_heads_survive_a_folder(tmp_path) -> None:
    encoder = parity.redraw(build_encoder(NANO))
    encoder.prune_heads({0: [1], 1: [0, 3]})
    save(encoder, tmp_path)
    again = load(tmp_path).eval()
    inputs = parity.batch()
    assert torch.equal(encoder(**inputs.arguments()).last, again(**inputs.arguments()).last)


def test_bad_input_says_what_is_allowed() -> None:
    encoder = build_encoder(NANO)
    ids = torch.tensor([[1, 2, 3]])
    for message, arguments in {
        "distances, not positions": {"position_ids": ids},
        r"perm_mask must have the shape \(1, 3, 3\)": {"perm_mask": torch.zeros(1, 3)},
        r"target_mapping must have the shape \(1, targets, 3\)": {"target_mapping": torch.zeros(1, 2, 4)},
        "memory is of 1 blocks": {"memory": Memory((torch.zeros(1, 2, 32),), torch.ones(1, 2))},
    }.items():
        with pytest.raises(InputError, match=message):
            encoder(ids, **arguments)


def test_configs_say_what_is_allowed() -> None:
    theirs = transformers.XLNetConfig()
    ours = XLNetConfig.from_hf({})
    assert ours.to_hf().items() <= (theirs.to_dict() | {"model_type": "xlnet", "reuse_len": 0}).items()
    with pytest.raises(ConfigError, match="attn_type is 'uni'; only 'bi'"):
        XLNetConfig.from_hf({"attn_type": "uni"})
    with pytest.raises(ConfigError, match="mem_len is -1"):
        replace(NANO, mem_len=-1)
