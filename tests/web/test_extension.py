"""The extension in a real Chromium: asked by keyboard, answered in the page, and honest about what it may not do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from fpdf import FPDF

from pocketbert.bundle.folder import make_bundle
from pocketbert.bundle.targets import PACKED, UNPACKED
from pocketbert.runtime.manifest import check_manifest, write_manifest
from pocketbert.runtime.questions import QuestionAnswerer
from toy_reader import save_reader
from web_cases import BAKERY, CASES, LIGHTHOUSE, RIVER
from web_extension import Browser, assembled, browser_with, wait_until
from web_package import built

LIKELY = {"gold": 10.0, "silver": 9.7, "bronze": 9.5}  # near enough to one another to be answers, all three
METALS = (
    "<p>It is silver.</p><p style='height:3000px'></p><p>It is <b>go</b>ld, they say, or <i>bronze</i>.</p>"
)
FILLER = "Nothing of that kind stands in here, it is only there to be long. "  # 14 words
NOWHERE = "<p>There is nothing of that kind in here.</p>"


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = save_reader(tmp_path_factory.mktemp("toy"), logits=LIKELY)
    write_manifest(model)
    return assembled(tmp_path_factory.mktemp("extension") / "unpacked", model)


@pytest.fixture(scope="module")
def browser(extension: Path) -> Iterator[Browser]:
    with browser_with(extension) as browser:
        yield browser


def test_a_question_is_typed_and_its_answers_are_gone_through_by_keyboard(browser: Browser) -> None:
    browser.open(f"<title>Metals</title>{METALS}")
    browser.wait_for(lambda state: state["focus"] == "question")
    state = browser.ask("What is it?")
    assert (state["page"], state["headline"], state["place"], state["current"]) == (
        "Metals",
        "3 answers",
        "1 of 3",
        0,
    )
    assert state["words"] == state["marked"] == ["gold", "silver", "bronze"]
    assert state["sentences"][0] == "It is gold, they say, or bronze."
    assert browser.coloured() == {"current": ["go", "ld"], "others": ["silver", "bronze"]}
    browser.do("page", expression="new Promise((resolve) => setTimeout(resolve, 600))")  # it scrolls smoothly
    assert browser.do("isInView")
    steps = [
        ("Enter", False, "silver"),
        ("F3", False, "bronze"),
        ("ArrowDown", False, "gold"),
        ("Enter", True, "bronze"),
        ("ArrowUp", False, "silver"),
        ("F3", True, "gold"),
    ]
    for key, shift, expected in steps:
        before = browser.do("state")["current"]
        browser.press(key, shift=shift)
        browser.wait_for(lambda state, before=before: state["current"] != before)
        state = browser.do("state")
        assert state["words"][state["current"]] == "".join(browser.coloured()["current"]) == expected
        assert state["status"].startswith(f"Answer {state['current'] + 1} of 3: {expected}, ")
    for command, expected in (("next-answer", "silver"), ("previous-answer", "gold")):
        # What the browser does when the shortcut is pressed in the page.
        browser.do("panel", expression=f"chrome.commands.onCommand.dispatch('{command}')")
        browser.wait_for(lambda state, expected=expected: state["words"][state["current"]] == expected)
    browser.press("Escape")
    browser.wait_for(lambda state: state["kind"] == "ready")
    assert browser.coloured() == {"current": [], "others": []}
    assert browser.do("state")["question"] == ""


def test_answers_are_clicked_and_screen_readers_get_names(browser: Browser) -> None:
    browser.open(METALS)
    browser.ask("What is it?")
    browser.do("panel", expression="document.querySelectorAll('.answer')[2].click()")
    browser.wait_for(lambda state: state["current"] == 2)
    assert browser.coloured()["current"] == ["bronze"]
    tree = browser.do("protocol", method="Accessibility.getFullAXTree", params={})["nodes"]
    named = {
        (node["role"]["value"], node["name"]["value"]) for node in tree if node.get("name", {}).get("value")
    }
    assert {
        ("searchbox", "Question about this page"),
        ("textbox", "Question about this page"),
    } & named
    assert {
        ("button", "Ask"),
        ("button", "Next answer"),
        ("button", "Previous answer"),
        ("list", "Answers, the likeliest first"),
        ("heading", "3 answers"),
    } <= named
    unnamed = [node for node in tree if node["role"]["value"] == "button" and not node["name"]["value"]]
    assert unnamed == []


def test_not_on_this_page(browser: Browser) -> None:
    browser.open(NOWHERE)
    state = browser.ask("What is it?", "nothing")
    assert state["headline"] == "Not on this page"
    assert state["details"] == ["8 words read from beginning to end: nothing answers this."]
    assert browser.coloured() == {"current": [], "others": []}
    # The model is loaded by now: a second question says nothing of it.
    watch = """globalThis.kinds = []; new MutationObserver(() => {
      const { kind } = document.querySelector("#outcome").dataset;
      if (kinds.at(-1) !== kind) kinds.push(kind);
    }).observe(document.querySelector("#outcome"), { attributes: true }); null"""
    browser.do("panel", expression=watch)
    browser.type("Who is it?")
    browser.wait_for(lambda state: browser.do("panel", expression="kinds.at(-1)") == "nothing")
    assert set(browser.do("panel", expression="kinds")) <= {"looking", "reading", "nothing"}
    browser.do("button", text="Show the nearest words")
    state = browser.until("answers")
    assert state["headline"] == "Unlikely, but nearest"
    assert browser.coloured()["current"] == [state["words"][0]]


def test_pages_that_may_not_be_read(browser: Browser) -> None:
    browser.open(METALS)
    browser.visit("/page", host="localhost")  # another site: the permission was for the first
    assert browser.until("closed")["headline"] == "Not allowed on this page yet"
    assert browser.ask("What is it?", "closed")["buttons"] == []
    browser.do("click")
    browser.until("ready")
    assert browser.ask("What is it?")["words"][0] == "gold"
    browser.visit("chrome://version")
    assert browser.until("forbidden")["headline"] == "Not allowed on this page"
    browser.do("click")
    browser.ask("What is it?", "forbidden")
    browser.visit("about:blank")

    def forbidden() -> bool:
        browser.do("click")  # it counts for the page that the browser takes to be in front by then
        return browser.ask("What is it?", "forbidden", "closed")["kind"] == "forbidden"

    wait_until(forbidden, seconds=30)
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=12)
    pdf.cell(text="It is gold.")
    browser.serve("/file.pdf", bytes(pdf.output()))
    browser.visit("/file.pdf")
    browser.do("click")
    browser.until("ready")
    assert browser.ask("What is it?", "pdf")["headline"] == "Not allowed in the PDF viewer"
    browser.open("<img alt=gold>")
    assert browser.ask("What is it?", "empty")["headline"] == "There is no text on this page"


def test_a_page_whose_policy_forbids_everything(browser: Browser) -> None:
    policy = "default-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'; sandbox allow-same-origin"
    browser.open(
        METALS, content_security_policy=policy, x_frame_options="DENY", referrer_policy="no-referrer"
    )
    assert browser.ask("What is it?")["words"][0] == "gold"
    assert browser.coloured()["current"] == ["go", "ld"]
    colour = "getComputedStyle(document.querySelector('b'), '::highlight(pocketbert-answer)').backgroundColor"
    assert browser.do("page", expression=colour) == "rgb(255, 191, 63)"


def test_a_hundred_thousand_words_and_a_stop(browser: Browser) -> None:
    paragraph = f"<p>{FILLER * 10}</p>"
    browser.open(f"{paragraph * 360}<p id=here>At last, gold.</p>{paragraph * 360}")
    browser.type("What is it?")
    state = browser.until("reading", "answers")
    assert (state["headline"], state["buttons"]) == ("Still reading…", ["Stop"])
    browser.press("Escape")
    state = browser.until("stopped")
    assert re.fullmatch(
        r"[\d,]+ of [\d,]+ parts, the most promising first\.|Nothing was read yet\.", state["details"][0]
    )
    browser.do("page", expression="new Promise((resolve) => setTimeout(resolve, 500))")
    assert browser.do("state")["kind"] == "stopped"  # nothing goes on behind it
    browser.do("button", text="Ask again")
    state = browser.until("answers", seconds=60)
    assert state["words"] == ["gold"]
    assert browser.coloured()["current"] == ["gold"]
    assert browser.do("isInView")
    assert re.fullmatch(r"Read the [\d,]+ most promising of [\d,]+ parts of the page\.", state["details"][0])
    browser.do("button", text="Read all of the page")
    browser.wait_for(lambda state: state["kind"] == "answers" and state["details"] == [], seconds=60)
    browser.open(paragraph * 720)
    state = browser.ask("What is it?", "nothing", seconds=60)
    assert state["details"] == ["100,800 words read from beginning to end: nothing answers this."]


def test_a_page_that_changes_after_it_was_read(browser: Browser) -> None:
    browser.open(METALS)
    browser.ask("What is it?")
    # The same words in other elements, as frameworks do: found again without asking.
    browser.do("page", expression="document.body.innerHTML = '<h1>New</h1>' + document.body.innerHTML")
    browser.press("Enter")
    browser.wait_for(lambda state: state["current"] == 1)
    assert browser.coloured() == {"current": ["silver"], "others": ["go", "ld", "bronze"]}
    # Other words: the question is asked again.
    browser.do("page", expression="document.body.innerHTML = '<p>Now it is gold and nothing else.</p>'")
    browser.press("Enter")
    browser.wait_for(lambda state: state["words"] == ["gold"])
    assert browser.coloured() == {"current": ["gold"], "others": []}
    browser.do("page", expression="document.body.innerHTML = '<p>Gone.</p>'")
    browser.do("panel", expression="document.querySelector('.answer').click()")
    browser.until("nothing")
    # A place in the same page is the same page; another page is not.
    browser.open(METALS)
    browser.ask("What is it?")
    browser.do("page", expression="location.hash = 'here'; history.pushState({}, '', '/elsewhere')")
    browser.press("Enter")
    browser.wait_for(lambda state: state["kind"] == "answers" and state["current"] == 1)
    browser.serve("/next", NOWHERE)
    browser.visit("/next")
    assert browser.until("ready")["question"] == "What is it?"


def test_every_tab_has_its_question_and_a_closed_panel_leaves_no_trace(browser: Browser) -> None:
    browser.open(METALS)
    browser.ask("What is it?")
    browser.do("newTab")
    browser.serve("/second", NOWHERE)
    browser.visit("/second")
    assert browser.until("closed", "ready")["question"] == ""
    browser.do("click")
    browser.ask("Who is it?", "nothing")
    browser.do("front", number=0)
    assert browser.until("answers")["question"] == "What is it?"
    browser.do("front", number=1)
    assert browser.until("nothing")["question"] == "Who is it?"
    browser.do("front", number=0)
    browser.until("answers")
    assert any(url.endswith("/panel.html") for url in browser.do("targets"))
    browser.do("closePanel")
    wait_until(lambda: browser.coloured() == {"current": [], "others": []})
    assert not any(url.endswith("/panel.html") for url in browser.do("targets"))
    browser.do("click")
    assert browser.until("ready")["question"] == "What is it?"
    assert browser.ask("What is it?")["words"][0] == "gold"


def test_a_model_that_is_not_the_right_one_is_said(extension: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    assembled(broken, extension / "model")
    (broken / "model" / "vocab.txt").write_bytes(b"other words")
    (broken / "model" / "tokenizer.json").write_bytes(b"{}")
    with browser_with(broken) as browser:
        browser.open(METALS)
        state = browser.ask("What is it?", "failed")
        assert state["headline"] == "Something went wrong"
        assert "is not the file it should be: its SHA-256 is" in state["details"][1]
        assert state["buttons"] == ["Try again"]
        browser.do("button", text="Try again")
        browser.until("failed")


def test_the_bundle_answers_as_in_python(tmp_path: Path) -> None:
    """The same words as Python's runtime gives for the text that was taken from the page, shown where they stand."""
    qa = QuestionAnswerer.load(threads=1)
    built()
    bundle = make_bundle(None, tmp_path / "bundle", target="extension").path
    assert_packed(bundle)
    with browser_with(bundle / UNPACKED) as browser:
        browser.open("".join(f"<p>{text}</p>" for text in (LIGHTHOUSE, BAKERY, RIVER)))
        text = browser.extract()["text"]
        assert text == "\n\n".join((LIGHTHOUSE, BAKERY, RIVER))
        for question, _ in CASES[:18:3]:
            expected = qa(question, text, top_k=5)
            browser.do("panel", expression="document.querySelector('#outcome').dataset.kind = 'asked'")
            state = browser.ask(question, "answers", "nothing", seconds=60)
            assert (state["kind"] == "answers") == expected.found, question
            assert state["words"][:1] == [answer.text for answer in expected][:1]
            assert "".join(browser.coloured()["current"]) == expected.text


def assert_packed(bundle: Path) -> None:
    """The zip holds what the folder holds, and no more than a browser needs for a model in eight bits."""
    check_manifest(bundle, required=True)
    check_manifest(bundle / UNPACKED / "model", required=True)
    files = {
        path.relative_to(bundle / UNPACKED).as_posix(): path for path in (bundle / UNPACKED).rglob("*.*")
    }
    with ZipFile(bundle / PACKED) as packed:
        names = packed.namelist()
        assert names == sorted(names)
        assert {"manifest.json", "LICENSE", "model/manifest.json", "icons/128.png"} <= set(names)
        assert {name for name, path in files.items() if path.is_file()} | {"LICENSE", "NOTICE"} == set(names)
        assert "ENGINE-LICENSE.txt" in names
        for name in ("manifest.json", "panel.js", "worker.js"):
            assert packed.read(name) == files[name].read_bytes()
    assert not [name for name in names if "webgpu" in name or "asyncify" in name]
    assert (bundle / PACKED).stat().st_size < 27_000_000
