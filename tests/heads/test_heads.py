"""Heads by themselves: chosen positions, pooling, and errors."""

from __future__ import annotations

import pytest
import torch

import parity
from pocketbert.errors import InputError
from pocketbert.heads import Model, PoolingHead, build, load, pool, save
from pocketbert.model import ARCHITECTURES


def test_chosen_positions_give_the_same_logits() -> None:
    model = parity.redraw(build("mobilebert-nano", "masked-lm"))
    ids = torch.randint(1, 99, (2, 7))
    positions = torch.tensor([[1, 4], [6, 0]])
    with torch.no_grad():
        everywhere = model(ids).logits
        chosen = model(ids, positions=positions).logits
    assert chosen.shape[:2] == (2, 2)
    assert torch.allclose(chosen[1, 0], everywhere[1, 6], atol=1e-5)
    assert torch.allclose(chosen[0, 1], everywhere[0, 4], atol=1e-5)


def test_the_masked_lm_head_shares_the_word_table() -> None:
    model = build("mobilebert-nano", "masked-lm")
    shapes = {name: tuple(parameter.shape) for name, parameter in model.head.named_parameters()}
    assert shapes["extra"] == (16, 30_522)
    model(torch.tensor([[5, 6, 7]]), labels=torch.tensor([[-100, 9, -100]])).loss.backward()
    gradient = model.encoder.word_table.grad
    assert gradient[9].abs().sum() > 0, "the output side must reach the word table"


@pytest.mark.parametrize("how", ["mean", "cls", "max", "mean-sqrt"])
def test_pooling_never_reads_padding(how) -> None:
    values = torch.randn(1, 3, 4) - 5
    padded = torch.cat([values, torch.full((1, 2, 4), 99.0)], dim=1)
    mask = torch.tensor([[1, 1, 1, 0, 0]])
    expected = {
        "mean": values.mean(1),
        "cls": values[:, 0],
        "max": values.amax(1),
        "mean-sqrt": values.sum(1) / 3**0.5,
    }[how]
    assert torch.allclose(pool(padded, mask, how), expected, atol=1e-6)


def test_sentence_vectors_from_an_encoder(tmp_path) -> None:
    encoder = build("bert-nano").eval()
    model = Model(encoder, PoolingHead("mean"))
    inputs = parity.batch()
    vectors = model(**inputs.arguments()).vectors
    assert vectors.shape == (4, 32)
    save(model, tmp_path)  # without weights of its own, the head leaves a bare encoder
    assert torch.equal(
        Model(load(tmp_path).eval(), PoolingHead("mean"))(**inputs.arguments()).vectors, vectors
    )


def test_bad_use_of_heads_says_what_to_do() -> None:
    ids = torch.tensor([[1, 2, 3]])
    with pytest.raises(InputError, match="together"):
        build("bert-nano", "question-answering")(ids, start_positions=torch.tensor([1]))
    with pytest.raises(InputError, match=r"\(batch, choices, length\)"):
        build("bert-nano", "choice")(ids)
    with pytest.raises(InputError, match="at least one label"):
        build("bert-nano", "tags", labels=[])
    from pocketbert.heads import ClassificationHead
    from pocketbert.model import build_encoder

    unpooled = Model(build_encoder("bert-nano", pooler=False), ClassificationHead(32, 2), "classification")
    with pytest.raises(InputError, match="without a pooler"):
        unpooled(ids)


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_padding_does_not_change_the_span_loss(family) -> None:
    model = parity.redraw(build(f"{family}-nano", "question-answering"))
    inputs = parity.batch()
    gold = torch.tensor([3, 2, 1, 0])
    together = model(**inputs.arguments(), start_positions=gold, end_positions=gold + 1).loss
    alone = []
    for row, length in enumerate(inputs.attention_mask.sum(1).tolist()):
        cut = {name: value[row : row + 1, :length] for name, value in inputs.arguments().items()}
        alone.append(
            model(**cut, start_positions=gold[row : row + 1], end_positions=gold[row : row + 1] + 1).loss
        )
    assert torch.allclose(together, torch.stack(alone).mean(), atol=1e-5)
