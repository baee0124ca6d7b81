"""Asking: answers and their places, silence, batches, streams, deadlines, and everything that can be wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toy_reader
from pocketbert.errors import (
    InputError,
    PocketbertError,
)
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.text import windows
from pocketbert.text.calibration import Calibration

FILLER = "the weather was fine and the people went to the market as they did on every day of the week . "
PAGE = "They found gold in the river. Some say silver too! Bronze came later."


def test_an_answer_and_all_it_says(toy: QuestionAnswerer) -> None:
    result = toy("What did they find?", PAGE)
    assert (result.text, result.start, result.end) == ("gold", 11, 15)
    assert result.found
    assert len(result) == 1
    (answer,) = result
    assert PAGE[answer.start : answer.end] == answer.text
    assert answer.score == result.score > 0.98
    assert answer.logit == 20.0
    assert answer.no_answer == result.no_answer < 0.01
    assert (answer.sentence.text, answer.sentence.start, answer.sentence.end) == (
        "They found gold in the river.", 0, 29,
    )  # fmt: skip
    assert (answer.read.windows, answer.read.of, answer.read.complete) == (1, 1, True)
    assert answer.read.tokens == answer.read.of_tokens == 16


def test_silence(toy: QuestionAnswerer) -> None:
    result = toy("What did they find?", "They went to the river and came back.")
    assert not result.found
    assert list(result) == []
    assert (result.text, result.start, result.end) == ("", 0, 0)
    assert result.score == result.no_answer > 0.99
    assert result.read.complete
    assert result.candidates  # what it would have said
    assert toy("What?", "They went to the river.", threshold=1.0).found


def test_top_k_is_full_and_prefers_answers_that_share_no_word(toy: QuestionAnswerer) -> None:
    result = toy("What did they find?", PAGE, top_k=3)
    assert [answer.text for answer in result] == ["gold", "silver", "Bronze"]
    scores = [answer.score for answer in result]
    assert scores == sorted(scores, reverse=True)
    few = toy("What?", "A gold ring", top_k=5)
    assert [answer.text for answer in few] == ["gold", "A", "ring", "A gold", "gold ring"]
    assert sorted(answer.text for answer in toy("What?", "A gold ring", top_k=50)) == sorted(
        ["gold", "A", "ring", "A gold", "gold ring", "A gold ring"]
    )
    variants = toy("What?", "A gold ring", top_k=3, overlapping=True)
    assert [answer.text for answer in variants] == ["gold", "A gold", "gold ring"]


def test_fifty_variants_of_one_answer_do_not_hide_the_next(tmp_path: Path) -> None:
    calibration = Calibration(window=256, overlap=16, max_answer_length=30)
    reader = QuestionAnswerer.load(toy_reader.save_reader(tmp_path, calibration=calibration))
    words = " ".join(chr(97 + number % 26) * 2 for number in range(40))
    result = reader(
        "What?", f"{words} gold {words} copper {words}", top_k=2
    )  # 59 spans hold gold and beat copper
    assert [answer.text for answer in result] == ["gold", "copper"]


@pytest.mark.parametrize("context", ["gold came first", "last came gold", "gold"])
def test_first_and_last_word_can_be_answers(toy: QuestionAnswerer, context: str) -> None:
    assert toy("What?", context).text == "gold"


def test_a_score_does_not_depend_on_how_many_are_asked_for(nano: QuestionAnswerer) -> None:
    context = FILLER * 12
    one = nano("Where did people go?", context, read="all", threshold=1.0)
    many = nano("Where did people go?", context, read="all", threshold=1.0, top_k=40)
    assert one[0].score == pytest.approx(many[0].score)
    assert one.no_answer == pytest.approx(many.no_answer)


@pytest.mark.parametrize("repeats", [1, 4, 12])
def test_reading_all_gives_what_the_calibration_gives(
    nano_folder: Path, nano: QuestionAnswerer, repeats: int
) -> None:
    """The same windows through torch, and the maths on all of them at once, as when the calibration was fitted.

    The question shares no word with the context, so that all windows promise the same.
    """
    import torch

    from pocketbert.heads import load

    context = "".join(f"On the day number {day} {FILLER}" for day in range(repeats))
    parts = windows("Quis custodiet?", context, nano.tokenizer, max_length=96, overlap=32)
    assert len(parts) == {1: 1, 4: 2, 12: 6}[repeats]
    model = load(nano_folder).eval()
    with torch.no_grad():
        outputs = [
            model(
                *(torch.tensor([row]) for row in (part.input_ids, part.attention_mask, part.token_type_ids))
            )
            for part in parts
        ]
    expected = nano.calibration.apply(
        context,
        parts,
        [out.start_logits[0] for out in outputs],
        [out.end_logits[0] for out in outputs],
        count=5,
    )
    given = nano(
        "Quis custodiet?", context, read="all", top_k=5, overlapping=True, align_to_words=False, threshold=1.0
    )
    assert given.no_answer == pytest.approx(expected.no_answer, abs=1e-5)
    assert [(answer.text, answer.start) for answer in given] == [
        (answer.text, answer.start) for answer in expected.answers
    ]
    assert [answer.score for answer in given] == pytest.approx(
        [answer.probability for answer in expected.answers], rel=1e-4
    )


def test_a_batch_gives_what_single_questions_give(nano: QuestionAnswerer) -> None:
    contexts = [f"{FILLER * (number % 4)} On day {number} something else happened." for number in range(20)]
    questions = [f"What happened on day {number}?" for number in range(20)]
    together = nano(questions, contexts, top_k=3, threshold=1.0)
    for question, context, result in zip(questions, contexts, together, strict=True):
        alone = nano(question, context, top_k=3, threshold=1.0)
        assert [answer.text for answer in result] == [answer.text for answer in alone]
        np.testing.assert_allclose([a.score for a in result], [a.score for a in alone], rtol=1e-4)
        assert result.question == question


def test_batches_of_questions_of_contexts_and_of_both(toy: QuestionAnswerer) -> None:
    gold, silver = "There is gold.", "There is silver."
    assert [result.text for result in toy(["What?", "Why?"], gold)] == ["gold", "gold"]
    assert [result.text for result in toy("What?", [gold, silver])] == ["gold", "silver"]
    assert [result.text for result in toy(["What?", "Why?"], [gold, silver])] == ["gold", "silver"]
    assert toy([], gold) == toy("What?", []) == toy([], []) == []
    with pytest.raises(InputError, match="3 questions and 2 contexts"):
        toy(["a?", "b?", "c?"], [gold, silver])


def test_a_stream_is_answered_as_it_comes(toy: QuestionAnswerer) -> None:
    taken = []

    def stream() -> Iterator[object]:
        for number in range(10):
            taken.append(number)
            yield (
                ("What?", f"{number} gold")
                if number % 2
                else {"question": "What?", "context": f"{number} silver"}
            )

    answers = toy.answers(stream(), ahead=3)
    assert taken == []
    assert next(answers).text == "silver"
    assert taken == [0, 1, 2]
    assert [result.text for result in answers] == ["gold", "silver"] * 4 + ["gold"]
    with pytest.raises(InputError, match="ahead is 0"):
        toy.answers([], ahead=0)
    for entry, message in (
        ("gold", "give pairs"),
        ({"question": "?"}, "has no context"),
        (("a",), "give pairs"),
    ):
        with pytest.raises(InputError, match=message):
            list(toy.answers([entry]))


def test_a_document_is_tokenised_once_for_many_questions(
    toy: QuestionAnswerer, nano: QuestionAnswerer
) -> None:
    document = toy.document(PAGE)
    assert toy("What?", document) == toy("What?", PAGE)
    assert [result.text for result in toy(["What?", "Why?"], document)] == ["gold", "gold"]
    assert toy.document(document) is document
    with pytest.raises(InputError, match="made by another reader"):
        nano("What?", document)


def test_among_several_texts(toy: QuestionAnswerer) -> None:
    texts = [FILLER, "Bronze here.", f"{FILLER * 5} silver and gold.", "copper"]
    result = toy.among("What?", texts, top_k=3, read="all")
    assert [(answer.text, answer.document) for answer in result] == [
        ("gold", 2),
        ("silver", 2),
        ("Bronze", 1),
    ]
    for answer in result:
        assert texts[answer.document][answer.start : answer.end] == answer.text
    assert result.read.of == sum(toy("What?", text).read.of for text in texts)
    one = toy.among("What?", [PAGE])
    assert one == toy("What?", PAGE)
    for wrong in ("text", [], None):
        with pytest.raises(InputError, match="give a list of at least one text"):
            toy.among("What?", wrong)


def test_windows_are_weighted_with_their_promise(toy: QuestionAnswerer) -> None:
    """Two windows with the same word: the one that the question is about counts as much more as it promises."""
    context = f"Far away there was gold. {FILLER * 2} {FILLER} The comet brought gold!"
    result = toy("What did the comet bring?", context, read="all", top_k=2)
    assert len(result.windows) == 2
    first, second = result.windows
    assert first.promise > second.promise
    assert first.score / second.score == pytest.approx(first.promise / second.promise, rel=1e-3)
    assert result[0].start == context.rindex("gold")  # the better place of the two


class TestLongDocuments:
    def test_fast_reading_stops_at_a_sure_answer(self, toy: QuestionAnswerer) -> None:
        context = FILLER * 40 + "The comet brought gold. " + FILLER * 40
        result = toy("What did the comet bring?", context)
        assert result.text == "gold"
        assert result.read.windows == 3 < result.read.of > 30
        assert not result.read.complete
        assert 0 < result.read.tokens < result.read.of_tokens
        assert result.windows[0].promise > 0.5
        assert result.windows[0].best == "gold"

    def test_no_answer_is_said_only_after_everything(self, toy: QuestionAnswerer) -> None:
        context = FILLER * 40 + "The comet brought nothing. " + FILLER * 40
        result = toy("What did the comet bring?", context, miss=1.0)
        assert not result.found
        assert result.read.complete

    def test_an_answer_far_from_the_questions_words_is_found(self, toy: QuestionAnswerer) -> None:
        context = "The comet came. The comet went. " * 9 + FILLER * 40 + "It brought gold." + FILLER * 5
        assert toy("What of the comet?", context).text == "gold"

    def test_an_unsure_answer_is_not_enough(self, toy: QuestionAnswerer) -> None:
        context = "The comet brought copper. " + FILLER * 40 + "Elsewhere there was gold. " + FILLER * 40
        hasty = toy("What did the comet bring?", context, threshold=1.0, miss=1.0, least=1)
        assert hasty.text == "copper"
        assert toy("What did the comet bring?", context, threshold=1.0).text == "gold"

    def test_reading_all_reads_all(self, toy: QuestionAnswerer) -> None:
        context = "The comet brought gold. " + FILLER * 40
        result = toy("What did the comet bring?", context, read="all")
        assert result.read.complete
        assert result.read.tokens == result.read.of_tokens
        assert sum(window.score for window in result.windows) == pytest.approx(1 - result.no_answer)
        assert sum(window.promise for window in result.windows) == pytest.approx(1)

    def test_a_deadline_gives_what_was_found_until_then(self, toy: QuestionAnswerer) -> None:
        context = FILLER * 3000
        result = toy("What?", context, deadline=0.0, read="all")
        assert 0 < result.read.windows < result.read.of
        assert not result.found
        results = toy(["What?"] * 200, FILLER, deadline=0.0)
        assert results[0].read.complete
        assert results[-1].read.windows == 0
        assert results[-1].no_answer == 1.0
        assert results[-1].candidates == ()

    def test_progress_is_told(self, toy: QuestionAnswerer) -> None:
        told: list[tuple[int, int]] = []
        result = toy("What?", FILLER * 40, progress=lambda *numbers: told.append(numbers))
        assert told[-1] == (result.read.of, result.read.of)
        assert told == sorted(told)

    def test_memory_is_bounded_on_a_book(self, toy_folder: Path) -> None:
        """400,000 words, read in full by a fresh process: what the reading adds is a fraction of the text's windows."""
        code = (
            "import resource, sys\n"
            "from pocketbert.runtime.questions import QuestionAnswerer\n"
            f"qa = QuestionAnswerer.load({str(toy_folder)!r})\n"
            "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3\n"
            f"line = {FILLER!r}\n"
            "qa('What?', line * 10)\n"
            "before = peak()\n"
            "result = qa('What?', line * 2000 + 'gold', read='all', window=512)\n"
            "print(result.text, result.read.complete, result.read.of_tokens, round(peak() - before))\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        text, complete, tokens, added = done.stdout.split()
        assert (text, complete) == ("gold", "True")
        assert int(tokens) > 40_000
        assert int(added) < 60  # MB; all windows at once would take some 25, their logits and spans more


WILD = st.text(
    alphabet=st.one_of(
        st.sampled_from("gold e\u0301\u0327\u200d\ufe0f\x00\ud800.\n,ﬁ한ก็שָ🧑🏽‍🚀中"),
        st.characters(),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=150)
@given(before=WILD, after=WILD, whole=st.booleans())
def test_the_answer_is_a_slice_of_the_context(toy, before: str, after: str, whole: bool) -> None:
    context = f"{before} gold {after}"
    for answer in toy("What?", context, top_k=4, threshold=1.0, align_to_words=whole):
        assert context[answer.start : answer.end] == answer.text
        assert answer.text.strip()
        assert context[answer.sentence.start : answer.sentence.end] == answer.sentence.text
        assert answer.text in answer.sentence.text
        assert 0 <= answer.score <= 1


@pytest.mark.parametrize("word", ["cafe\u0301", "Zoe\u0308", "gold\u0301\u0302"])
def test_combining_marks_stay_with_their_letter(tmp_path: Path, word: str) -> None:
    plain = {"cafe\u0301": "cafe", "Zoe\u0308": "zoe"}.get(word, "gold")
    reader = QuestionAnswerer.load(toy_reader.save_reader(tmp_path, logits={plain: 9.0}))
    assert reader("Where?", f"In the {word} there").text == word


def test_nothing_heavy_is_imported(toy_folder: Path) -> None:
    code = (
        "import sys\n"
        "from pocketbert import QuestionAnswerer, pipeline\n"
        f"reader = QuestionAnswerer.load({str(toy_folder)!r})\n"
        "assert reader('What?', 'gold').text == 'gold'\n"
        "assert pipeline(model=reader)(question='What?', context='gold')['answer'] == 'gold'\n"
        "print([name for name in ('torch', 'transformers', 'huggingface_hub', 'onnx', 'click', 'safetensors')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_error_is_of_the_house() -> None:
    assert issubclass(InputError, PocketbertError)
