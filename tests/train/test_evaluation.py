"""When to evaluate, which weights are the best, when to stop, and averages of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch
from torch import nn

from pocketbert.errors import TrainingError
from pocketbert.train.averages import MovingAverage
from pocketbert.train.log import read_log
from pocketbert.train.state import read_folder
from train import toy


def scripted(values: Iterable[float], models: list[dict] | None = None) -> Callable[[nn.Module], dict]:
    """An evaluation that gives scores from a list and remembers the weights it saw."""
    waiting = iter(values)

    def evaluate(model: nn.Module) -> dict[str, float]:
        assert not model.training
        assert not torch.is_grad_enabled()
        torch.rand(7)  # what an evaluation draws must not move the run
        if models is not None:
            models.append({name: weight.clone() for name, weight in model.state_dict().items()})
        return {"score": next(waiting)}

    return evaluate


def evaluated_at(folder: Path) -> list[int]:
    return [record["step"] for record in read_log(folder / "log.jsonl") if record["kind"] == "evaluation"]


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, [10, 20, 25]),
        ({"eval_on_start": True}, [0, 10, 20, 25]),
        ({"eval_strategy": "steps", "eval_steps": 8}, [8, 16, 24, 25]),
        ({"eval_strategy": "no"}, []),
    ],
)
def test_when_to_evaluate(tmp_path: Path, settings: dict, steps: list[int]) -> None:
    toy.run(tmp_path, num_train_epochs=2.5, **settings)
    assert evaluated_at(tmp_path) == steps


def test_evaluating_never_moves_a_run(tmp_path: Path) -> None:
    toy.run(tmp_path / "never", eval_strategy="no")
    extra = {"evaluate": scripted(range(99)), "best": "score"}
    toy.run(tmp_path / "often", eval_strategy="steps", eval_steps=1, extra=extra)
    assert toy.losses(tmp_path / "never") == toy.losses(tmp_path / "often")


@pytest.mark.parametrize(
    ("scores", "greater", "best"),
    [([1, 3, 2], True, 1), ([3, 1, 2], False, 1), ([2, 2, 2], True, 0), ([float("nan"), 1, 2], False, 1)],
)
def test_the_best_weights_are_kept(tmp_path: Path, scores: list[float], greater: bool, best: int) -> None:
    seen: list[dict] = []
    model = toy.fresh_model()
    extra = {"evaluate": scripted(scores, seen), "best": "score", "greater_is_better": greater}
    result = toy.run(tmp_path, model=model, extra=extra)
    assert (result.best_step, result.scores) == (10 * (best + 1), {"score": scores[best]})
    assert [path.name for path in tmp_path.glob("best-*")] == [f"best-{result.best_step}"]
    kept = read_folder(tmp_path / f"best-{result.best_step}").tensors["model"]
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, seen[best][name])
        assert torch.equal(weight, kept[name])


def test_the_last_weights_when_asked_for(tmp_path: Path) -> None:
    seen: list[dict] = []
    model = toy.fresh_model()
    extra = {"evaluate": scripted([3, 2, 1], seen), "best": "score"}
    result = toy.run(tmp_path, model=model, load_best_model_at_end=False, extra=extra)
    assert (result.best_step, result.scores) == (30, {"score": 1})
    assert all(torch.equal(weight, seen[2][name]) for name, weight in model.state_dict().items())


def test_patience(tmp_path: Path) -> None:
    extra = {"evaluate": scripted([1, 5, 4, 3, 9, 9]), "best": "score"}
    settings = {"num_train_epochs": 6, "early_stopping_patience": 2}
    result = toy.run(tmp_path, extra=extra, **settings)
    assert (result.stopped, result.steps, result.best_step) == ("patience", 40, 20)
    again = toy.run(tmp_path, extra=extra, resume_from_checkpoint="latest", **settings)
    assert again == result


def test_the_metric_can_be_chosen(tmp_path: Path) -> None:
    result = toy.run(tmp_path, metric_for_best_model="loss", greater_is_better=False)
    found = [record["scores"]["loss"] for record in read_log(tmp_path / "log.jsonl") if "scores" in record]
    assert result.scores["loss"] == min(found)
    with pytest.raises(
        TrainingError, match="metric_for_best_model = 'f1', but the evaluation gave accuracy, loss"
    ):
        toy.run(tmp_path / "other", metric_for_best_model="f1")


def test_the_moving_average_is_evaluated_and_kept(tmp_path: Path) -> None:
    seen: list[dict] = []
    model = toy.fresh_model()
    extra = {"evaluate": scripted([1, 2, 3], seen), "best": "score"}
    toy.run(tmp_path / "averaged", model=model, ema_decay=0.9, extra=extra)
    toy.run(tmp_path / "plain", model=toy.fresh_model())
    assert toy.losses(tmp_path / "averaged") == toy.losses(tmp_path / "plain")
    saved = read_folder(tmp_path / "averaged" / "checkpoint-30").tensors
    assert saved["average"].keys() == dict(model.named_parameters()).keys()
    for name, weight in model.named_parameters():
        assert torch.equal(weight, saved["average"][name])
        assert torch.equal(weight, seen[-1][name])
        assert not torch.equal(weight, saved["model"][name])


def test_the_moving_average_is_one() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    average = MovingAverage(model, 0.8)
    expected = 0.0
    for step in range(1, 40):
        nn.init.constant_(model.weight, step)
        average.update(step)
        decay = min(0.8, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
    assert float(average.weights["weight"]) == pytest.approx(expected)


def test_the_mean_of_the_last_snapshots(tmp_path: Path) -> None:
    model = toy.fresh_model()
    settings = {"average_last": 3, "average_steps": 4, "save_steps": 4, "save_total_limit": 9}
    toy.run(tmp_path, model=model, eval_strategy="no", **settings)
    kept = [read_folder(tmp_path / f"checkpoint-{step}").tensors["model"] for step in (20, 24, 28)]
    for name, weight in model.named_parameters():
        mean = torch.stack([tensors[name] for tensors in kept]).double().mean(0).float()
        torch.testing.assert_close(weight, mean, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("last", "step"), [(9, 30), (0, 20)])
def test_the_mean_must_beat_the_best(tmp_path: Path, last: float, step: int) -> None:
    extra = {"evaluate": scripted([1, 3, 2, last]), "best": "score"}
    result = toy.run(tmp_path, average_last=2, average_steps=10, extra=extra)
    assert (result.best_step, result.scores["score"]) == (step, max(3, last))
