"""The page, used as people use it, in a real Chromium."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF

from pocketbert.bundle.folder import make_bundle
from pocketbert.runtime.manifest import write_manifest
from pocketbert.serve.static import Site
from web_package import built
from web_page import in_page, served, toy_bundle

TEXT = (
    "A ring was found in the field behind the mill.\n\nSome say that it is made of gold. Others, who have never seen "
    "it, speak of silver 🦊 or worse.\n\nNobody weighed it."
)
BOTH = "It may be gold, as most people in the village will tell you, but the smith says it is silver."
FILLER = "These words say nothing about any metal at all, they only make the page a long one for its reader. "


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_bundle(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def home(toy: Path) -> Iterator[str]:
    with served(toy) as address:
        yield address


@pytest.fixture(scope="module")
def real_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    built()
    with served(make_bundle(None, tmp_path_factory.mktemp("real") / "page").path) as address:
        yield address


def test_an_example_is_answered_by_the_embedded_reader(real_home: str) -> None:
    outcome = in_page("example", real_home)
    found, none = outcome["views"]
    assert found["question"] == "Who built the clock?"
    assert (found["state"], found["marked"], found["inSight"]) == ("answered", ["Tobias Wren-Hartley"], True)
    assert found["block"].startswith("The clock in the tower of Ambleford")
    assert none["question"] == "How tall is the tower?"
    assert (none["state"], none["headline"], none["marked"]) == ("none", "Not on this page", [])
    assert "were read" in none["detail"]
    assert outcome["isolated"]  # so that threads could be used


def test_answers_are_marked_where_they_stand(home: str) -> None:
    outcome = in_page("questions", home, text=TEXT, questions=["What is it made of?", "Why?"])
    assert outcome["shown"].split() == TEXT.split()
    for view in outcome["views"]:
        assert (view["state"], view["marked"], view["inSight"]) == ("answered", ["gold"], True)
        assert view["block"].startswith("Some say that it is made of gold.")
        assert view["live"].startswith("Answer 1 of")


def test_browsers_without_highlights_get_marks(home: str) -> None:
    outcome = in_page("fallback", home, text=BOTH, question="What is it?")
    assert outcome["first"]["marked"] == ["gold"]
    assert outcome["first"]["others"] == outcome["second"]["marked"] == ["silver"]
    assert outcome["first"]["inSight"]
    assert outcome["left"] == 0
    assert outcome["shown"] == BOTH


def test_not_on_this_page_looks_like_nothing_else(home: str) -> None:
    outcome = in_page("questions", home, text="Only clay was found in the field.", questions=["Is it gold?"])
    (view,) = outcome["views"]
    assert (view["state"], view["headline"], view["marked"]) == ("none", "Not on this page", [])
    assert view["live"].startswith("Not on this page")


HTML = """<!doctype html><meta charset="iso-8859-1"><base href="https://example.org/">
<title>A ring &amp; a field</title>
<script>document.title = "run"; fetch("https://example.org/x")</script><style>p { color: red }</style>
<nav><a href="/">gold menu</a></nav><img src="https://example.org/picture.png" onerror="document.title='run'">
<main><h1>The   ring</h1><p>It was found near the caf\xe9, and it is <b>go</b>ld<i>en</i>?<br>No: g&shy;old.</p>
<p hidden>hidden gold</p><p style="display: none">more hidden gold</p>
<table><tr><td>weight</td><td>9 g</td></tr></table><ul><li>one<ul><li>two</li></ul></li></ul></main>
<footer>gold footer</footer>"""


def test_an_html_file_is_dropped(home: str) -> None:
    file = {"name": "ring.html", "base64": base64.b64encode(HTML.encode("latin-1")).decode()}
    view = in_page("dropped", home, file=file, question="What is it?")
    assert view["about"] == "A ring & a field · HTML file · 20 words"
    shown = " / ".join(line for line in view["shown"].split("\n") if line)
    assert (
        shown
        == "The ring / It was found near the café, and it is golden? / No: gold. / weight | 9 g / one / two"
    )
    assert view["marked"] == ["gold"]
    assert view["block"].endswith("No: gold.")
    assert view["title"] == "Pocketbert – ask a page"  # no script of the file was run


def test_a_pdf_is_dropped(home: str) -> None:
    view = in_page("dropped", home, file=pdf_file(), question="What is it?")
    assert view["about"] == "ring.pdf · PDF, 2 pages · 41 words"
    assert view["marked"] == ["gold"]
    assert view["block"] == (
        "This is the second page. The ring that the farmer found behind the mill is made of gold, as far as anybody "
        "can tell who has not weighed it or bitten into it."
    )


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("scan.pdf", b"%PDF-1.4 broken", "“scan.pdf” cannot be read as a PDF"),
        ("empty.html", b"<p hidden>gold</p>", "“empty.html” holds no text"),
        ("picture.txt", b"\x89PNG\x00\x00", "“picture.txt” is neither text nor HTML nor PDF"),
    ],
)
def test_files_that_cannot_be_read(name: str, content: bytes, complaint: str, home: str) -> None:
    view = in_page("dropped", home, file={"name": name, "base64": base64.b64encode(content).decode()})
    assert (view["state"], view["headline"]) == ("error", "This cannot be read")
    assert view["detail"].startswith(complaint)


def test_the_page_stays_free_with_a_hundred_thousand_words(home: str) -> None:
    paragraphs = [f"Part {number}. {FILLER * 11}" for number in range(960)]
    paragraphs.insert(600, "The ring behind the mill is of gold.")
    view = in_page("long", home, text="\n\n".join(paragraphs), question="What is the ring of?")
    words = int(view["about"].split(" · ")[-1].split()[0].replace(",", ""))
    assert words > 100_000
    assert (view["marked"], view["inSight"]) == (["gold"], True)
    assert view["block"] == "The ring behind the mill is of gold."
    # No single task does most of the work, however fast the machine is. What is pasted comes in one, with its event.
    for work, share in (("taking", 0.65), ("reading", 0.4)):
        assert view[work]["longest"] < share * view[work]["total"]


def test_reading_can_be_stopped(real_home: str) -> None:
    outcome = in_page("cancel", real_home, text=FILLER * 3000, question="Who wrote the opera?")
    during, stopped = outcome["during"], outcome["stopped"]
    assert (during["state"], during["headline"]) == ("reading", "Reading")
    assert stopped["headline"] == "Stopped"
    assert "no answer yet" in stopped["detail"]
    assert (outcome["again"], outcome["focused"]) == ("stopped", "question")
    assert outcome["last"]["state"] in ("answered", "none")  # the next question did not wait for the last


def test_everything_can_be_done_with_the_keyboard(home: str) -> None:
    outcome = in_page("keyboard", home, text=BOTH, question="What is it?")
    assert outcome["order"] == ["skip", "help", "question", "go", "draft", "use"]
    assert outcome["focused"] == outcome["question"] == "question"
    assert outcome["walk"] == ["gold", "silver", "gold", "silver", "gold"]
    assert outcome["help"]
    assert outcome["labels"] == []


def test_nothing_sticks_out_on_a_phone(home: str) -> None:
    viewport = {"width": 390, "height": 844}
    outcome = in_page("phone", home, text=TEXT, question="What is it?", viewport=viewport)
    assert outcome["widths"] == [390] * 5
    assert (outcome["view"]["marked"], outcome["view"]["inSight"]) == (["gold"], True)


def test_the_page_works_without_a_network_after_one_visit(home: str, toy: Path) -> None:
    outcome = in_page("offline", home, file=pdf_file(), question="What is it?")
    assert outcome["controlled"]
    assert outcome["marked"] == ["gold"]
    (cache,) = outcome["caches"]
    assert cache.startswith("pocketbert / ")


def test_a_new_version_takes_over_when_no_tab_shows_the_old_one(toy: Path, tmp_path: Path) -> None:
    new, flag = copied(toy, tmp_path / "page"), tmp_path / "flag"
    index = new / "index.html"
    index.write_text(
        index.read_text(encoding="utf-8").replace("Ask a page.</h1>", "Ask again.</h1>"), encoding="utf-8"
    )
    write_manifest(new)
    ended = threading.Event()
    with Site(toy) as site, Site(new) as other:

        def switch() -> None:
            while not ended.wait(0.05):
                if flag.exists():
                    site.files = other.files
                    flag.unlink()

        for work in (switch, site.serve_forever):
            threading.Thread(target=work, daemon=True).start()
        outcome = in_page("renewed", site.address, flag=str(flag))
        ended.set()
        site.shutdown()
    assert outcome["old"] == {"state": "ready", "title": "Ask a page."}
    assert outcome["next"] == {"state": "ready", "title": "Ask again."}


@pytest.mark.parametrize(
    "name", ["model/onnx/model_quantized_fast.onnx", "worker.js", "ort-wasm-simd-threaded.wasm"]
)
def test_a_file_that_was_changed_is_refused(name: str, toy: Path, tmp_path: Path) -> None:
    folder = copied(toy, tmp_path / "page")
    changed = bytearray((folder / name).read_bytes())
    changed[-2] ^= 1
    (folder / name).write_bytes(changed)
    with served(folder) as address:
        view = in_page("broken", address)
    assert (view["state"], view["headline"]) == ("error", "The reader cannot be loaded")
    assert name.rsplit("/", 1)[-1] in view["detail"]
    assert "is not the file it should be" in view["detail"]
    assert view["alert"]
    assert view["retry"]


def test_any_static_host_under_any_path_will_do(toy: Path, tmp_path: Path) -> None:
    """The same files in a folder of a folder, without the headers of our server's root."""
    root = tmp_path / "host"
    copied(toy, root / "some" / "where")
    (root / "index.html").write_text("<!doctype html>")
    write_manifest(root)
    with served(root) as address:
        listed = f"{address}some/where/index.html"
        outcome = in_page("questions", listed, text=TEXT, questions=["What is it?"])
    assert outcome["views"][0]["marked"] == ["gold"]


def pdf_file() -> dict[str, Any]:
    pdf = FPDF()
    pdf.set_font("helvetica", size=12)
    long = (
        "This is the second page. The ring that the farmer found behind the mill is made of gold, as far as "
        "anybody can tell who has not weighed it or bitten into it.\n\nA last line."
    )
    for text in ("A page about nothing much.", long):
        pdf.add_page()
        pdf.multi_cell(90, text=text)
    return {"name": "ring.pdf", "base64": base64.b64encode(bytes(pdf.output())).decode()}


def copied(folder: Path, place: Path) -> Path:
    """A bundle at another place, with files of its own."""
    for name in [*json.loads((folder / "manifest.json").read_text())["sha256"], "manifest.json"]:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes((folder / name).read_bytes())
    return place
