"""Questions out of premises and hypotheses: answered if the hypothesis follows, unanswerable if it does not."""

from __future__ import annotations

import random

import pytest

from pocketbert.data.unanswerable import Answerable, Unanswerable, from_pairs, read_pairs, write_squad_json
from pocketbert.data.unanswerable.entailment import Pair, question_of
from pocketbert.errors import InputError
from pocketbert.tasks.squad.reading import read_questions

PREMISE = "A tired baker is carrying two warm loaves through the empty market hall."


def asked(hypothesis: str, label: str, premise: str = PREMISE):
    return question_of(Pair(premise, hypothesis, label), random.Random(0))


def test_the_words_that_both_have_are_asked_for() -> None:
    question, answer = asked("A baker is at work.", "entailment")
    assert question == "What is at work?"
    assert answer.text == "baker"
    assert PREMISE[answer.start : answer.start + 5] == "baker"


def test_people_are_asked_for_with_who() -> None:
    question, answer = asked(
        "The woman is asleep.", "contradiction", "On the long bench a woman reads the paper."
    )
    assert (question, answer.text) == ("Who is asleep?", "woman")


def test_the_longest_run_is_taken() -> None:
    question, answer = asked("Nobody has ever seen the empty market hall.", "neutral")
    assert (question, answer.text) == ("Nobody has ever seen what?", "empty market hall")


@pytest.mark.parametrize(
    ("hypothesis", "label"),
    [
        ("It rained all day long.", "neutral"),  # nothing is shared
        ("A baker.", "entailment"),  # nothing is said of it
        ("The loaves are carrying a baker through the hall.", "contradiction"),  # roles are swapped
    ],
)
def test_pairs_that_give_no_question(hypothesis: str, label: str) -> None:
    assert asked(hypothesis, label) is None


def test_words_that_stand_twice_in_the_premise_are_no_answer() -> None:
    assert asked("The dog sleeps on a sofa.", "neutral", "A dog looks at a dog in the long mirror.") is None


def test_a_set_of_pairs_becomes_questions_with_true_offsets(tmp_path) -> None:
    pairs = [
        Pair(PREMISE, "A baker is at work.", "entailment"),
        Pair(PREMISE, "A baker is flying a kite.", "contradiction"),
        Pair(
            "The last ferry leaves the island shortly before ten at night.", "The ferry is late.", "neutral"
        ),
    ] * 12
    made = list(from_pairs(pairs, seed=1))
    assert [type(item) for item in made] == [Answerable, Unanswerable, Unanswerable] * 12
    for item in made:
        span = item.answers[0] if isinstance(item, Answerable) else item.plausible
        assert span is not None
        assert item.context[span.start : span.start + len(span.text)] == span.text
    assert len({item.context for item in made}) > 3, "some contexts hold other premises"
    assert made == list(from_pairs(pairs, seed=1))
    unique = {item.id: item for item in made}
    write_squad_json(tmp_path / "made.json", unique.values())
    read = read_questions(tmp_path / "made.json").questions
    assert len(read) == len(unique)
    assert sum(question.impossible for question in read) == sum(
        isinstance(item, Unanswerable) for item in unique.values()
    )


def test_reading_pairs(tmp_path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(
        'premise,hypothesis,label\n"It rains, again.",It is wet.,entailment\nA,B,-\n', encoding="utf-8"
    )
    assert read_pairs(path) == [Pair("It rains, again.", "It is wet.", "entailment")]
    path.write_text("text,label\nA,entailment\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column premise, hypothesis"):
        read_pairs(path)
