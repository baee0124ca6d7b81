"""JavaScript reads as Python does: the same windows in the same order, and the same answers from the same logits."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from pocketbert.runtime.answer import Answer, Result
from pocketbert.runtime.batches import batches
from pocketbert.runtime.documents import Document, Plan
from pocketbert.runtime.inquiry import Inquiry
from pocketbert.runtime.options import Options
from pocketbert.text import Tokenizer
from pocketbert.text.calibration import Calibration
from pocketbert.text.loading import EMBEDDED
from pocketbert.text.sentences import sentence_around
from strange_texts import strange_texts, utf16, whole_pairs
from web_cases import BAKERY, CAFE, CASES, LIGHTHOUSE, LONG, RIVER, TELESCOPE
from web_package import asked

TOKENIZER = Tokenizer.load()
PASSAGES = [LIGHTHOUSE, BAKERY, RIVER, CAFE, TELESCOPE, LONG]
SNIPPETS = (
    *(
        "Dr. No",
        "e.g. this",
        "U.S. law",
        "pp. 3",
        "Σ. A",
        "end.” Then",
        "What?! Yes",
        "so… But",
        "3. point",
        "\n- a",
    ),
    *(
        "\n\n",
        "\n 12) b",
        "a | b\nc | d",
        "。次",
        "(cf. above)",
        "no. Then",
        "٣. b",
        "x\u3000",
        ".\x1cA",
        "😀. B",
        "_Mr. X",
    ),
)


def test_inquiries_with_the_same_logits_give_the_same_answers() -> None:
    draw = random.Random(11)
    requests, expected = [], []
    for number in range(160):
        request, result = inquiry(draw, number)
        requests.append(request)
        expected.append((request, *result))
    assert {result.found for *_, result in expected} == {True, False}
    assert any(not result.read.complete for *_, result in expected)
    for (request, plan, order, result), found in zip(expected, asked(EMBEDDED, requests), strict=True):
        windows = [plan.window(number) for number in range(len(plan))]
        assert found["windows"] == [
            {
                "inputIds": list(window.input_ids),
                "tokenTypeIds": list(window.token_type_ids),
                "best": list(window.best[window.document_start : len(window) - 1]),
                "firstToken": window.first_token,
                "documentStart": window.document_start,
            }
            for window in windows
        ]
        assert found["order"] == order
        compare(found["result"], result, request["passages"])


def test_sentences_are_the_same() -> None:
    draw = random.Random(5)
    texts = [*PASSAGES, *("".join(_snippets(draw)) for _ in range(600)), *strange_texts(3, 300)]
    texts = [whole_pairs(text) for text in texts if text]
    stretches = []
    for text in texts:
        for _ in range(4):
            start = draw.randrange(len(text))
            stretches.append((text, start, min(len(text), start + draw.randrange(1, 12))))
    requests = [
        {"ask": "sentence", "text": text, "start": utf16(text, start), "end": utf16(text, end)}
        for text, start, end in stretches
    ]
    for (text, start, end), found in zip(stretches, asked(EMBEDDED, requests), strict=True):
        first, last = sentence_around(text, start, end)
        assert found == [utf16(text, first), utf16(text, last)], (text, start, end)


def test_batches_are_the_same() -> None:
    draw = random.Random(2)
    rows = [
        [draw.choice((12, 13, 60, 127, 128, 384)) for _ in range(draw.randrange(1, 40))] for _ in range(100)
    ]
    assert asked(EMBEDDED, ({"ask": "batches", "lengths": row} for row in rows)) == [
        batches(row) for row in rows
    ]


def inquiry(draw: random.Random, number: int) -> tuple[dict[str, Any], tuple[Plan, list[int], Result]]:
    """A question, what Python makes of it, and the logits that were drawn for it, in steps that make ties common."""
    question = draw.choice(CASES)[0] if number % 8 else "Ist [SEP] 東京 wo?"
    passages = draw.sample(PASSAGES, draw.choice((1, 1, 1, 2, 3)))
    if number % 5 == 0:
        strange = [text for text in strange_texts(number, 40) if text.strip()]
        passages.append(whole_pairs(" ".join(strange)))
    calibration = Calibration(
        window=draw.choice((64, 100, 128, 384)),
        overlap=draw.choice((0, 16, 64, 128)),
        max_answer_length=draw.choice((1, 7, 30)),
        temperature=draw.uniform(0.4, 2),
        slope=draw.uniform(0.1, 1),
        bias=draw.uniform(-3, 3),
        threshold=draw.random(),
    )
    chosen: dict[str, Any] = {"top_k": draw.choice((1, 3, 8)), "read": draw.choice(("fast", "all"))}
    chosen |= {"align_to_words": draw.random() < 0.7, "overlapping": draw.random() < 0.3}
    chosen |= {"miss": draw.choice((0.01, 0.05, 0.4)), "least": draw.choice((1, 3))}
    documents = [Document.of(passage, TOKENIZER) for passage in passages]
    ids = tuple(token for token, _ in TOKENIZER.stream(question))
    plan = Plan.of(ids, documents, max_length=calibration.window, overlap=calibration.overlap)
    generator = np.random.default_rng(number)
    spread = draw.choice((1.0, 4.0))
    logits = [
        [(generator.normal(-2, spread, plan.length(row)) * 8).round() / 8 for _ in range(2)]
        for row in range(len(plan))
    ]
    for start, end in logits:
        start[0] = end[0] = draw.choice((-1.0, 2.0, 6.0))
    reading = Inquiry(question, plan, calibration, Options(**chosen))
    order = []
    while not reading.done:
        for row in reading.take(128):
            order.append(row)
            reading.hear(row, plan.window(row), *logits[row])
    request = {
        "ask": "inquire",
        "question": question,
        "passages": passages,
        "calibration": vars(calibration),
        "options": {camel_case(name): value for name, value in chosen.items()},
        "logits": [[start.tolist(), end.tolist()] for start, end in logits],
    }
    return request, (plan, order, reading.result())


def compare(found: dict[str, Any], expected: Result, passages: list[str]) -> None:
    near = {"rel": 1e-9, "abs": 1e-12}
    assert found["found"] == expected.found
    assert found["noAnswer"] == pytest.approx(expected.no_answer, **near)
    assert found["text"] == expected.text
    assert found["score"] == pytest.approx(expected.score, **near)
    assert found["answers"] == (found["candidates"] if expected.found else [])
    read = expected.read
    assert found["read"] == {
        "windows": read.windows,
        "of": read.of,
        "tokens": read.tokens,
        "ofTokens": read.of_tokens,
        "complete": read.complete,
    }
    assert [answer["document"] for answer in found["candidates"]] == [
        answer.document for answer in expected.candidates
    ]
    for theirs, ours in zip(found["candidates"], expected.candidates, strict=True):
        same_answer(theirs, ours, passages[ours.document])
    for report, ours in zip(found["windows"], expected.windows, strict=True):
        passage = passages[ours.document]
        places = (report["document"], report["start"], report["end"], report["best"])
        assert places == (ours.document, utf16(passage, ours.start), utf16(passage, ours.end), ours.best)
        assert report["promise"] == pytest.approx(ours.promise, **near)
        assert report["score"] == pytest.approx(ours.score, **near)


def same_answer(found: dict[str, Any], expected: Answer, passage: str) -> None:
    sentence = expected.sentence
    assert found["text"] == expected.text
    assert (found["start"], found["end"]) == (utf16(passage, expected.start), utf16(passage, expected.end))
    assert found["sentence"] == {
        "text": sentence.text,
        "start": utf16(passage, sentence.start),
        "end": utf16(passage, sentence.end),
    }
    for name, value in (
        ("score", expected.score),
        ("logit", expected.logit),
        ("noAnswer", expected.no_answer),
    ):
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12)


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def _snippets(draw: random.Random) -> list[str]:
    words = ("the cat", "Sat", "on", "a mat", "42", "é", "😀")
    return [
        draw.choice(SNIPPETS if draw.random() < 0.5 else words) + draw.choice((" ", ". ", ""))
        for _ in range(20)
    ]
