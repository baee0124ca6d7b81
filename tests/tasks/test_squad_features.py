from __future__ import annotations

import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketbert.errors import InputError
from pocketbert.tasks.squad.features import featurise
from pocketbert.tasks.squad.questions import Answer, Question
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer, windows

steady = settings(derandomize=True, deadline=None)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "data"
CHARACTERS = string.ascii_lowercase + string.digits + string.punctuation
TOKENIZER = Tokenizer.from_vocabulary(
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "mill", "cheerful", "##ly", "unable", "##ness"]
    + list(CHARACTERS)
    + [f"##{character}" for character in CHARACTERS]
)


def ask(context: str, *golds: str, question: str = "who?", name: str = "q") -> Question:
    answers = tuple(Answer(gold, context.index(gold)) for gold in golds)
    return Question(name, "", question, context, answers, not golds)


def gold_texts(question: Question, **settings: int) -> list[str]:
    features = featurise([question], TOKENIZER, train=True, **settings)
    spans = [feature.characters_of(*gold) for feature in features for gold in feature.golds]
    return [question.context[start:end] for start, end in spans]


def test_every_answer_of_the_examples_is_found_again() -> None:
    questions = read_questions(EXAMPLES / "squad-train.json").questions
    features = featurise(questions, TOKENIZER, train=True)
    for feature in features:
        question = questions[feature.question_index]
        found = [feature.characters_of(*gold) for gold in feature.golds]
        assert [question.context[start:end] for start, end in found] == [
            answer.text for answer in question.answers
        ]
        assert (feature.start, feature.end) == (feature.golds[0] if question.answers else (0, 0))


def test_a_feature_is_a_window() -> None:
    questions = read_questions(EXAMPLES / "squad-dev.json").questions
    features = iter(featurise(questions, TOKENIZER, max_length=100, overlap=10))
    for index, question in enumerate(questions):
        for window in windows(question.question, question.context, TOKENIZER, max_length=100, overlap=10):
            feature = next(features)
            assert feature.question_index == index
            assert tuple(feature.input_ids) == window.input_ids
            assert tuple(feature.token_type_ids) == window.token_type_ids
            assert tuple(feature.attention_mask) == window.attention_mask
            assert tuple(feature.offsets) == window.offsets
            assert tuple(feature.best) == window.best
            assert (feature.start, feature.end, feature.golds) == (0, 0, ())
    assert next(features, None) is None


def test_questions_on_one_context_share_its_offsets_and_keep_their_order() -> None:
    questions = [ask("the mill", "mill"), ask("a b c", "b"), ask("the mill", "the"), ask("the mill")]
    features = featurise(questions, TOKENIZER, train=True)
    assert [feature.question_index for feature in features] == [0, 1, 2, 3]
    assert np.shares_memory(features[0].characters, features[2].characters)
    first = features[0].document_start
    assert [(feature.start, feature.end) for feature in features] == [
        (first + 1, first + 1),
        (first + 1, first + 1),
        (first, first),
        (0, 0),
    ]


def test_an_answer_inside_a_token_takes_the_token_whole() -> None:
    assert gold_texts(ask("he sang cheerfully.", "cheerful")) == ["cheerful"]
    assert gold_texts(ask("he sang cheerfully.", "cheer")) == ["cheerful"]
    assert gold_texts(ask("he sang cheerfully.", "fully")) == ["cheerfully"]
    assert gold_texts(ask("unableness", "able")) == ["unable"]
    assert gold_texts(ask("the mill", "he mi")) == ["the mill"]


def test_blanks_round_an_answer_take_no_token() -> None:
    assert gold_texts(ask("by the mill .", " the mill ")) == ["the mill"]
    assert gold_texts(ask("a\u00a0 \tb", "\u00a0 \t")) == []


def test_emoji_and_accents_do_not_shift_the_answer() -> None:
    assert gold_texts(ask("🦊🦊 Ünlü the mıll by Ida", "Ida")) == ["Ida"]
    assert gold_texts(ask("🦊🦊 Ünlü the mill", "Ünlü")) == ["Ünlü"]


def test_a_window_is_labelled_with_the_golds_it_holds_in_full() -> None:
    context = "x " * 50 + "the mill " + "y " * 50 + "cheerful"
    question = ask(context, "cheerful", "the mill", "the mill")
    features = featurise([question], TOKENIZER, max_length=60, overlap=0, train=True)
    texts = [
        [context[slice(*feature.characters_of(*gold))] for gold in feature.golds] for feature in features
    ]
    assert texts == [["the mill"], ["cheerful"]]
    # The border of two windows runs through "the mill": neither holds it.
    cut = ask("x " * 52 + "the mill " + "y " * 50, "the mill")
    assert [
        feature.start for feature in featurise([cut], TOKENIZER, max_length=60, overlap=0, train=True)
    ] == [0, 0]


def test_a_question_without_room_is_named_or_left_out() -> None:
    questions = [ask("the mill", name="short"), ask("the mill", question="x " * 100, name="long")]
    with pytest.raises(InputError, match="question 'long': a question of 100 tokens leaves 25 of 128"):
        featurise(questions, TOKENIZER, max_length=128)
    left = featurise(questions, TOKENIZER, max_length=128, on_long="skip")
    assert [feature.question_index for feature in left] == [0]


def test_the_overlap_shrinks_with_the_room() -> None:
    long = ask("y " * 100, question="x " * 40)
    features = featurise([long], TOKENIZER, max_length=83, overlap=64)
    assert [feature.characters[0].tolist() for feature in features] == [
        [40 * n, 40 * n + 1] for n in range(4)
    ]


@steady
@given(st.text(min_size=1, max_size=60), st.data())
def test_any_answer_in_any_text(context: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(context) - 1))
    end = data.draw(st.integers(start + 1, len(context)))
    question = Question("q", "", "who?", context, (Answer(context[start:end], start),), False)
    (feature,) = featurise([question], TOKENIZER, train=True)
    touched = [
        place
        for place, (left, right) in enumerate(feature.characters.tolist(), feature.document_start)
        if left < end and right > start
    ]
    assert feature.golds == (((touched[0], touched[-1]),) if touched else ())
