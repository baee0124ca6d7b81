"""Unanswerable questions: every kind on texts of our own, its refusals, and what holds for all of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from brookfield import BAKERY, FERRY, MILL, OBSERVATORY
from pocketbert.data.unanswerable import (
    KINDS,
    Answerable,
    Corpus,
    Span,
    Unanswerable,
    balanced,
    generate,
    harmless,
    hold_out,
    missing_words,
    mix,
    read_all,
    read_squad_json,
    squad_json,
    write_squad_json,
)
from pocketbert.data.unanswerable.generate import MAKERS
from pocketbert.data.unanswerable.harmless import REWORDERS
from pocketbert.data.unanswerable.words import is_open, sentences
from pocketbert.errors import InputError


def ask(number: int, question: str, context: str, answer: str) -> Answerable:
    return Answerable(
        f"q{number}", "village/Brookfield", question, context, (Span(answer, context.index(answer)),)
    )


QUESTIONS = [
    ask(1, "Who built the paper mill at Brookfield?", MILL, "Lucy Holt"),
    ask(2, "When did Samuel Reed open a tannery?", MILL, "1715"),
    ask(3, "What had the largest wheel in the valley?", MILL, "The mill"),
    ask(4, "What destroyed the tannery?", MILL, "A flood"),
    ask(5, "Who launched the ferry at Brookfield?", FERRY, "Martha Quill"),
    ask(6, "In what year was the ferry at Brookfield launched?", FERRY, "1731"),
    ask(7, "What was the ferry known for after the Long Frost?", FERRY, "grain"),
    ask(8, "Who founded the observatory at Highmoor in 1866?", OBSERVATORY, "Johann Kessel"),
    ask(9, "What metal is the observatory's dome made of?", OBSERVATORY, "copper"),
    ask(10, "How many students discovered a comet?", OBSERVATORY, "Two"),
    ask(11, "What did Walter Finch open at Brookfield?", BAKERY, "bakery"),
    ask(12, "What did the baker's shop sell to the miners?", BAKERY, "rye bread"),
    ask(13, "Where was the telescope shipped from?", OBSERVATORY, "Denmark"),
    ask(14, "Was the oven heated with coal?", BAKERY, "peat"),
]


CORPUS = Corpus(QUESTIONS)


def made(kind: str, question: Answerable) -> list[str]:
    """Every question, or every context where that is what changes, that a kind proposes for a question."""
    edits = [edit for seed in range(8) for edit in MAKERS[kind](question, CORPUS, random.Random(seed))]
    return list(
        dict.fromkeys(edit.context if edit.question == question.question else edit.question for edit in edits)
    )


@pytest.mark.parametrize(
    ("kind", "question", "expected"),
    [
        ("negation", QUESTIONS[0], "Who never built the paper mill at Brookfield?"),
        ("negation", QUESTIONS[1], "When didn't Samuel Reed open a tannery?"),
        ("antonym", QUESTIONS[2], "What had the smallest wheel in the valley?"),
        (
            "alternative",
            ask(20, "When did the mill become a museum?", MILL, "Today"),
            "When did the mill become a hospital?",
        ),
        ("name-in-context", QUESTIONS[1], "When did Lucy Holt open a tannery?"),
        ("name-elsewhere", QUESTIONS[10], "What did Martha Quill open at Brookfield?"),
        ("condition", QUESTIONS[0], "Who built the paper mill at Brookfield after the Long Frost?"),
        ("owner", QUESTIONS[10], "What did Walter Finch's sister open at Brookfield?"),
        ("question-word", QUESTIONS[5], "In what month was the ferry at Brookfield launched?"),
        (
            "tail",
            ask(22, "Who worked at the mill in 1715?", MILL, "Lucy Holt"),
            "Who worked at the mill in the valley?",
        ),
        ("nearest", ask(21, "Who opened the bakery at Brookfield?", BAKERY, "Walter Finch"), MILL),
        ("answer-removed", QUESTIONS[11], BAKERY.replace("The baker sold rye bread to the miners. ", "")),
        ("window", QUESTIONS[3], MILL[: MILL.index(" A flood")]),
    ],
    ids=lambda value: value if isinstance(value, str) and value in KINDS else "",
)
def test_kind_makes_the_question_a_person_might_write(kind: str, question: Answerable, expected: str) -> None:
    assert expected in made(kind, question)


def test_replaced_sentence_speaks_of_the_same_things() -> None:
    base = "The old lighthouse at Cape Marrow {0}. Its keeper wrote letters. Gulls nest on the lighthouse."
    tower = base.format("was painted by Olga Brandt")
    twin = "The old lighthouse at Cape Dunmore was struck by lightning in spring. Sheep graze around it."
    questions = [
        ask(30, "Who painted the old lighthouse at Cape Marrow?", tower, "Olga Brandt"),
        ask(31, "What struck the lighthouse at Cape Dunmore?", twin, "lightning"),
    ]
    edit = next(MAKERS["answer-replaced"](questions[0], Corpus(questions), random.Random(0)))
    assert edit.question == questions[0].question
    assert edit.context == tower.replace(sentences(tower)[0].text, sentences(twin)[0].text)


@pytest.mark.parametrize(
    ("kind", "question", "reason"),
    [
        (
            "negation",
            ask(40, "What did the king not eat?", "The king ate figs but not fish.", "fish"),
            "a contrast",
        ),
        (
            "negation",
            ask(
                41,
                "What did Anna paint?",
                "Anna did not paint the gate. She did paint the fence.",
                "the fence",
            ),
            "the context denies something of Anna",
        ),
        (
            "antonym",
            ask(42, "How long is the pier?", "The long pier has 90 metres.", "90 metres"),
            "same figure",
        ),
        (
            "antonym",
            ask(43, "What is the largest barn?", "The largest barn is Tam. The smallest is Bex.", "Tam"),
            "the opposite is in the context",
        ),
        (
            "name-in-context",
            ask(
                44,
                "When did Anna Reed become a member?",
                "Anna Reed and Peter Lane joined in 1920. Peter Lane sang.",
                "1920",
            ),
            "both stand in the sentence of the answer",
        ),
        (
            "name-in-context",
            ask(
                45, "How old was Anna Reed?", "Anna Reed was 90 years old. Peter Lane was 70 years old.", "90"
            ),
            "the same is told of the other",
        ),
        (
            "answer-removed",
            ask(46, "Who owns the dog?", "Eva owns the dog. The dog sleeps. The dog loves Eva.", "Eva"),
            "the answer stands elsewhere too",
        ),
        (
            "owner",
            ask(47, "Where did the king and the cook eat?", "The king and the cook ate at home.", "at home"),
            "two people",
        ),
        (
            "tail",
            ask(49, "Who swam in the cold lake?", "Ida swam in the cold lake in May.", "Ida"),
            "there is no other question",
        ),
        (
            "question-word",
            ask(48, "When did he go?", "He left in May because of rain.", "in May"),
            "a reason is given",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value in KINDS else "",
)
def test_kind_refuses_what_might_still_be_answered(kind: str, question: Answerable, reason: str) -> None:
    corpus = Corpus([question])
    assert list(MAKERS[kind](question, corpus, random.Random(0))) == [], reason


def test_nearest_paragraph_with_the_answer_is_no_place_to_ask() -> None:
    twin = "A bakery opened at Brookfield long ago. People still speak of Walter Finch."
    question = ask(50, "Who opened the stone bakery at Brookfield?", BAKERY, "Walter Finch")
    other = ask(51, "Of whom do people speak?", twin, "Walter Finch")
    assert list(MAKERS["nearest"](question, Corpus([question, other]), random.Random(0))) == []
    silent = ask(51, "Of whom do people speak?", twin.replace("Walter Finch", "Tom Bell"), "Tom Bell")
    assert list(MAKERS["nearest"](question, Corpus([question, silent]), random.Random(0))) != []


def test_every_item_is_changed_and_points_at_a_plausible_answer() -> None:
    items = list(generate(QUESTIONS, per_question=len(KINDS), corpus=CORPUS))
    originals = {question.id: question for question in QUESTIONS}
    assert len({item.id for item in items}) == len(items) > 2 * len(QUESTIONS)
    for item in items:
        origin = originals[item.origin]
        assert (item.question, item.context) != (origin.question, origin.context)
        if item.context == origin.context:
            assert item.plausible is not None
            assert item.context[item.plausible.start :].startswith(item.plausible.text)
        else:
            assert not any(answer.text in item.context for answer in origin.answers)


def test_yes_or_no_questions_are_left_alone() -> None:
    assert [item.kind for item in generate(QUESTIONS[13:], per_question=len(KINDS), corpus=CORPUS)] in (
        [],
        ["nearest"],
    )
    assert is_open("The mill was built in what year?")
    assert not is_open("Did they ask who built it?")


def test_same_seed_same_items_in_any_order() -> None:
    first = {item.id: item for item in generate(QUESTIONS, seed=3, per_question=3, corpus=CORPUS)}
    again = {item.id: item for item in generate(QUESTIONS[::-1], seed=3, per_question=3, corpus=CORPUS)}
    other = {item.id: item for item in generate(QUESTIONS, seed=4, per_question=3, corpus=CORPUS)}
    assert first == again
    assert {item.question for item in first.values()} != {item.question for item in other.values()}


def test_number_and_kinds_are_obeyed() -> None:
    one = Counter(item.origin for item in generate(QUESTIONS, corpus=CORPUS))
    assert set(one.values()) == {1}
    assert {item.kind for item in generate(QUESTIONS, kinds=["negation"], corpus=CORPUS)} == {"negation"}
    with pytest.raises(InputError, match=r"unknown kinds \['negated'\]; choose from \['negation', "):
        list(generate(QUESTIONS, kinds=["negated"]))
    with pytest.raises(InputError, match=r"unknown kinds \['synonyms'\]; choose from \['true-condition', "):
        list(harmless(QUESTIONS, kinds=["synonyms"]))


def test_harmless_edits_keep_every_answer() -> None:
    items = list(harmless(QUESTIONS, per_question=len(REWORDERS), corpus=CORPUS))
    originals = {question.id: question for question in QUESTIONS}
    assert {item.kind for item in items} == set(REWORDERS)
    for item in items:
        origin = originals[item.origin]
        assert (item.question, item.context) != (origin.question, origin.context)
        assert [answer.text for answer in item.answers] == [answer.text for answer in origin.answers]
        assert all(item.context[answer.start :].startswith(answer.text) for answer in item.answers)


@pytest.mark.parametrize(
    ("kind", "question", "expected"),
    [
        ("true-condition", QUESTIONS[0], "Who built the paper mill at Brookfield in 1702?"),
        ("true-condition", QUESTIONS[3], "What destroyed the tannery during the Great Storm?"),
        ("synonym", QUESTIONS[0], "Who constructed the paper mill at Brookfield?"),
        ("contrast", QUESTIONS[10], "What did Walter Finch, not Martha Quill, open at Brookfield?"),
    ],
)
def test_harmless_wording(kind: str, question: Answerable, expected: str) -> None:
    found = [
        rewording.question
        for seed in range(8)
        for rewording in REWORDERS[kind](question, CORPUS, random.Random(seed))
    ]
    assert expected in found


def test_mixture_has_the_ratio_and_keeps_ids() -> None:
    many = [
        Answerable(
            f"{question.id}.{copy}", question.title, question.question, question.context, question.answers
        )
        for copy in range(5)
        for question in QUESTIONS
    ]
    items = mix(many, ratio=0.5, harmless_ratio=0.2, seed=1)
    assert items[: len(many)] == many
    unanswerable = [item for item in items if isinstance(item, Unanswerable)]
    assert len(unanswerable) == 35
    assert sum(isinstance(item, Answerable) and item.kind != "" for item in items) == 14
    assert max(Counter(item.origin for item in unanswerable).values()) <= 2
    assert items == mix(many, ratio=0.5, harmless_ratio=0.2, seed=1)


def test_missing_words_are_content_words_without_a_relative() -> None:
    assert missing_words("Who invented the paper mill?", "The invention of paper; a mill.") == 0
    assert missing_words("Who painted the wooden gate?", "The gate was old.") == 2


def test_balanced_items_give_nothing_away() -> None:
    answerable, unanswerable = [], []
    for number in range(2000):
        missing = number % 4
        question = "Who saw the lamp" + "".join(f" strange{letter}" for letter in "abc"[:missing]) + "?"
        if number % 3 or not missing:
            answerable.append(Answerable(f"a{number}", "t", question, "Eva saw the lamp.", (Span("Eva", 0),)))
        if number % 3 == 0 or number % 40 == 0:
            kind = "negation" if number % 5 < 3 else "antonym"
            unanswerable.append(Unanswerable(f"u{number}", "t", question, "Eva saw the lamp.", kind, ""))
    drawn = balanced([*answerable, *unanswerable], answerable_ratio=1.5, weights={"negation": 0.01}, seed=3)
    for missing in range(4):
        group = [item for item in drawn if missing_words(item.question, item.context) == missing]
        wrong = [item for item in group if isinstance(item, Unanswerable)]
        assert wrong
        assert len(group) - len(wrong) == pytest.approx(1.5 * len(wrong), abs=1)
    kinds = Counter(item.kind for item in wrong)  # of the last group, in which there is a choice
    assert kinds["antonym"] > 3 * kinds["negation"], "although there are fewer"
    assert drawn == balanced(
        [*answerable, *unanswerable], answerable_ratio=1.5, weights={"negation": 0.01}, seed=3
    )


def test_held_out_paragraphs_never_train() -> None:
    near = MILL.replace("Today the yellow mill is a museum.", "Nobody lives there.")
    contexts = [
        f"{word} paragraph number {word} tells of {word} and of nothing else." for word in "abcdefghij"
    ]
    questions = [
        Answerable(f"{file}{index}", f"{file}/title", "Who?", context, (Span(context[:1], 0),))
        for file in ("one", "two")
        for index, context in enumerate([MILL, near.upper(), *contexts])
    ]
    for seed in range(12):
        train, held = hold_out(questions, 8, seed=seed)
        assert len(train) + len(held) == len(questions)
        assert 8 <= len(held) <= 11
        assert {question.context for question in train}.isdisjoint(question.context for question in held)
        sides = {question in held for question in questions if question.context in (MILL, near.upper())}
        assert len(sides) == 1
        assert hold_out(questions, 8, seed=seed) == (train, held)


def test_squad_json_round_trip(tmp_path: Path) -> None:
    items = mix(QUESTIONS, ratio=1.0)
    file = tmp_path / "village.json"
    write_squad_json(file, items)
    stored = json.loads(file.read_text(encoding="utf-8"))
    assert stored == squad_json(items)
    entries = [entry for article in stored["data"] for part in article["paragraphs"] for entry in part["qas"]]
    assert {entry["id"]: entry["kind"] for entry in entries} == {item.id: item.kind for item in items}
    assert all(entry["is_impossible"] == (not entry["answers"]) for entry in entries)
    assert set(read_squad_json(file)) == set(QUESTIONS)
    assert {question.title for question in read_all([file])} == {"village/village/Brookfield"}


def test_file_of_another_form_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    file.write_text('{"data": [{"paragraphs": [{"text": "no context"}]}]}', encoding="utf-8")
    with pytest.raises(InputError, match=r"wrong.json is not in SQuAD's form \(KeyError\('qas'\)\)"):
        read_squad_json(file)


def test_every_kind_finds_work_in_real_questions(unpacked: Callable[[str], Path]) -> None:
    questions = read_all([unpacked("qa") / "squadshifts-wiki-train.json"])[:600]
    items = list(generate(questions, per_question=len(KINDS)))
    assert {item.kind for item in items} == set(KINDS)
    assert len(items) > len(questions)
