"""Which windows are read first, and when reading may stop."""

from __future__ import annotations

import numpy as np
import pytest

from pocketbert.runtime.documents import Document, Plan
from pocketbert.runtime.order import DOUBT, promises, unread_chance
from pocketbert.text import Tokenizer

TOKENIZER = Tokenizer.load()
FILLER = "the weather was fine and the people went to the market as they did on every day of the week "


def plan_of(question: str, *texts: str) -> Plan:
    ids = tuple(token for token, _ in TOKENIZER.stream(question))
    return Plan.of(ids, [Document.of(text, TOKENIZER) for text in texts], max_length=64, overlap=16)


def holds(plan: Plan, number: int, words: str) -> bool:
    stretch = plan.stretches[number]
    document = plan.documents[stretch.document]
    return words in document.text[document.starts[stretch.first] : document.ends[stretch.last - 1]]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who invented the telescope?", "A lens grinder made the first telescope in 1608. "),
        ("Who invented it?", "Its invention made the town famous. "),  # a beginning in common
        ("Where did Zanzibarius live?", "Zanzibarius had a house by the sea. "),  # a word of several pieces
        ("When was the market day?", "Sunday was the day of rest, not a market day. "),  # a pair
    ],
)
def test_the_window_with_the_questions_words_goes_first(question: str, sentence: str) -> None:
    plan = plan_of(question, FILLER * 20 + sentence + FILLER * 20)
    promise = promises(plan)
    assert promise.sum() == pytest.approx(1.0)
    assert len(plan) > 10
    assert holds(plan, int(promise.argmax()), sentence.strip())


def test_neighbours_in_the_question_are_looked_for_together() -> None:
    apart = "the house was old and its door was red but nobody went there on the day of the market . "
    plan = plan_of("Where is the red house?", apart * 15 + "She had a red house and a door. " + apart * 15)
    promise = promises(plan)
    assert holds(plan, int(promise.argmax()), "red house")
    assert np.sort(promise)[-3] < promise.max() / 2


def test_words_that_ask_are_not_looked_for() -> None:
    plan = plan_of("What did they do?", FILLER * 20 + "What? Who? Which? " + FILLER * 20)
    assert not holds(plan, int(promises(plan).argmax()), "Which")


def test_rare_words_count_more_than_common_ones() -> None:
    common, rare = "weather, week, market, people. ", "A comet came. "
    plan = plan_of(
        "people market week weather comet?", FILLER * 20 + rare + FILLER * 10 + common + FILLER * 10
    )
    assert holds(plan, int(promises(plan).argmax()), rare.strip())


def test_without_a_word_in_common_all_windows_are_alike() -> None:
    promise = promises(plan_of("Quantum chromodynamics?", FILLER * 30))
    np.testing.assert_allclose(promise, 1 / len(promise))


def test_documents_are_ranked_together() -> None:
    plan = plan_of("Who saw the comet?", FILLER * 5, FILLER * 3 + "Ada saw the comet.", FILLER * 5)
    assert plan.stretches[int(promises(plan).argmax())].document == 1


def test_one_window_promises_all() -> None:
    assert promises(plan_of("Who?", "Ada")).tolist() == [1.0]
    assert promises(plan_of("Who?", "\x00")).tolist() == [1.0]  # no token at all


def test_no_window_is_without_promise() -> None:
    plan = plan_of("comet comet comet?", FILLER * 20 + "comet comet comet comet")
    promise = promises(plan)
    assert promise.min() >= DOUBT / len(plan)


def test_the_chance_of_what_was_not_read() -> None:
    assert unread_chance(1.0, 0.0) == 1.0  # nothing was read
    assert unread_chance(0.5, 0.0) == 1.0  # what was read holds nothing
    assert unread_chance(0.5, 1 / 3) == 0.5  # it said nothing for or against: the promises stand
    assert unread_chance(0.5, 0.75) == pytest.approx(0.5 / 3.5)
    assert unread_chance(0.5, 1.0) == 0.0
    assert unread_chance(0.0, 0.1) == 0.0
    assert unread_chance(-1e-17, 0.0) == 0.0  # rounding
