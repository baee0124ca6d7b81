"""Labels for texts: what a table holds, how it is split, what the scores are; and the choice between texts."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pocketbert.errors import InputError
from pocketbert.tables import Row
from pocketbert.tasks import plots, scores
from pocketbert.tasks.choice import examples as choice
from pocketbert.tasks.classify import metrics
from pocketbert.tasks.classify.examples import Columns, Example, Scheme, examples_of, read_table, scheme_of
from pocketbert.tasks.classify.features import featurise
from pocketbert.tasks.classify.splitting import stratified
from pocketbert.text import Tokenizer

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"


def rows(*labels) -> list[Row]:
    return [Row(f"t, line {n + 2}", {"text": f"text {n}", "label": label}) for n, label in enumerate(labels)]


@pytest.mark.parametrize(
    ("labels", "problem", "names"),
    [
        (["good", "bad", "good"], "single", ("bad", "good")),
        (["10", "9", "1"], "single", ("1", "9", "10")),
        ([1.0, 0.0, 1.0], "single", ("0", "1")),
        (["1", "2.5", "3"], "regression", ("label",)),
        ([["b", "a"], [], ["c"]], "multi", ("a", "b", "c")),
        (["1", "2.5", "none"], "single", ("1", "2.5", "none")),
    ],
)
def test_the_table_tells_what_labels_are(labels, problem, names) -> None:
    assert scheme_of(rows(*labels), "label") == Scheme(problem, names)


def test_the_user_may_say_it_instead() -> None:
    assert scheme_of(rows("1", "2"), "label", problem="regression").problem == "regression"
    assert scheme_of(rows("a|b", ""), "label", problem="multi", separator="|").names == ("a", "b")
    assert scheme_of(rows("a"), "label", names=("b", "a")).names == ("b", "a")
    with pytest.raises(InputError, match=r"the column 'label' holds 1 different labels \(a\)"):
        scheme_of(rows("a", "a"), "label")


def test_a_slip_among_scores_is_named() -> None:
    labels = [f"{n / 10}" for n in range(1, 20)]
    with pytest.raises(
        InputError, match=re.escape("t, line 21: 'label' is 'n/a', while 19 of 20 rows have a number there")
    ) as caught:
        scheme_of(rows(*labels, "n/a"), "label")
    assert "such as 0.1; for scores every row needs one" in str(caught.value)
    assert "for labels give --problem single" in str(caught.value)
    assert scheme_of(rows(*labels, "n/a"), "label", problem="single").problem == "single"
    assert scheme_of(rows(*(str(n) for n in range(19)), "n/a"), "label").problem == "single", "whole numbers"


def test_labels_become_what_outputs_are_compared_with() -> None:
    columns = Columns("text", label="label")
    single = examples_of(rows("b", "a"), columns, Scheme("single", ("a", "b")))
    assert [int(example.label) for example in single] == [1, 0]
    multi = examples_of(rows("b,c", ""), columns, Scheme("multi", ("a", "b", "c")))
    assert [example.label.tolist() for example in multi] == [[0, 1, 1], [0, 0, 0]]
    number = examples_of(rows("2.5"), columns, Scheme("regression", ("label",)))
    assert float(number[0].label) == 2.5
    with pytest.raises(InputError, match=re.escape("t, line 3: the label 'goood' is unknown")):
        examples_of(rows("good", "goood"), columns, Scheme("single", ("bad", "good")))


def test_the_example_tables_hold_no_slip() -> None:
    columns = Columns("review", label="verdict")
    table = read_table([str(DATA / "reviews.csv")], columns)
    assert scheme_of(table, "verdict").names == ("bad", "good", "mixed")
    assert scheme_of(table, "stars").problem == "regression"


def test_a_table_of_a_header_alone_is_refused(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("text,label\n")
    with pytest.raises(InputError, match=r"t.csv holds no rows"):
        read_table([str(tmp_path / "t.csv")], Columns("text", label="label"))


def labelled(labels) -> list[Example]:
    return [Example(f"text {n}", None, np.array(label)) for n, label in enumerate(labels)]


def test_the_held_out_part_has_the_same_mixture() -> None:
    examples = labelled([0] * 100 + [1] * 20 + [2] * 2 + [3])
    kept, held = stratified(examples, problem="single", fraction=0.1)
    assert Counter(int(example.label) for example in held) == {0: 10, 1: 2, 2: 1}
    assert Counter(int(example.label) for example in kept) == {0: 90, 1: 18, 2: 1, 3: 1}
    again = stratified(examples[::-1], problem="single", fraction=0.1)[1]
    assert {example.text for example in again} == {example.text for example in held}
    other = stratified(examples, problem="single", fraction=0.1, seed=1)[1]
    assert {example.text for example in other} != {example.text for example in held}


def test_the_same_text_is_never_on_both_sides() -> None:
    examples = [Example(f"text {n % 30}", None, np.array(n % 2)) for n in range(600)]
    examples += [Example("text 4", None, np.array(1))]
    kept, held = stratified(examples, problem="single", fraction=0.3)
    assert not {example.text for example in kept} & {example.text for example in held}
    assert len(kept) + len(held) == 601


def test_scores_and_several_labels_are_split_evenly() -> None:
    _, held = stratified(labelled(np.linspace(0, 5, 200)), problem="regression", fraction=0.1)
    assert len(held) == 20
    assert Counter(int(float(example.label) * 2 - 1e-9) for example in held) == dict.fromkeys(range(10), 2)
    many = labelled([[1.0, 0.0]] * 90 + [[1.0, 1.0]] * 10 + [[0.0, 0.0]] * 10)
    _, held = stratified(many, problem="multi", fraction=0.2)
    assert Counter(tuple(example.label.tolist()) for example in held) == {(1, 0): 18, (1, 1): 2, (0, 0): 2}
    with pytest.raises(InputError, match="too few to hold some out"):
        stratified(labelled([0]), problem="single", fraction=0.1)
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        stratified(labelled([0, 1]), problem="single", fraction=1.0)


def test_scores_by_hand() -> None:
    truth, said = [1, 1, 1, 0, 0, 2], [1, 1, 0, 0, 1, 2]
    assert scores.accuracy(truth, said) == pytest.approx(100 * 4 / 6)
    # Class 0: 1 of 2 said, 1 of 2 there; class 1: 2 of 3, 2 of 3; class 2: all.
    assert scores.f1(truth, said, average="macro") == pytest.approx(100 * (1 / 2 + 2 / 3 + 1) / 3)
    assert scores.f1([1, 1, 0, 0], [1, 0, 1, 0], average="binary") == pytest.approx(50)
    # True 1: 2 right, 1 missed; true 0: 1 right, 2 wrong: (2·1 - 2·1) / … = 0.
    assert scores.matthews([1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 1, 0]) == pytest.approx(0)
    # 3 right of 3, 2 right of 3: (3·2 - 1·0) / sqrt(4·3·3·2).
    assert scores.matthews([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 1]) == pytest.approx(100 * 6 / 72**0.5)
    assert scores.pearson([0, 1, 2], [0, 1, 5]) == pytest.approx(100 * 5 / (2 * 14) ** 0.5)
    assert scores.spearman([0, 1, 2, 3], [0, 1, 3, 2]) == pytest.approx(80)
    assert scores.pearson([1, 2], [3, 3]) == scores.spearman([1, 2], [3, 3]) == 0
    assert scores.confusion(truth, said, 3).tolist() == [[1, 1, 0], [1, 2, 0], [0, 0, 1]]


def test_what_logits_say() -> None:
    logits = np.array([[0.0, 2.0], [1.0, -1.0]], dtype=np.float32)
    assert metrics.decide(logits, "single").tolist() == [1, 0]
    assert metrics.decide(logits, "multi").tolist() == [[0, 1], [1, 0]]
    assert metrics.decide(logits, "regression").tolist() == [0, 1]
    labels = [np.array([0.0, 1.0]), np.array([1.0, 1.0])]
    found = metrics.evaluate(labels, logits, "multi")
    # Two of three labels found, none wrong: F1 2·2 / (3 + 2); of each label 1 / 1 and 1 / 2 found.
    assert found["micro_f1"] == pytest.approx(80)
    assert found["macro_f1"] == pytest.approx(100 * (1 + 2 / 3) / 2)
    assert found["exact"] == 50
    assert (
        metrics.evaluate([np.array(0.5), np.array(1.0)], logits, "regression")["mean_absolute_error"] == 0.25
    )
    assert set(metrics.evaluate([np.array(1), np.array(0)], logits, "single").values()) == {100}
    for problem, name in metrics.BEST.items():
        truth = labels if problem == "multi" else [np.array(1), np.array(0)]
        assert name in metrics.evaluate(truth, logits, problem)
    said = metrics.written(logits, Scheme("single", ("no", "yes")))
    assert said[0]["label"] == "yes"
    assert said[0]["score"] == pytest.approx(1 / (1 + np.exp(-2)))
    assert metrics.written(logits, Scheme("multi", ("a", "b")))[0]["labels"] == ["b"]


def test_what_does_not_fit_is_said(caplog) -> None:
    texts = [Example("one two three four five six"), Example("one", "two")]
    features = featurise(texts, Tokenizer.load(), max_length=6)
    assert [len(feature) for feature in features] == [6, 5]
    assert [feature.truncated for feature in features] == [2, 0]
    assert features[1].token_type_ids.tolist() == [0, 0, 0, 1, 1]
    assert "1 of 2 texts have more than 6 tokens, the longest 8" in caplog.text


def test_a_confusion_matrix_is_a_picture(tmp_path) -> None:
    names = [f"a label with a rather long name {number}" for number in range(60)]
    plots.plot_confusion(tmp_path / "new" / "picture.png", np.eye(60, dtype=np.int64), names, most=5)
    assert (tmp_path / "new" / "picture.png").read_bytes().startswith(b"\x89PNG")


def read_quiz(file: Path, **changes) -> list[choice.Choice]:
    given = {"text": "question", "candidates": ("first", "second", "third"), "label": "right", **changes}
    return choice.read_choices([str(file)], **given)


def test_choices(tmp_path) -> None:
    found = read_quiz(DATA / "quiz.csv")
    assert len(found) == 10
    assert [row.label for row in found[:3]] == [0, 1, 2]
    kept, held = choice.hold_out(found, fraction=0.3)
    assert len(kept) + len(held) == 10
    assert held
    features = choice.featurise(found[:2], Tokenizer.load(), max_length=32)
    logits = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], dtype=np.float32)
    assert choice.evaluate(features, logits) == {"accuracy": 50}
    table = tmp_path / "t.csv"
    for label, place in (("B", 1), ("2", 2), ("first", 0)):
        table.write_text(f"question,first,second,third,right\nq,a,b,c,{label}\n")
        assert read_quiz(table)[0].label == place
    table.write_text("question,first,second,third,right\nq,a,b,c,D\n")
    with pytest.raises(
        InputError, match=r"t.csv, line 2: the label 'D' is unknown; allowed are first, second"
    ):
        read_quiz(table)
    with pytest.raises(InputError, match="a choice needs two columns or more"):
        read_quiz(table, candidates=("first",))
    with pytest.raises(InputError, match=r"no column 'fist'.*did you mean 'first'"):
        read_quiz(table, candidates=("fist", "second"))


def test_real_tables(unpacked) -> None:
    folder = unpacked("classify") / "goemotions"
    columns = Columns("text", label="labels", header=("text", "labels", "id"))
    table = read_table([str(folder / "dev.tsv")], columns)
    scheme = scheme_of(table, "labels", problem="multi")
    assert len(examples_of(table, columns, scheme)) == 5426
    assert scheme.names == tuple(map(str, range(28)))
    nli = Columns("premise", "hypothesis", "label")
    pairs = read_table([str(unpacked("nli") / "mnli" / "dev.csv")], nli)
    assert len(pairs) == 19_647
    assert scheme_of(pairs, "label").names == ("contradiction", "entailment", "neutral")
