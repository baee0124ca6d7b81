"""Leaving out blocks: the one that does nothing goes first, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import parity
from pocketbert.errors import InputError
from pocketbert.heads import Model, build, load, save
from pocketbert.model import preset
from pocketbert.transfer.removal import least_missed, with_blocks

IDS = torch.arange(40).view(2, 20) + 5


@pytest.fixture
def model() -> Model:
    """Four blocks, the third of which adds nothing to what it reads, and the first nearly nothing."""
    torch.manual_seed(0)
    model = build(replace(preset("mobilebert-nano"), num_hidden_layers=4), "question-answering").eval()
    parity.redraw(model)
    with torch.no_grad():
        for block, share in ((2, 0.0), (0, 1e-3)):
            output = model.encoder.blocks[block].output
            output.weight.mul_(share)
            output.bias.mul_(share)
            norm = model.encoder.blocks[block].output_norm
            norm.weight.fill_(1.0)
            norm.bias.fill_(0.0)
    return model


def test_blocks_go_in_the_order_in_which_they_are_missed(model: Model) -> None:
    expected = model(IDS).start_logits
    weights = [weight.clone() for weight in model.parameters()]
    gone = []

    def distance(smaller: Model) -> float:
        return float((smaller(IDS).start_logits - expected).square().mean())

    staying = least_missed(model, distance, 2, each=lambda *found: gone.append(found))
    assert staying == (1, 3)
    assert [block for block, _ in gone] == [2, 0]
    assert gone[0][1] < 1e-9 < gone[1][1]
    assert all(map(torch.equal, model.parameters(), weights))
    assert torch.equal(model(IDS).start_logits, expected)


def test_what_stays_is_a_model_like_any_other(model: Model, tmp_path: Path) -> None:
    smaller = with_blocks(model, (0, 1, 3))
    assert torch.allclose(smaller(IDS).end_logits, model(IDS).end_logits, atol=1e-6)
    assert smaller.config.num_hidden_layers == 3
    assert model.config.num_hidden_layers == 4
    save(smaller, tmp_path)
    again = load(tmp_path, head="question-answering").eval()
    assert torch.equal(again(IDS).end_logits, smaller(IDS).end_logits)
    with torch.no_grad():
        next(smaller.parameters()).add_(1)
    assert not torch.equal(next(smaller.parameters()), next(model.parameters()))


def test_what_cannot_be_left_out(model: Model) -> None:
    with pytest.raises(InputError, match="0 blocks are to stay of 4"):
        least_missed(model, lambda _: 0.0, 0)
    with pytest.raises(InputError, match="rising numbers from 0 to 3"):
        with_blocks(model, (1, 4))
    shared = build("albert-nano", "question-answering")
    with pytest.raises(InputError, match="share their weights"):
        least_missed(shared, lambda _: 0.0, 1)
