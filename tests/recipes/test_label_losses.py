"""The losses of the recipes with labels, against sums by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from pocketbert.recipes._sentences import Objective, label_weights
from pocketbert.recipes.classify import Settings
from pocketbert.tasks.classify.examples import Example, Scheme


class Fixed(torch.nn.Module):
    """A model whose logits are known."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, *_: torch.Tensor):
        return self


def loss(problem, logits, labels, *, soft=None, weights=None, **changes) -> float:
    settings = Settings(
        model="x", train_file=("x",), text="x", label="x", output_dir=Path("x"), temperature=1.0, **changes
    )
    batch = {"input_ids": None, "attention_mask": None, "token_type_ids": None, "labels": labels}
    batch |= {} if soft is None else {"soft": soft}
    return float(Objective(problem, settings, weights)(Fixed(logits), batch, 0)[0])


def test_losses_by_hand() -> None:
    logits = torch.tensor([[0.0, 0.0], [0.0, np.log(3.0)]])
    labels = torch.tensor([0, 1])
    halves, quarters = np.log(2), np.log(4 / 3)
    assert loss("single", logits, labels) == pytest.approx((halves + quarters) / 2)
    weighted = loss("single", logits, labels, weights=torch.tensor([3.0, 0.5]))
    assert weighted == pytest.approx((3 * halves + 0.5 * quarters) / 2)
    assert loss("multi", torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])) == pytest.approx(halves)
    positive = loss("multi", torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]), weights=torch.tensor([3.0, 1.0]))
    assert positive == pytest.approx(2 * halves)
    assert loss("regression", torch.tensor([[2.0], [1.0]]), torch.tensor([0.0, 1.0])) == pytest.approx(2)
    assert loss("single", logits, labels, soft=logits, alpha=1.0) == pytest.approx(0, abs=1e-6)
    # KL of (1/4, 3/4) from (1/2, 1/2).
    far = loss("single", torch.zeros(1, 2), labels[:1], soft=logits[1:], alpha=1.0)
    assert far == pytest.approx(0.25 * np.log(0.5) + 0.75 * np.log(1.5), abs=1e-6)


def test_rare_labels_count_as_much_as_frequent_ones() -> None:
    examples = [Example("x", None, np.array(int(n == 0))) for n in range(10)]
    weights = label_weights(examples, Scheme("single", ("a", "b")), "balanced")
    assert weights.tolist() == pytest.approx([10 / 18, 5])
    assert 9 * weights[0] == pytest.approx(float(weights[1]))
    many = [Example("x", None, np.array([1.0, float(n == 0)])) for n in range(4)]
    assert label_weights(many, Scheme("multi", ("a", "b")), "balanced").tolist() == [0, 3]
    assert label_weights(examples, Scheme("single", ("a", "b")), "no") is None
