"""What is learnt when: stages as data, layer maps, and the errors of both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pocketbert.errors import InputError
from pocketbert.transfer.layers import layer_map
from pocketbert.transfer.methods import METHODS, Course, Weights, schedule
from pocketbert.transfer.schedule import at, rates, total

PAPER = Course(blocks=24, block_steps=10_000, distillation_steps=500_000, warmup=10_000, end=1e-4)


def test_the_paper_s_progressive_schedule() -> None:
    stages = schedule("progressive", PAPER)
    assert total(stages) == 740_000
    assert [stage.name for stage in stages] == [*(f"block {block}" for block in range(24)), "distillation"]
    for step in (0, 9_999, 10_000, 123_456, 239_999):
        stage, number = at(stages, step)
        block = step // 10_000
        assert (stage.layers, number) == ((block,), step % 10_000)
        assert stage.depth == block + 1, "blocks above are not even run"
        assert stage.losses == {"feature_map": 100, "attention": 1, "mean": 5000, "variance": 5}
        rate = {part: rates(stages)(step, part) for part in ("embeddings", "head", "projection")}
        assert rate == {"embeddings": 0, "head": 0, "projection": 0}, "both ends are copied"
        shares = [rates(stages)(step, f"block.{other}") for other in range(24)]
        assert shares == [0.1] * block + [1.0] + [0.0] * (23 - block)
    last, number = at(stages, 240_000)
    assert (last.name, number, last.depth, last.layers) == ("distillation", 0, None, ())
    assert last.losses == {"hard": 0.5, "soft": 0.5, "sentence": 1.0}
    rate = rates(stages)
    assert rate(240_000, "head") == pytest.approx(1e-4)
    assert rate(249_999, "block.7") == 1
    assert rate(739_999, "embeddings") == pytest.approx(1e-4, rel=0.1)
    with pytest.raises(InputError, match="the schedule has 740000 steps; there is no step 740000"):
        at(stages, 740_000)


def test_lower_blocks_can_be_frozen() -> None:
    stages = schedule("progressive", Course(blocks=3, block_steps=5, distillation_steps=0, lower_rate=0))
    assert [rates(stages)(12, f"block.{block}") for block in range(3)] == [0, 0, 1]


def test_all_methods_have_equal_steps() -> None:
    course = Course(blocks=6, block_steps=10, distillation_steps=40)
    assert {method: total(schedule(method, course)) for method in METHODS} == dict.fromkeys(METHODS, 100)


def test_what_each_method_looks_at() -> None:
    course = Course(blocks=4, block_steps=10, distillation_steps=40)
    first = {method: schedule(method, course)[0] for method in METHODS}
    assert first["joint"].layers == first["auxiliary"].layers == first["tinybert"].layers == (0, 1, 2, 3)
    assert first["minilm"].layers == (3,)
    assert set(first["auxiliary"].losses) == set(first["joint"].losses) | set(first["none"].losses)
    assert first["distilbert"].losses == {"soft": 5, "hard": 2, "cosine": 1}
    # Its authors add four layers up; here a layer's loss is a mean.
    assert first["tinybert"].losses == {"scores": 4, "hidden": 4, "embeddings": 1}
    unlike = replace(course, weights=Weights(attention=0))
    assert set(schedule("tinybert", unlike)[0].losses) == {"hidden", "embeddings"}
    assert first["joint"].rates == {f"block.{block}": 1 for block in range(4)}
    assert first["none"].rates["head"] == 1


def test_what_was_not_copied_learns_from_the_beginning() -> None:
    course = Course(blocks=2, block_steps=5, distillation_steps=5, fresh=("embeddings", "head", "projection"))
    one, two, _ = schedule("progressive", course)
    assert one.rates == {"embeddings": 1, "projection": 1, "block.0": 1}
    assert two.rates == {"embeddings": 0.1, "projection": 1, "block.0": 0.1, "block.1": 1}


def test_blocks_that_share_weights_learn_in_every_stage() -> None:
    shared = schedule("progressive", Course(blocks=3, block_steps=5, distillation_steps=0, owners=(0, 0, 0)))
    assert [stage.rates for stage in shared] == [{"block.0": 1.0}] * 3


def test_a_rate_warms_up_in_every_stage() -> None:
    stages = schedule(
        "joint", Course(blocks=1, block_steps=10, distillation_steps=10, stage_warmup=4, warmup=2)
    )
    rate = rates(stages)
    assert [rate(step, "block.0") for step in range(5)] == [0.25, 0.5, 0.75, 1, 1]
    assert [rate(step, "block.0") for step in (10, 11, 12, 19)] == [0.5, 1, 1, 0.125]


@pytest.mark.parametrize(
    ("method", "changes", "said"),
    [
        ("gradual", {}, "method is 'gradual'; it must be one of progressive, joint"),
        ("joint", {"lower_rate": 2.0}, "lower_rate is 2.0"),
        ("joint", {"block_steps": -1}, "block_steps is -1"),
        ("joint", {"block_steps": 0, "distillation_steps": 0}, "there is nothing to do"),
        (
            "joint",
            {"weights": Weights(feature_map=0, attention=0, mean=0, variance=0)},
            "every loss of the stage",
        ),
    ],
)
def test_schedules_that_cannot_be(method: str, changes: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        schedule(method, Course(**{"blocks": 2, "block_steps": 5, "distillation_steps": 5, **changes}))


def test_weights_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"alpha is 1\.5"):
        Weights(alpha=1.5)
    with pytest.raises(InputError, match="attention_weight is -1"):
        Weights(attention=-1)


def test_layer_maps() -> None:
    assert layer_map("uniform", student=24, teacher=24) == tuple(range(24))
    assert layer_map("uniform", student=4, teacher=12) == (2, 5, 8, 11)
    assert layer_map("uniform", student=4, teacher=6) == (1, 2, 4, 5)
    assert layer_map("last", student=3, teacher=8) == (5, 6, 7)
    assert layer_map("0,2,4,7,9,11", student=6, teacher=12) == (0, 2, 4, 7, 9, 11)
    assert layer_map([1, 1, 3], student=3, teacher=4) == (1, 1, 3)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("3,7,11", r"teacher_layers is 3,7,11; .* for each of the student's 4, .*: it names 3"),
        ("0,1,2,12", r"a block of the teacher \(0 to 11\) .*: 12 is none of them"),
        ("0,1,5,2", "give them in ascending order"),
        ("every-second", "teacher_layers is 'every-second'; it must be uniform, last, or a list"),
    ],
)
def test_wrong_maps(spec: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        layer_map(spec, student=4, teacher=12)


def test_a_deeper_student_needs_a_list() -> None:
    with pytest.raises(InputError, match="the student has 6 blocks and the teacher 4"):
        layer_map("uniform", student=6, teacher=4)
    assert layer_map("0,0,1,1", student=4, teacher=2) == (0, 0, 1, 1)
