"""Texts and tables that sentence vectors are learnt from and measured on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pocketbert.errors import InputError
from pocketbert.tasks.sentences.groups import Groups, hold_out, read_groups
from pocketbert.tasks.sentences.texts import Texts, TextSource
from pocketbert.text import Tokenizer

PAIR = ("sentence1", "sentence2")


def table(folder: Path, rows: list[dict]) -> list[str]:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [str(file)]


def pairs(*labels: object) -> list[dict]:
    return [
        {"sentence1": f"text {n % 3}", "sentence2": f"other {n}", "y": label}
        for n, label in enumerate(labels)
    ]


def test_a_text_is_held_once_and_keeps_its_number(tmp_path: Path) -> None:
    groups = read_groups(table(tmp_path, pairs(1, 2, 3, 4)), PAIR)
    assert len(groups.texts) == 7
    assert groups.numbers[:, 0].tolist() == [
        groups.numbers[0, 0],
        *groups.numbers[1:3, 0],
        groups.numbers[0, 0],
    ]
    read: list[list[str]] = []

    def encode(texts: list[str]) -> np.ndarray:
        read.append(texts)
        return np.array([[float(len(text)), float(text.split()[1])] for text in texts], dtype=np.float32)

    first, second = groups.vectors(encode)
    assert sorted(read[0]) == sorted(groups.texts)
    assert first[:, 1].tolist() == [0, 1, 2, 0]
    assert second[:, 1].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("kind", "labels", "scale", "found"),
    [
        ("number", [7, -2.5, "3"], 1.0, [7, -2.5, 3]),
        ("score", [5, 0, 2.5], 5.0, [1, 0, 0.5]),
        ("binary", ["1", 0, True], 1.0, [1, 0, 1]),
        ("class", ["no", "yes", "no"], 1.0, [0, 1, 0]),
    ],
)
def test_kinds_of_labels(kind, labels, scale, found, tmp_path: Path) -> None:
    groups = read_groups(table(tmp_path, pairs(*labels)), PAIR, label="y", kind=kind, scale=scale)
    assert groups.labels is not None
    assert groups.labels.tolist() == found
    assert groups.names == (("no", "yes") if kind == "class" else ())


@pytest.mark.parametrize(
    ("kind", "labels", "complaint"),
    [
        ("score", [1, 1.5], "line 2: 'y' is 1.5 after division by 1"),
        ("binary", [0, "maybe"], "'maybe'; allowed are 1"),
        ("class", ["a", "a"], "at least two are needed"),
        ("number", [1, None], "a number such as"),
    ],
)
def test_labels_that_cannot_be_used_are_named(kind, labels, complaint, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=complaint):
        read_groups(table(tmp_path, pairs(*labels)), PAIR, label="y", kind=kind)


def test_classes_of_training_are_those_of_the_measure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'c' is unknown; allowed are a, b"):
        read_groups(table(tmp_path, pairs("a", "c")), PAIR, label="y", kind="class", names=["a", "b"])


def test_no_first_text_is_on_both_sides() -> None:
    texts = tuple(f"text {number}" for number in range(40))
    draw = np.random.default_rng(1)
    groups = Groups(
        texts, np.stack([draw.integers(0, 20, 200), draw.integers(20, 40, 200)], axis=1), np.arange(200)
    )
    kept, held = hold_out(groups, fraction=0.2, seed=3)
    assert not set(kept.numbers[:, 0]) & set(held.numbers[:, 0])
    assert 20 <= len(held) <= 40
    assert sorted([*kept.labels, *held.labels]) == list(range(200))
    again = hold_out(groups.take(np.arange(200)[::-1]), fraction=0.2, seed=3)[1]
    assert set(again.numbers[:, 0]) == set(held.numbers[:, 0])  # by the words, not by the place
    assert len(hold_out(groups, fraction=0.2, seed=3, most=25)[1]) <= 25
    with pytest.raises(InputError, match="too few"):
        hold_out(groups.take(np.array([0])), fraction=0.5)


def test_texts_are_packed_as_they_are_encoded(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("The first line.\n\n  A second, somewhat longer one.  \nThird\n")
    table(tmp_path, [{"text": "from a table"}])
    source = TextSource((str(tmp_path / "lines.txt"), str(tmp_path / "rows.jsonl")))
    texts = ["The first line.", "A second, somewhat longer one.", "Third", "from a table"]
    assert list(source) == list(source) == texts  # can be read again
    assert list(TextSource(source.files, limit=2)) == texts[:2]
    tokenizer = Tokenizer.load()
    packed = Texts.pack(source, tokenizer, max_length=6)
    assert len(packed) == 4
    assert packed.cut == 1
    for number, text in enumerate(texts):
        assert packed[number].input_ids.tolist() == list(tokenizer.encode(text, max_length=6).ids)
    assert packed[-1].input_ids.tolist() == packed[3].input_ids.tolist()
    assert packed.lengths.tolist() == [len(packed[number]) for number in range(4)]
    with pytest.raises(IndexError):
        packed[4]
    with pytest.raises(InputError, match="no such file"):
        list(TextSource((str(tmp_path / "none.txt"),)))
