"""Optimisers: what decays, what the rates are, and LAMB against a plain numpy writing of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from pocketbert.errors import InputError
from pocketbert.train import optimisers, parts, schedule
from train import toy


def test_only_matrices_decay(tmp_path: Path) -> None:
    model = toy.fresh_model()
    groups = parts.groups(model, toy.make_settings(tmp_path, weight_decay=0.1), by_part=False)
    names = {id(weight): name for name, weight in model.named_parameters()}
    decayed = {names[id(weight)] for group in groups for weight in group["params"] if group["weight_decay"]}
    expected = {f"encoder.blocks.{block}.dense.weight" for block in range(3)}
    assert decayed == expected | {"encoder.embeddings.words.weight", "head.weight"}
    optimiser = optimisers.make(groups, toy.make_settings(tmp_path))
    assert {group["eps"] for group in optimiser.param_groups} == {1e-8}


def test_rates_fall_with_the_layers(tmp_path: Path) -> None:
    groups = parts.groups(toy.fresh_model(), toy.make_settings(tmp_path, layer_rate_decay=0.5), by_part=False)
    factors = {group["part"]: group["layer_factor"] for group in groups}
    assert factors == {"embeddings": 1 / 16, "block.0": 1 / 8, "block.1": 1 / 4, "block.2": 1 / 2, "head": 1}
    assert sum(len(group["params"]) for group in groups) == len(list(toy.fresh_model().parameters()))


@pytest.mark.parametrize(
    ("settings", "still"),
    [
        ({"freeze_embeddings": True}, {"embeddings"}),
        ({"freeze_layers": 2}, {"block.0", "block.1"}),
        ({"freeze_layers": 3, "freeze_embeddings": True}, {"embeddings", "block.0", "block.1", "block.2"}),
    ],
)
def test_frozen_parts_stay(tmp_path: Path, settings: dict, still: set[str]) -> None:
    model = toy.fresh_model()
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    toy.run(tmp_path, model=model, max_steps=4, **settings)
    for name, weight in model.named_parameters():
        assert weight.requires_grad
        assert torch.equal(weight, before[name]) == (parts.part_of(name) in still), name


def test_freezing_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="freeze_layers = 4, but the encoder has 3 blocks"):
        toy.run(tmp_path, freeze_layers=4)
    with pytest.raises(InputError, match=r"no encoder\.embeddings"):
        toy.run(tmp_path, model=torch.nn.Linear(2, 2), freeze_embeddings=True)
    model = toy.fresh_model().requires_grad_(False)
    with pytest.raises(InputError, match="nothing to train"):
        toy.run(tmp_path, model=model)


def test_lamb_is_what_the_paper_says() -> None:
    generator = np.random.default_rng(0)
    start = [generator.normal(size=shape) for shape in ((4, 3), (3,), (2, 2))]
    start[2] *= 0  # a weight of norm 0 has no trust ratio
    gradients = [[generator.normal(size=value.shape) for value in start] for _ in range(5)]
    rate, decay, epsilon, beta1, beta2 = 0.1, 0.01, 1e-6, 0.9, 0.999

    weights = [torch.nn.Parameter(torch.tensor(value)) for value in start]
    lamb = optimisers.Lamb(
        [
            {"params": [weights[0], weights[2]], "weight_decay": decay, "trust": True},
            {"params": [weights[1]], "weight_decay": 0.0, "trust": False},
        ],
        lr=rate,
    )
    first, second = [0 * value for value in start], [0 * value for value in start]
    for step in gradients:
        for weight, gradient in zip(weights, step, strict=True):
            weight.grad = torch.tensor(gradient)
        lamb.step()
        for number, gradient in enumerate(step):
            first[number] = beta1 * first[number] + (1 - beta1) * gradient
            second[number] = beta2 * second[number] + (1 - beta2) * gradient**2
            matrix = number != 1
            update = first[number] / (np.sqrt(second[number]) + epsilon) + decay * matrix * start[number]
            size = np.linalg.norm(start[number])
            ratio = size / np.linalg.norm(update) if matrix and size > 0 else 1.0
            start[number] = start[number] - rate * ratio * update
    for weight, expected in zip(weights, start, strict=True):
        np.testing.assert_allclose(weight.detach().numpy(), expected, rtol=1e-10, atol=1e-12)


def test_lamb_takes_the_closure_and_leaves_what_has_no_gradient() -> None:
    weights = [torch.nn.Parameter(torch.ones(2, 2)) for _ in range(2)]
    lamb = optimisers.Lamb(weights)

    def closure() -> torch.Tensor:
        loss = (weights[0] ** 2).sum()
        loss.backward()
        return loss.detach()

    assert float(lamb.step(closure)) == 4.0
    assert torch.equal(weights[1], torch.ones(2, 2))
    assert not torch.equal(weights[0], torch.ones(2, 2))


def test_the_schedule() -> None:
    rates = [schedule.linear(step, total=10, warmup=4) for step in range(10)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert schedule.linear(9, total=10, warmup=0, end=0.5) == pytest.approx(0.55)
    assert [schedule.constant(step, warmup=2) for step in range(4)] == [0.5, 1, 1, 1]


def test_warm_up_longer_than_the_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="warmup_steps = 99, but the whole run has 30 steps"):
        toy.run(tmp_path, warmup_steps=99)


def test_a_part_at_rate_zero_is_left_alone(tmp_path: Path) -> None:
    """As in progressive transfer: a block waits for its stage, its moments too."""
    model = toy.fresh_model()
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    stages = {"block.1": 0.0, "block.0": 0.1}
    extra = {"rates": lambda step, part: stages.get(part, 1.0)}
    toy.run(tmp_path, model=model, max_steps=3, weight_decay=0.5, extra=extra)
    moved = {
        parts.part_of(name) for name, weight in model.named_parameters() if not weight.equal(before[name])
    }
    assert moved == {"embeddings", "block.0", "block.2", "head"}
    from pocketbert.train.state import read_folder

    moments = read_folder(tmp_path / "checkpoint-3").tensors["optimiser"]
    assert not any("blocks.1." in name for name in moments)
    assert any("blocks.0." in name for name in moments)


def test_relative_steps_do_not_know_the_scale_of_channels() -> None:
    """A network and the same function with other scales between its layers learn the same thing."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(32, 6, generator=generator)
    wanted = torch.randn(32, 3, generator=generator)
    weights = [torch.randn(8, 6, generator=generator), torch.randn(3, 8, generator=generator)]
    scales = 10 ** torch.linspace(-3, 3, 8)
    scaled = [weights[0] * scales[:, None], weights[1] / scales]

    def learnt(start: list[torch.Tensor], optimiser: type[torch.optim.Optimizer]) -> torch.Tensor:
        up, down = (torch.nn.Parameter(weight.clone()) for weight in start)
        moving = optimiser([up, down], lr=1e-2, weight_decay=0.0)
        for _ in range(50):
            output = torch.relu(inputs @ up.T) @ down.T
            moving.zero_grad()
            (output - wanted).square().mean().backward()
            moving.step()
        return output.detach()

    plain, other = (learnt(start, optimisers.RelativeAdamW) for start in (weights, scaled))
    begun = torch.relu(inputs @ weights[0].T) @ weights[1].T
    assert (plain - wanted).square().mean() < 0.5 * (begun - wanted).square().mean()
    assert torch.allclose(plain, other, atol=0.05)
    assert not torch.allclose(*(learnt(start, torch.optim.AdamW) for start in (weights, scaled)), atol=0.5)


def test_relative_steps_are_a_share_of_the_weights() -> None:
    weight = torch.nn.Parameter(torch.tensor([[1.0, 10.0], [100.0, 1000.0]]))
    nothing = torch.nn.Parameter(torch.zeros(2))
    moving = optimisers.RelativeAdamW([weight, nothing], lr=0.01, weight_decay=0.0)
    before = weight.detach().clone()
    (weight.sum() - nothing.sum()).backward()
    moving.step()
    assert torch.allclose(weight.detach(), 0.99 * before, rtol=1e-4)
    assert torch.allclose(nothing.detach(), torch.full((2,), 1e-5))


def test_relative_steps_need_whole_tensors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no optim = relative"):
        toy.make_settings(tmp_path, optim="relative", sharding="full")
