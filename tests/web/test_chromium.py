"""The package in a real Chromium: the answers of Python's runtime, and a page that stays free and closed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pocketbert.runtime.manifest import write_manifest
from pocketbert.runtime.questions import QuestionAnswerer
from strange_texts import utf16
from toy_reader import save_reader
from web_cases import BAKERY, CASES, LONG, RIVER, TELESCOPE
from web_package import embedded_folder, in_chromium

# The same numbers in eight bits are rounded elsewhere in WebAssembly: probabilities differ a little, answers rarely.
NEAR = 0.05

Case = dict[str, Any]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return embedded_folder(tmp_path_factory.mktemp("embedded") / "model")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_reader(tmp_path_factory.mktemp("toy"))
    write_manifest(folder)
    return folder


def test_the_embedded_reader_answers_as_in_python(embedded: Path) -> None:
    cases = [*CASES, ("Where does the Oru rise?", LONG), ("Who directs the observatory?", LONG)]
    page = a_long_page()
    asked = [(question, [passage], {"topK": 3}) for question, passage in cases]
    asked.append(("Who directs the observatory?", [page], {"deadline": 0}))
    jobs = [dict(zip(("question", "passages", "options"), case, strict=True)) for case in asked]
    outcome = in_chromium("answers", embedded, cases=jobs)
    assert (outcome["device"], outcome["threads"], outcome["calibrated"]) == ("wasm", 1, True)
    assert outcome["stages"] == ["files", "engine"]
    assert outcome["bytes"]["loaded"] == outcome["bytes"]["total"] > 20_000_000
    reading = sum(row["milliseconds"] for row in outcome["results"])
    assert outcome["longest"] < reading / 10  # the page is never without its own thread for long

    qa = QuestionAnswerer.load(threads=1)
    *results, far = (row["result"] for row in outcome["results"])
    assert far["text"] == qa("Who directs the observatory?", page, deadline=0).text == "Dr. Ines Falk"
    assert (far["read"]["windows"], far["read"]["complete"]) == (3, False)
    others = []
    for (question, passage), found in zip(cases, results, strict=True):
        expected = qa(question, passage, top_k=3)
        places = (utf16(passage, expected.start), utf16(passage, expected.end))
        if (found["text"], found["start"], found["end"]) != (expected.text, *places):
            others.append((question, expected.text, found["text"]))
            continue
        assert found["noAnswer"] == pytest.approx(expected.no_answer, abs=NEAR)
        assert found["score"] == pytest.approx(expected.score, abs=NEAR)
        assert (found["found"], found["read"]["of"]) == (expected.found, expected.read.of)
        assert len(found["answers"]) == len(expected)
        for answer in found["answers"]:
            assert sliced(passage, answer["start"], answer["end"]) == answer["text"]
            sentence = answer["sentence"]
            assert sliced(passage, sentence["start"], sentence["end"]) == sentence["text"]
        if expected.found:
            assert found["answers"][0]["sentence"]["text"] == expected[0].sentence.text
    assert len(others) <= 1, others  # on a processor that rounds in yet another way


def test_a_reading_can_be_followed_cancelled_and_ended(embedded: Path) -> None:
    long = {"question": "Who directs the observatory?", "passage": LONG}
    outcome = in_chromium("life", embedded, long=long)
    windows = QuestionAnswerer.load(threads=1)(long["question"], LONG, read="all", deadline=0).read.of
    assert (
        outcome["aborted"]["name"]
        == outcome["stoppedLoad"]["name"]
        == outcome["cancelled"]["name"]
        == "AbortError"
    )
    assert [of for _, of in outcome["seen"]] == [windows] * len(outcome["seen"])
    read = outcome["seen"][-1][0]
    assert read < windows / 4
    assert (
        outcome["waited"] < outcome["pace"] * (windows - read) / 2
    )  # the next question did not wait for the rest
    assert outcome["after"]["read"]["complete"]
    assert 0 < outcome["late"]["windows"] < outcome["late"]["of"] == windows
    assert not outcome["late"]["complete"]
    errors = outcome["errors"]
    assert {name: error["name"] for name, error in errors.items()} == dict.fromkeys(errors, "InputError")
    assert "topk; the options are topK" in errors["option"]["message"]
    assert "a question of 400 tokens leaves 0 of 128" in errors["long"]["message"]
    assert "while it was reading" in outcome["disposed"][0]
    assert "load it again" in outcome["disposed"][1]
    assert outcome["workers"] == 0
    assert (
        outcome["memories"]["after"] < outcome["memories"]["held"] - 75
    )  # megabytes; the model alone takes that much


def test_files_that_are_not_the_right_ones_are_refused(toy: Path) -> None:
    outcome = in_chromium("refusals", toy)
    assert outcome["tampered"]["checkpoint"]
    assert "model.onnx is not the file it should be: its SHA-256 is" in outcome["tampered"]["message"]
    assert outcome["missing"]["checkpoint"]
    assert "nowhere/manifest.json cannot be fetched (status 404)" in outcome["missing"]["message"]
    assert outcome["worker"]["ours"]
    assert "nowhere.js failed" in outcome["worker"]["message"]


def test_threads_are_tried_on_an_isolated_page_only(toy: Path) -> None:
    case = {"question": "What is it?", "passages": ["It is gold."], "options": {}}
    outcome = in_chromium("threads", toy, cases=[case])
    alone = {"isolated": False, "threads": 1, "trials": [], "device": "wasm", "text": "gold"}
    assert outcome["plain"] == alone
    isolated = outcome["isolated"]
    times = {trial["threads"]: trial["milliseconds"] for trial in isolated["trials"]}
    assert list(times) == [1, 2]
    faster = min(times, key=lambda threads: (times[threads], threads))
    assert isolated == alone | {"isolated": True, "threads": faster, "trials": isolated["trials"]}


def test_webgpu_is_taken_where_it_reads_the_same(toy: Path) -> None:
    """By software here, which nobody gets without asking; a Chromium that has not even that reads by WebAssembly."""
    case = {"question": "What is it?", "passages": ["It is gold."], "options": {}}
    outcome = in_chromium("graphics", toy, cases=[case])
    devices = {name: found["device"] for name, found in outcome.items()}
    offered = "webgpu" if outcome["webgpu"]["offered"] else "wasm"
    assert devices == {"auto": "wasm", "webgpu": offered, "wasm": "wasm"}
    assert outcome["auto"] == outcome["wasm"]
    assert outcome["webgpu"]["text"] == "gold"
    assert outcome["webgpu"]["score"] == pytest.approx(outcome["wasm"]["score"], abs=1e-3)


def test_the_calls_of_tfjs_qna_work_and_its_defects_are_gone(toy: Path) -> None:
    passages = {
        "first": "Gold is what the first word of this passage says.",
        "last": "The last word of this passage is gold",
        "alone": "gold",
        "blank": " \n ",
        "controls": "\x1c\x85",
        "invisible": "\u200b",
        "repeated": "It is silver. " * 60 + "It is gold, and silver, and bronze, and gold again.",
        "none": "There is nothing of the kind in here.",
        "moved": "  😀 gold 😀",
    }
    cases = [{"question": "What is it?", "passages": [passage]} for passage in passages.values()]
    cases.append({"question": "what " * 2000 + "is it?", "passages": ["It is gold."]})
    outcome = in_chromium("script", toy, cases=cases)
    assert outcome["own"] == outcome["foreign"]
    assert outcome["own"]["version"]
    assert outcome["own"]["refused"] == "InputError"
    found = dict(zip([*passages, "asked"], outcome["own"]["found"], strict=True))
    assert outcome["own"]["same"] == found["first"]
    assert found["first"][0] == {"text": "Gold", "startIndex": 0, "endIndex": 4, "score": 20}
    assert found["last"][0] == {"text": "gold", "startIndex": 33, "endIndex": 37, "score": 20}
    assert found["alone"] == [{"text": "gold", "startIndex": 0, "endIndex": 4, "score": 20}]
    assert found["blank"] == found["controls"] == found["invisible"] == found["none"] == []
    assert found["moved"][0] == {"text": "gold", "startIndex": 5, "endIndex": 9, "score": 20}
    assert found["asked"][0]["text"] == "gold"
    texts = [answer["text"] for answer in found["repeated"]]
    assert len(texts) == len(set(texts)) == 5
    expected = QuestionAnswerer.load(toy)("What is it?", passages["repeated"], top_k=5, read="all")
    assert texts == [answer.text for answer in expected]
    assert [answer["score"] for answer in found["repeated"]] == [answer.logit for answer in expected]
    assert in_chromium("module", toy, cases=cases)["found"] == outcome["own"]["found"]


def a_long_page() -> str:
    """A hundred thousand words, in which one paragraph holds the answer."""
    draw = random.Random(1)
    words = [draw.choice((BAKERY + RIVER).split()) for _ in range(100_000)]
    return f"{' '.join(words[:60_000])}. {TELESCOPE} {' '.join(words[60_000:])}"


def sliced(text: str, start: int, end: int) -> str:
    """What JavaScript's slice gives."""
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")
