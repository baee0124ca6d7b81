"""Documents and plans: the same windows as `pocketbert.text.windows`, made one at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.runtime.documents import Document, Plan
from pocketbert.text import Tokenizer, windows
from tiny_tokenizers import write_albert, write_roberta, write_xlnet

TOKENIZER = Tokenizer.load()


def plan_of(
    question: str,
    *texts: str,
    max_length: int = 64,
    overlap: int | None = None,
    tokenizer: Tokenizer = TOKENIZER,
) -> Plan:
    ids = tuple(token for token, _ in tokenizer.stream(question))
    documents = [Document.of(text, tokenizer) for text in texts]
    return Plan.of(ids, documents, max_length=max_length, overlap=overlap)


@settings(deadline=None, max_examples=60)
@given(
    words=st.integers(0, 300),
    max_length=st.integers(37, 80),
    overlap=st.one_of(st.none(), st.integers(0, 15)),
)
def test_a_plan_makes_the_windows_of_the_text(words: int, max_length: int, overlap: int | None) -> None:
    text = " ".join(f"word{number} café" for number in range(words))
    plan = plan_of("Who?", text, max_length=max_length, overlap=overlap)
    expected = windows("Who?", text, TOKENIZER, max_length=max_length, overlap=overlap)
    assert [plan.window(number) for number in range(len(plan))] == expected
    assert [plan.length(number) for number in range(len(plan))] == [len(window) for window in expected]
    assert plan.tokens_of(range(len(plan))) == plan.tokens == sum(1 for _ in TOKENIZER.stream(text))


@pytest.mark.parametrize("write", [write_roberta, write_albert, write_xlnet])
def test_plans_of_other_layouts(write: Callable[[Path], Path], tmp_path: Path) -> None:
    tokenizer = Tokenizer.load(write(tmp_path))
    text = "The owner's letters (1843) and more. " * 20
    plan = plan_of("Who wrote it?", text, "", max_length=70, overlap=9, tokenizer=tokenizer)
    expected = [
        window
        for each in (text, "")
        for window in windows("Who wrote it?", each, tokenizer, max_length=70, overlap=9)
    ]
    assert [plan.window(number) for number in range(len(plan))] == expected
    assert [plan.length(number) for number in range(len(plan))] == [len(window) for window in expected]
    assert max(map(len, expected)) == 70


@pytest.mark.parametrize("write", [write_roberta, write_albert, write_xlnet])
def test_words_are_whole_whatever_the_tokenizer(write: Callable[[Path], Path], tmp_path: Path) -> None:
    text = "It was (unbelievably) sunny in café Zygomorph, wasn't it?"
    document = Document.of(text, Tokenizer.load(write(tmp_path)))
    for word in ("unbelievably", "sunny", "café", "Zygomorph", "it"):
        start = text.index(word)
        inside = [
            token
            for token in range(len(document))
            if start <= document.starts[token] < document.ends[token] <= start + len(word)
        ]
        for token in inside:
            first, last = document.characters(token, token, whole_words=True)
            assert text[first:last] == word


def test_tokens_in_two_windows_are_counted_once() -> None:
    plan = plan_of("Who?", "word " * 200, max_length=64, overlap=20)  # room 59, step 39
    assert len(plan) == 5
    assert plan.tokens_of([0]) == 59
    assert plan.tokens_of([1, 0]) == 98
    assert plan.tokens_of([3, 0]) == 118
    assert plan.tokens_of([]) == 0


def test_no_window_holds_two_documents() -> None:
    plan = plan_of("Who?", "one " * 70, "two " * 10, "three " * 70)
    assert [stretch.document for stretch in plan.stretches] == [0, 0, 1, 2, 2]
    for number, stretch in enumerate(plan.stretches):
        assert (
            len(
                {
                    plan.documents[stretch.document].text[a:b]
                    for a, b in filter(None, plan.window(number).offsets)
                }
            )
            == 1
        )
    assert plan.tokens_of(range(5)) == 150


def test_an_overlap_above_half_of_the_room_is_half_of_it() -> None:
    greedy, half = plan_of("Who?", "word " * 200, overlap=1000), plan_of("Who?", "word " * 200, overlap=29)
    assert greedy.stretches == half.stretches


def test_a_question_without_room_is_refused() -> None:
    with pytest.raises(InputError, match="shorten the question"):
        plan_of("why " * 40, "word")


def test_a_document_is_small() -> None:
    document = Document.of("word " * 10_000, TOKENIZER)
    assert sum(array.nbytes for array in (document.ids, document.starts, document.ends)) == 12 * len(document)
    assert all(array.dtype == np.int32 for array in (document.ids, document.starts, document.ends))


@pytest.mark.parametrize(
    ("text", "first", "last", "whole", "expected"),
    [
        ("a pocketbertish thing", 2, 2, False, "##"),
        ("a pocketbertish thing", 2, 2, True, "pocketbertish"),
        ("a pocketbertish thing", 0, 1, True, "a pocketbertish"),
        ("Zoe\u0301 came", 0, 0, True, "Zoe\u0301"),
        ("Zoe\u0301", 0, 0, False, "Zoe\u0301"),
        ("x\u0301\u0302\u0303y", 0, 0, False, "x\u0301\u0302\u0303"),
        ("(ok)", 1, 1, True, "ok"),
    ],
)
def test_characters_of_tokens(text: str, first: int, last: int, whole: bool, expected: str) -> None:
    document = Document.of(text, TOKENIZER)
    start, end = document.characters(first, last, whole_words=whole)
    if expected == "##":
        expected = text[int(document.starts[first]) : int(document.ends[last])]
        assert 0 < len(expected) < len("pocketbertish")
    assert text[start:end] == expected
