"""transformers' removed pipeline: its arguments and dictionaries, without its defects."""

from __future__ import annotations

from pathlib import Path
from types import GeneratorType

import pytest

import toy_reader
from pocketbert.errors import InputError
from pocketbert.runtime.pipeline import pipeline
from pocketbert.runtime.pipelines.questions import QuestionAnsweringPipeline
from pocketbert.runtime.questions import QuestionAnswerer

CONTEXT = "They found gold in the river. Some say silver too! Bronze came later."
FILLER = "the weather was fine and the people went to the market as they did on every day of the week . "


@pytest.fixture(scope="module")
def qa(toy: QuestionAnswerer) -> QuestionAnsweringPipeline:
    return pipeline("question-answering", model=toy)


def test_a_pipeline_from_a_folder(toy_folder: Path) -> None:
    answer = pipeline("question-answering", model=str(toy_folder), device=-1, threads=1)(
        question="What?", context=CONTEXT
    )
    assert set(answer) == {"score", "start", "end", "answer"}
    assert (answer["start"], answer["end"], answer["answer"]) == (11, 15, "gold")
    assert answer["score"] > 0.98
    assert all(
        isinstance(answer[key], kind) for key, kind in (("score", float), ("start", int), ("end", int))
    )


def test_every_form_of_input(qa: QuestionAnsweringPipeline) -> None:
    one = qa(question="What?", context=CONTEXT)
    example = {"question": "What?", "context": CONTEXT}
    assert (
        qa(example)
        == qa([example])
        == qa(X=example)
        == qa(data=[example])
        == qa(question=["What?"], context=CONTEXT)
        == one
    )
    assert qa([example, example]) == qa(example, example) == [one, one]
    assert qa(question=["What?", "Why?"], context=CONTEXT) == [one, one]
    assert qa(question=["What?", "Why?"], context=[CONTEXT, CONTEXT]) == [one, one]
    assert qa(question="What?", context=[CONTEXT, CONTEXT]) == [one, one]
    stream = qa(dict(example) for _ in range(3))
    assert isinstance(stream, GeneratorType)
    assert list(stream) == [one] * 3
    assert qa([]) == []


def test_top_k(qa: QuestionAnsweringPipeline) -> None:
    rows = qa(question="What?", context=CONTEXT, top_k=5)
    assert len(rows) == 5
    assert rows[0]["answer"] == "gold"
    assert "gold in the river. Some say silver" in [row["answer"] for row in rows]  # they may overlap
    assert len({row["answer"].lower() for row in rows}) == 5
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) <= 1
    assert isinstance(qa(question="What?", context="gold", top_k=5), dict)  # one answer is all there is


def test_top_k_is_full(qa: QuestionAnsweringPipeline) -> None:
    """A text of n words has n (n + 1) / 2 spans within the limit, and all of them are given."""
    rows = qa(question="What?", context="a b c d e f", top_k=100)
    assert len(rows) == 21
    assert len(qa(question="What?", context="a b c d e f", top_k=100, max_answer_len=2)) == 11
    many = " ".join(f"{letter} {number}" for number, letter in enumerate("abcdefghijklmnop"))
    assert len(qa(question="What?", context=many, top_k=300)) == 300


def test_identical_texts_are_merged(qa: QuestionAnsweringPipeline) -> None:
    rows = qa(question="What?", context="gold, Gold and GOLD", top_k=20)
    assert [row["answer"].lower() for row in rows].count("gold") == 1
    assert rows[0] == {"answer": "gold", "start": 0, "end": 4, "score": pytest.approx(1 / 2, abs=0.01)}


def test_windows_can_be_compared(qa: QuestionAnsweringPipeline) -> None:
    """The better of two answers wins in whichever window it is; scores of one call sum to at most 1."""
    for context in (f"silver {FILLER * 8} gold", f"gold {FILLER * 8} silver"):
        rows = qa(question="What?", context=context, top_k=2)
        assert [row["answer"] for row in rows] == ["gold", "silver"]
        assert [context[row["start"] : row["end"]] for row in rows] == ["gold", "silver"]
        assert sum(row["score"] for row in rows) <= 1
    none = qa(question="What?", context=FILLER * 8, handle_impossible_answer=True)
    assert none == {"score": pytest.approx(1.0, abs=0.01), "start": 0, "end": 0, "answer": ""}


def test_an_impossible_answer_is_given_only_if_asked_for(qa: QuestionAnsweringPipeline) -> None:
    assert qa(question="What?", context="nothing here")["answer"] != ""
    rows = qa(question="What?", context="nothing here", handle_impossible_answer=True, top_k=3)
    assert rows[0]["answer"] == ""
    assert len(rows) == 3
    sure = qa(question="What?", context=CONTEXT, handle_impossible_answer=True, top_k=9)
    assert "" not in [row["answer"] for row in sure[:1]]


def test_words_are_whole_unless_told_otherwise(tmp_path: Path) -> None:
    piece = "##bert"
    reader = QuestionAnswerer.load(toy_reader.save_reader(tmp_path, logits={piece: 9.0}))
    qa = pipeline(model=reader)
    assert qa(question="What?", context="A Pocketbert reads")["answer"] == "Pocketbert"
    assert qa(question="What?", context="A Pocketbert reads", align_to_words=False)["answer"] == "bert"


def test_answers_have_at_most_max_answer_len_tokens(tmp_path: Path) -> None:
    reader = QuestionAnswerer.load(toy_reader.save_reader(tmp_path, logits={"gold": 9.0}))
    context = "gold " * 30
    longest = max(
        qa_row["answer"].count("gold")
        for qa_row in pipeline(model=reader)(question="?", context=context, top_k=99)
    )
    assert longest == 15


def test_windows_follow_max_seq_len_and_doc_stride(qa: QuestionAnsweringPipeline) -> None:
    context = FILLER * 10 + "gold"
    for arguments in ({"max_seq_len": 50}, {"max_seq_len": 128, "doc_stride": 0}, {"doc_stride": 60}):
        assert qa(question="What?", context=context, **arguments)["answer"] == "gold"
    with pytest.raises(InputError, match="window is 600; this model reads at most 512"):
        qa(question="What?", context=context, max_seq_len=600)


def test_defaults_can_be_given_at_the_beginning(toy: QuestionAnswerer) -> None:
    qa = pipeline(model=toy, top_k=2)
    assert len(qa(question="What?", context=CONTEXT)) == 2
    assert qa(question="What?", context=CONTEXT, top_k=1)["answer"] == "gold"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"top_k": 0}, "top_k is 0; it must be a whole number from 1 up"),
        ({"max_answer_len": 0}, "max_answer_len is 0"),
        ({"doc_stride": -1}, "doc_stride is -1; it must be a whole number from 0 up"),
        ({"doc_stride": 400, "max_seq_len": 384}, "doc_stride is 400 and max_seq_len is 384"),
        ({"doc_stride": 65}, "doc_stride is 65 and max_seq_len is 64"),
        ({"handle_impossible_answer": "yes"}, "handle_impossible_answer is 'yes'"),
        ({"max_question_len": 2}, "the question has 4 tokens, and max_question_len is 2"),
        ({"temperature": 3}, "there is no argument temperature; there are top_k, doc_stride"),
    ],
)
def test_wrong_arguments(qa: QuestionAnsweringPipeline, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        qa(question="What is it?", context="gold", **arguments)
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize(
    ("inputs", "named", "message"),
    [
        ([], {}, "the input is nothing; give question= and context="),
        ([], {"question": "What?"}, "the input is question; give question= and context="),
        (["What?"], {}, "the input is of the type str"),
        ([None], {}, "the input is None"),
        (["What?", "gold"], {}, "an example is of the type str"),
        ([], {"question": None, "context": "gold"}, "the question is None"),
        ([], {"question": "What?", "context": None}, "the context is None"),
        ([], {"question": "", "context": "gold"}, "the question is empty"),
        ([], {"question": "What?", "context": ""}, "the context is empty"),
        ([], {"question": ["a?", "b?"], "context": ["gold"]}, "2 questions and 1 contexts"),
        ([{}], {"question": "What?"}, "both by position and as question"),
    ],
)
def test_wrong_inputs(
    qa: QuestionAnsweringPipeline, inputs: list[object], named: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        qa(*inputs, **named)


def test_a_missing_key_is_still_a_key_error(qa: QuestionAnsweringPipeline) -> None:
    with pytest.raises(KeyError) as caught:
        qa({"question": "What?", "text": "gold"})
    assert isinstance(caught.value, InputError)
    assert str(caught.value) == "an example has no 'context'; it has question, text"


def test_what_cannot_be_had() -> None:
    with pytest.raises(InputError, match="the task is 'translation'; there are 'question-answering', 'text-"):
        pipeline("translation")
    with pytest.raises(InputError, match="device is 'cuda'; this runtime works on the CPU"):
        pipeline(device="cuda")
    with pytest.raises(InputError, match="there is no argument colour"):
        pipeline(model="nowhere/at-all", colour="red")
