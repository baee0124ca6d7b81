"""The parts of a search: ranges, budgets, what is tried next and what is given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pocketbert.errors import InputError
from pocketbert.model import PRESETS
from pocketbert.recipes.classify import Settings
from pocketbert.train.trials import table
from pocketbert.train.trials.ranges import BERT, LORA, MOBILEBERT, OTHERS, RANGES, ROBERTA, recommended
from pocketbert.train.trials.record import Record, Trial
from pocketbert.train.trials.sampler import falls_behind, propose
from pocketbert.train.trials.settings import Budget, SearchSettings
from pocketbert.train.trials.space import Choices, Range, parse_space, points, split_space

SPACE = parse_space(split_space("learning_rate=1e-5:1e-4 per_device_train_batch_size=16,32"), Settings)
FIRST = {"learning_rate": 3e-5, "per_device_train_batch_size": 32}


def parsed(text: str):
    return parse_space(split_space(text), Settings)


def test_every_recommended_range_can_be_searched() -> None:
    for ranges in (BERT, MOBILEBERT, ROBERTA, LORA, OTHERS):
        space = parse_space(ranges.settings, Settings)
        assert list(space) == ["learning_rate", "per_device_train_batch_size", "num_train_epochs"]
        assert ranges.source
    assert len(points(parse_space(BERT.settings, Settings)) or []) == 18
    assert points(parse_space(MOBILEBERT.settings, Settings)) is None
    assert set(RANGES) <= {config.model_type for config in PRESETS.values()}
    assert recommended("xlnet", lora=False) is BERT
    assert recommended("mobilebert", lora=True) is LORA


def test_what_a_space_says() -> None:
    assert parsed("learning_rate=2e-5:1e-4") == {"learning_rate": Range(2e-5, 1e-4, log=True)}
    assert parsed("warmup_ratio=0:0.3") == {"warmup_ratio": Range(0.0, 0.3, log=False)}
    assert parsed("weight_decay=1e-4:0.1:log") == {"weight_decay": Range(1e-4, 0.1, log=True)}
    assert parsed("num-train-epochs=2:4:1") == {"num_train_epochs": Choices((2.0, 3.0, 4.0))}
    assert parsed("freeze_layers=0:2") == {"freeze_layers": Choices((0, 1, 2))}
    assert parsed("warmup_ratio=0:0.3:0.1")["warmup_ratio"].values == pytest.approx((0, 0.1, 0.2, 0.3))
    assert parsed("optim=adamw,lamb freeze_embeddings=yes,no") == {
        "optim": Choices(("adamw", "lamb")),
        "freeze_embeddings": Choices((True, False)),
    }
    assert parsed("ema_decay=none,0.9") == {"ema_decay": Choices((None, 0.9))}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("learning_rate", "'learning_rate' is not name=values"),
        ("", "search_space is empty"),
        ("learning_rate=1e-5 learning_rate=1e-4", "learning_rate twice"),
        ("lerning_rate=1e-5,1e-4", "lerning_rate is no setting"),
        ("seed=1,2", "seed cannot be searched; allowed are .*learning_rate"),
        ("learning_rate=fast,slow", "learning_rate = 'fast' in search_space: allowed is a number"),
        ("learning_rate=1e-4:1e-5", "0.0001 is not below 1e-05"),
        ("weight_decay=0:0.1:log", "must begin above 0"),
        ("freeze_layers=0:2:0", "the step is 0"),
        ("learning_rate=1:2:3:4", "give low:high or low:high:step"),
        ("optim=adamw:lamb", r"give values of adamw \| relative \| lamb"),
        ("lora_targets=all,query", "lora_targets is a list .*cannot be searched"),
    ],
)
def test_a_space_that_is_none(text, complaint) -> None:
    with pytest.raises(InputError, match=complaint):
        parsed(text)


def test_budgets() -> None:
    assert Budget.parse("auto") == Budget()
    assert Budget.parse("30") == Budget(trials=30)
    assert Budget.parse("1.5h") == Budget(seconds=5400)
    for text in ("0", "data.csv", "2 h", "-3", "0m"):
        with pytest.raises(InputError, match=r"a number of trials \(20\), a time"):
            Budget.parse(text)


def test_settings_that_contradict_a_search(tmp_path) -> None:
    with pytest.raises(InputError, match="add --search"):
        SearchSettings(output_dir=tmp_path, search_space="learning_rate=1,2")
    with pytest.raises(InputError, match="eval_strategy = no"):
        SearchSettings(output_dir=tmp_path, search="3", eval_strategy="no")


def next_values(trials: list[Trial], *, seed: int = 42, grid: bool = False, space=SPACE):
    return propose(space, trials, first=FIRST, seed=seed, greater_is_better=True, grid=grid)


def ended(number: int, values, score: float, **more) -> Trial:
    return Trial(number, values, state="finished", score=score, **more)


def test_the_first_trial_has_the_settings_as_they_stand() -> None:
    assert next_values([]) == FIRST
    outside = {**FIRST, "learning_rate": 1.0}
    values = propose(SPACE, [], first=outside, seed=42, greater_is_better=True, grid=False)
    assert all(values[name] in part for name, part in SPACE.items())


def test_proposals_follow_from_the_record_alone() -> None:
    """What a killed search proposes next is what it would have proposed."""
    trials: list[Trial] = []
    for number in range(9):
        values = next_values(trials)
        assert values == next_values([replace(trial) for trial in trials])
        assert all(values[name] in part for name, part in SPACE.items())
        assert values not in [trial.values for trial in trials]
        trials.append(ended(number, values, score=number % 4))
    assert next_values(trials, seed=1) != next_values(trials)


def test_proposals_go_where_scores_are_good() -> None:
    trials: list[Trial] = []
    for number in range(40):
        values = next_values(trials)
        trials.append(ended(number, values, score=values["learning_rate"]))
    late = [trial.values["learning_rate"] for trial in trials[20:]]
    assert sum(rate > 7e-5 for rate in late) >= 8, "drawn blindly it would be 3"


def test_a_grid_is_gone_through_once() -> None:
    space = parsed("learning_rate=1e-5,3e-5,9e-5 per_device_train_batch_size=16,32")
    for grid in (True, False):
        trials: list[Trial] = []
        while (values := next_values(trials, space=space, grid=grid)) is not None:
            trials.append(ended(len(trials), values, score=1.0))
        assert trials[0].values == FIRST
        assert len(trials) == 6
        assert len({tuple(trial.values.values()) for trial in trials}) == 6


@pytest.mark.parametrize("greater", [True, False])
def test_what_falls_behind_the_median_is_given_up(greater) -> None:
    sign = 1 if greater else -1
    rate = iter(range(1, 100))

    def values() -> dict:
        return {"learning_rate": next(rate) * 1e-6 + 1e-5, "per_device_train_batch_size": 16}

    trials = [
        ended(number, values(), sign * 80.0, seen={1: sign * (50.0 + number), 2: sign * 80.0})
        for number in range(5)
    ]

    def behind(seen: dict[int, float], done=trials) -> bool:
        return falls_behind(SPACE, done, Trial(5, values(), seen=seen), greater_is_better=greater)

    assert behind({1: sign * 51.0})
    assert not behind({1: sign * 53.0})
    assert behind({1: sign * 53.0, 2: sign * 70.0})
    assert not behind({}), "nothing is known of it"
    assert not behind({1: sign * 1.0}, trials[:4]), "too few have ended"


def test_the_table_and_the_picture_show_every_trial(tmp_path) -> None:
    names = {"learning_rate": "1e-5:1e-4", "pooler": "auto,no"}
    trials = [
        ended(
            0,
            {"learning_rate": 3e-5, "pooler": "auto"},
            71.25,
            scores={"f1": 71.25, "exact": 60.0},
            seen={1: 71.25},
        ),
        Trial(
            1, {"learning_rate": 9e-5, "pooler": "no"}, state="pruned", score=50.0, seen={1: 50.0}, seconds=75
        ),
        Trial(2, {"learning_rate": 1e-4, "pooler": "no"}, state="failed", error="step 3: the loss is nan"),
    ]
    record = Record(tmp_path / "trials.json", names, {}, metric="f1", trials=trials)
    assert table.table(record).splitlines() == [
        "trial  state     learning_rate  pooler  f1     epochs  time",
        "0*     finished  3e-05          auto    71.25  1       0:00",
        "1      pruned    9e-05          no      50     1       1:15",
        "2      failed    0.0001         no                     0:00",
    ]
    table.write_csv(tmp_path / "trials.csv", record)
    assert (tmp_path / "trials.csv").read_text().splitlines() == [
        "trial,state,best,learning_rate,pooler,f1,exact,epochs,seconds,error",
        "0,finished,1,3e-05,auto,71.25,60.0,1,0.0,",
        "1,pruned,0,9e-05,no,50.0,,1,75,",
        "2,failed,0,0.0001,no,,,,0.0,step 3: the loss is nan",
    ]
    table.draw(tmp_path / "trials.png", record, parse_space(names, Settings))
    assert (tmp_path / "trials.png").stat().st_size > 5000
    record.save()
    again = Record(tmp_path / "trials.json", names, {})
    again.take_up()
    assert again == record
